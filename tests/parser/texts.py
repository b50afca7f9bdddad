"""Statements to try: those of the goldens, and what is left of them after mistakes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from acidsql.errors import Error
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.parser.show import show

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

PIECES = (
    "SELECT", "FROM", "WHERE", "INSERT", "INTO", "OVERWRITE", "TABLE", "VALUES", "UPDATE", "SET", "DELETE", "MERGE", "USING", "ON",
    "WHEN", "MATCHED", "NOT", "THEN", "AND", "CASE", "END", "CREATE", "DROP", "ALTER", "SHOW", "EXPLAIN", "PARTITION", "COMPACT",
    "WITH", "AS", "IF", "EXISTS", "NULL", "DEFAULT", "CLUSTERED", "BY", "BUCKETS", "STORED", "TBLPROPERTIES", "COMMENT", "LOCATION",
    "TRANSACTIONS", "LOCKS", "EXTENDED", "DESCRIBE", "RESET", "t", "db", "a", "`x y`", "``", "1", "1.5", "10L", "1e3", "1a", ".5",
    "'s'", '"d"', "'it\\'s'", "r'raw\\'", "'", '"', "`", "/*", "*/", "--", "/* c */", "-- c\n", "/*+ h */", "(", ")", "[", "]", "{",
    "}", "{#", "<", ">", "<=>", "->", "::", "||", "=", ",", ".", ";", "?", "*", "@", "$", "${x}", "\\", "\r\n", "\n", "\t", "\x00",
    "\u00a0", "é", "😀", "int", "array<int>", "decimal(10,2)",
)  # fmt: skip


@cache
def golden_statements() -> tuple[str, ...]:
    """Every statement of the parse goldens: all of them parse."""
    scripts = sorted((GOLDEN / "parse").glob("*.sql"))
    return tuple(
        found.text for script in scripts for found in split(script.read_text(encoding="utf-8"))
    )


def outcome_text(text: str) -> str:
    """What parse makes of a text, spans and errors included, as text."""
    try:
        statement = parse(text)
    except Error as error:
        return f"{type(error).__name__} {error.span}: {error}"
    return f"{statement!r}\n{show(statement, text)}"


def soup() -> st.SearchStrategy[str]:
    """Words and marks in any order."""
    return st.lists(st.sampled_from(PIECES), max_size=30).flatmap(
        lambda found: st.sampled_from(["", " "]).map(lambda by: by.join(found))
    )


def statements() -> st.SearchStrategy[str]:
    return st.sampled_from(golden_statements())


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good statement cut short, with a slice removed, doubled or replaced."""
    text = draw(statements())
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 12)))
    match draw(st.sampled_from(("cut", "remove", "double", "replace"))):
        case "cut":
            return text[:start]
        case "remove":
            return text[:start] + text[end:]
        case "double":
            return text[:end] + text[start:]
        case _:
            return text[:start] + draw(st.sampled_from(PIECES)) + text[end:]


def settings_text() -> st.SearchStrategy[str]:
    """SET and RESET with odd values, whose ends are found without tokens."""
    pieces = (
        "a",
        "x.y",
        " ",
        "=",
        "'",
        '"',
        "`",
        ";",
        "--",
        "/*",
        "*/",
        "\n",
        "\t",
        "\\",
        "-v",
        "-d",
        "autocommit",
        "true",
        "\u00a0",
        "é",
    )
    words = st.sampled_from(
        ("SET ", "set ", "SET", "RESET ", "/* c */ SET /* d */ ", "SET a=", "SET a =\n")
    )
    return st.tuples(words, st.lists(st.sampled_from(pieces), max_size=12).map("".join)).map(
        "".join
    )


def any_text() -> st.SearchStrategy[str]:
    return st.one_of(soup(), damaged(), statements(), st.text(max_size=60))
