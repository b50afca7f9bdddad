"""Passwords of URLs that a user writes come back in nothing that is shown or kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.errors import Error, ParseError, Span
from acidsql.parser.parse import parse
from acidsql.passwords import without_passwords


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'postgresql://hive:pw@host/db'", "'postgresql://hive:**@host/db'"),
        ("mysql://hive:p@s:w@host/db?a=1", "mysql://hive:*****@host/db?a=1"),
        ("postgresql://host/db?sslmode=x&password=pw&a=b", "postgresql://host/db?sslmode=x&password=**&a=b"),
        ("postgresql://hive@host:5432/db?table=a.b", "postgresql://hive@host:5432/db?table=a.b"),
        ("s3://bucket/dir, a:b@c", "s3://bucket/dir, a:b@c"),
        ("abfss://container@account.dfs.core.windows.net/dir", "abfss://container@account.dfs.core.windows.net/dir"),
        ("password=pw", "password=pw"),
    ],
)  # fmt: skip
def test_a_text_is_as_long_without_them(text: str, shown: str) -> None:
    """So that carets stand where they stood; what is no password stays."""
    assert without_passwords(text) == shown
    assert len(shown) == len(text)


def test_errors_do_not_repeat_them() -> None:
    """In the message, the quoted line, the detail and the hint."""
    url = "postgresql://hive:secret@host/db"
    source = f"ATTACH TABLE t USING '{url}' '{url}'"
    with pytest.raises(ParseError) as caught:
        parse(source)
    whole = Error(url, detail=url, hint=url, span=Span(22, 30), source=source)
    for error in (caught.value.at(source), whole):
        assert "secret" not in f"{error} {error.message} {error.args}"
        assert "******@host" in str(error)


def test_the_history_of_the_shell_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file; what was typed can be called back while the shell runs."""
    pytest.importorskip("prompt_toolkit")
    from acidsql.cli.shell import editing

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    history = editing._history()
    typed = "ATTACH TABLE t USING 'postgresql://hive:secret@host/db'"
    history.append_string(typed)
    assert history.get_strings() == [typed]
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "secret" not in file.read_text()
    assert "hive:******@host" in file.read_text()
