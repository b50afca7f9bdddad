"""The README and the pages of docs/ say what the program does now."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.cli.options import COMMANDS, parser_for
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.settings import find_setting, markdown_page, markdown_table

if TYPE_CHECKING:
    from acidsql.session import Session

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    *(ROOT / room / "README.md" for room in ("acidsql", "grammar")),
    *sorted((ROOT / "docs").glob("*.md")),
]
END = "\n<!-- end of settings -->"


# ---- settings


def test_settings_table_is_the_one_of_the_code() -> None:
    """The table of docs/settings.md is the one `python -m acidsql.settings` prints."""
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- settings: made by `python -m acidsql.settings` -->\n")
    assert rest.partition(END)[0] == markdown_table()


def test_the_few_settings_of_the_readme_have_their_defaults() -> None:
    """What the README says of a setting for newcomers is true of it."""
    few = re.findall(r"^\| `(acidsql\.[a-z.]+)` \| `([^`]*)` \|", README, re.MULTILINE)
    assert len(few) > 4
    assert [(s.name, s.default) for name, _ in few if (s := find_setting(name))] == few


def test_the_list_of_names_without_effect_is_the_one_of_the_code() -> None:
    """docs/hive-settings.md is what `python -m acidsql.settings hive` prints."""
    _, _, rest = (
        (ROOT / "docs" / "hive-settings.md")
        .read_text()
        .partition("<!-- settings: made by `python -m acidsql.settings hive` -->\n")
    )
    assert rest.partition(END)[0] == markdown_page()


# ---- the command line


def synopses() -> dict[str, set[str]]:
    """The options of each command as the README's synopsis has them; "" is the command itself."""
    block = re.search(r"```\n(acidsql \[--warehouse.*?)```", README, re.DOTALL)
    assert block is not None
    lines = re.split(r"\n(?! )", block[1].strip())
    options: dict[str, set[str]] = {"": set()}
    for line in lines:
        _, word, *_ = line.split()
        named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*|(?<![\w-])-[a-zS]\b", line))
        for command in (
            {"", *COMMANDS} if word.startswith("[demo") else {word if word in COMMANDS else ""}
        ):
            options.setdefault(command, set()).update(named)
    return options


def options_of(parser: ArgumentParser) -> set[str]:
    return {option for action in parser._actions for option in action.option_strings}


def test_synopsis_names_every_option() -> None:
    """The README's synopsis has each option of the command and its sub-commands, and no other."""
    main = parser_for([*COMMANDS])
    (commands,) = (action for action in main._actions if action.dest == "command")
    assert commands.choices is not None
    parsers = {"": main, **{name: commands.choices[name] for name in COMMANDS}}
    assert synopses() == {name: options_of(parser) for name, parser in parsers.items()}


def test_help_says_what_every_option_is_for() -> None:
    """`acidsql --help` names each option and each output format, with a word on it."""
    main = parser_for([*COMMANDS])
    assert [
        action.option_strings
        for action in main._actions
        if not action.help and action.dest != "command"
    ] == []
    text = main.format_help()
    (formats,) = (action for action in main._actions if action.dest == "outputformat")
    assert formats.choices is not None
    named = set(
        re.findall(r"\w+", text[text.index("--outputformat FORMAT\n") :].partition("--header")[0])
    )
    assert [word for word in formats.choices if word not in named] == []


# ---- the ten statements


def script() -> str:
    block = re.search(r"```sql\n(-- 1\. .*?)```", README, re.DOTALL)
    assert block is not None
    return block[1]


def test_ten_statements_are_numbered() -> None:
    """The README's list of statements has ten items, in order, and each of its statements parses."""
    comments = "\n".join(re.findall(r"^-- .*", script(), re.MULTILINE))
    assert [int(n) for n in re.findall(r"\b(\d+)\. ", comments)] == list(range(1, 11))
    assert len([parse(statement.text) for statement in split(script())]) > 10


@pytest.mark.spark
def test_ten_statements_run(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README's statements run one after the other, and leave the rows that they say."""
    columns = {
        "id": pa.array([9], pa.int32()),
        "amount": pa.array([Decimal("1.50")]),
        "gone": pa.array([False]),
    }
    orc.write_table(pa.table(columns), tmp_path / "orders.orc")
    monkeypatch.chdir(tmp_path)
    for statement in split(script()):
        result = session.sql(statement.text)
        if result.columns:
            result.to_arrow()
    rows = session.sql(
        "SELECT id, customer, amount, CAST(day AS STRING) FROM orders ORDER BY id"
    ).to_arrow()
    assert [tuple(row.values()) for row in rows.to_pylist()] == [
        (1, "ANN", Decimal("11.00"), "2024-01-01"),
        (2, "bob & co", Decimal("51.00"), "2024-01-01"),
        (5, "eve", Decimal("3.00"), "2024-01-03"),
        (102, "bob & co", Decimal("51.00"), "2024-01-02"),
    ]


# ---- links


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                yield page, target


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes anchors of them."""
    headings = re.findall(
        r"^#+ (.+)$",
        re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL),
        re.MULTILINE,
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    """Each link between the pages leads to a file that is there, and to a heading of it."""
    lost = []
    for page, target in links():
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            lost.append(f"{page.name}: {target}")
    assert lost == []
