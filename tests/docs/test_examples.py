"""The examples of the pages that tell a story run, one after the other, and print what stands below
them.
"""

from __future__ import annotations

import fnmatch
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acidsql.errors import Error
from acidsql.parser.script import split
from acidsql.rendering.formats import Format, Layout, write_rows
from acidsql.session import Session

pytestmark = pytest.mark.spark

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("tutorial", "how-it-works", "index", "errors")
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Of ``sql`` and ``python``: what runs. Of ``text``: what the one before it prints; with the note
    ``files TABLE/PATTERN`` those files of a table; with ``picture`` what nobody prints.
    """

    language: str
    note: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for language, note, body in BLOCK.findall(text):
        yield Block(language=language, note=note, text=body)


def run_sql(session: Session, script: str) -> str:
    """What the shell prints of the statements' rows."""
    out = io.StringIO()
    for statement in split(script):
        result = session.sql(statement.text)
        if result.columns:
            write_rows(out, result.columns, result.rows(), Layout(format=Format.TABLE))
    return out.getvalue()


def failure(session: Session, script: str) -> str:
    [statement] = split(script)
    with pytest.raises(Error) as raised:
        session.sql(statement.text)
    return f"{raised.value}\n"


def files(warehouse: Path, pattern: str) -> str:
    """The files of a table, as paths in it; of those directories that the pattern lets through."""
    table, _, wanted = pattern.partition("/")
    paths = sorted(
        str(path.relative_to(warehouse / table))
        for path in (warehouse / table).rglob("*")
        if path.is_file() and not path.name.startswith((".", "_acidsql"))
    )
    return "".join(f"{path}\n" for path in paths if fnmatch.fnmatch(path, f"{wanted or '*'}*"))


def run_page(session: Session, warehouse: Path, page: str) -> None:
    printed, namespace = "", dict[str, Any]()
    for block in blocks(page):
        match block.language, block.note:
            case "sql", "error":
                printed = failure(session, block.text)
            case "sql", "":
                printed = run_sql(session, block.text)
            case "python", "":
                exec(compile(block.text, f"{page}.md", "exec"), namespace)
                printed = ""
            case "text", "":
                assert printed == block.text
            case "text", note if note.startswith("files "):
                assert files(warehouse, note.removeprefix("files ")) == block.text
            case _:
                assert (block.language, block.note) in (("sh", ""), ("text", "picture")), block


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, session: Session, warehouse: Path, monkeypatch: Any) -> None:
    """What it prints is what the page says, files included."""
    monkeypatch.chdir(warehouse.parent)
    run_page(session, warehouse, page)


def test_a_table_moves(session: Session, tmp_path: Path) -> None:
    """The statements of docs/coming-from.md take the rows of a Parquet file and an ORC table over."""
    columns = {"id": pa.array([1, 2], pa.int32()), "name": ["ann", "bob"]}
    (tmp_path / "incoming").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "incoming" / "part-0.parquet")
    session.sql("CREATE TABLE events (id INT) STORED AS ORC")
    session.sql("INSERT INTO events VALUES (7)")
    for block in blocks("coming-from"):
        run_sql(session, block.text.replace("/data/incoming", f"{tmp_path}/incoming"))
    assert list(session.sql("SELECT * FROM customers ORDER BY id").rows()) == [
        (1, "ann"),
        (2, "bob"),
    ]
    session.sql("DELETE FROM events WHERE id = 7")
    assert list(session.sql("SELECT count(*) FROM events").rows()) == [(0,)]
