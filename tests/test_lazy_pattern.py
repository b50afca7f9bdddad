"""Regular expressions that are compiled late."""

from __future__ import annotations

import re

import pytest

from acidsql.lazy import pattern


def test_it_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """And once for each of its methods."""
    compiled: list[str] = []
    compile_one = re.compile

    def counting(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return compile_one(text, flags)

    monkeypatch.setattr(re, "compile", counting)
    late = pattern("(?P<word>[a-z]+)!", re.IGNORECASE)
    assert compiled == []
    assert [late.fullmatch(text) is not None for text in ("Ab!", "a", "c!")] == [True, False, True]
    assert late.sub(r"\g<word>", "a! b! c") == "a b c"
    assert late.pattern == "(?P<word>[a-z]+)!"
    assert len(compiled) == 3
