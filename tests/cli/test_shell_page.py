"""docs/shell.md has every command, key, file and setting of the shell, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acidsql.cli.commands.table import COMMANDS
from acidsql.cli.shell.editing import _enter_goes_on
from acidsql.cli.shell.files import config_file, history_file, query_file
from acidsql.rendering.formats import ALIASES, Format
from acidsql.session import Session
from acidsql.settings import SETTINGS
from tests.cli.test_shell import type_lines

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "shell.md").read_text("utf-8")
NAMES = {"Enter": "c-m", "Tab": "c-i", "Up": "up", "Down": "down"}
"""What prompt_toolkit calls the keys that have a name."""


def table(heading: str) -> list[list[str]]:
    """The rows of the first table behind a heading, without its head."""
    part = PAGE.split(f"# {heading}\n", 1)[1]
    [lines] = re.findall(r"\n\|[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)", part)[:1]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines.splitlines()]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]


def test_every_command_is_on_the_page() -> None:
    """Its argument, its other names and what it does are as .help has them."""
    shown = [
        [
            f"`.{c.name} {c.argument}".rstrip() + "`",
            ", ".join(f"`\\{name}`" if len(name) < 3 else f"`.{name}`" for name in c.aliases),
            c.doc,
        ]
        for c in COMMANDS
    ]
    assert table("Commands") == shown


def test_the_formats_are_on_the_page() -> None:
    """Each with its other name."""
    rows = dict(table("Formats"))
    assert list(rows) == [f"`{one}`" for one in ("table", "vertical", "csv", "tsv", "json")]
    assert len(rows) == len(Format)
    for alias, name in ALIASES.items():
        assert f"`{alias}` is another name" in rows[f"`{name.value}`"]


def test_the_keys_of_the_page_are_bound() -> None:
    """Each key is bound in the prompt, and each one that the shell binds itself is on the page."""
    from prompt_toolkit.key_binding.defaults import load_key_bindings

    documented = {
        keys_of(name) for [cell, _] in table("Keys") for name in re.findall(r"`([^`]+)`", cell)
    }
    theirs = {tuple(key_name(k) for k in b.keys) for b in load_key_bindings().bindings}
    from prompt_toolkit.key_binding.bindings.open_in_editor import load_open_in_editor_bindings

    theirs |= {tuple(key_name(k) for k in b.keys) for b in load_open_in_editor_bindings().bindings}
    ours = {tuple(key_name(k) for k in b.keys) for b in _enter_goes_on().bindings}
    of_the_prompt = {("c-i",), ("c-d",), ("c-c",)}
    assert ours <= documented
    assert documented - theirs - ours - of_the_prompt == set()


def keys_of(name: str) -> tuple[str, ...]:
    return tuple(NAMES.get(key, key.lower().replace("ctrl-", "c-")) for key in name.split())


def key_name(key: object) -> str:
    return str(getattr(key, "value", key))


def test_the_settings_are_on_the_page() -> None:
    """All of the shell, with their defaults."""
    shown = {row[0].strip("`"): row[1].strip("`") for row in table("Settings")}
    assert shown == {
        s.name: s.default or "empty" for s in SETTINGS if s.name.startswith("acidsql.shell.")
    }


def test_the_files_are_where_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the XDG directories, and by their defaults."""
    rows = [row[0].strip("`") for row in table("Files of the shell")]
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    assert [r.replace("$XDG_CONFIG_HOME", "/c").replace("$XDG_STATE_HOME", "/s") for r in rows] == [
        str(config_file()), str(query_file("NAME")), str(history_file()),
    ]  # fmt: skip
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert str(config_file()) == "/h/.config/acidsql/shell.sql"
    assert str(history_file()) == "/h/.local/state/acidsql/history"


def test_the_examples_run(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other they are a session without an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "people.csv").write_text('id,name\n7,"Ann, B."\n11,Cid\n')
    with Session(str(warehouse), settings={"acidsql.engine": "local"}) as session:
        script = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        rows, notes, _ = type_lines(session, *"".join(script).splitlines())
    assert "rror" not in notes
    assert "unknown" not in notes
    assert (tmp_path / "copy.csv").read_text() == '7,"Ann, B."\n11,Cid\n'
    assert rows == "1\n"
