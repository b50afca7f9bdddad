"""The examples of the pages that tell a story run, one after the other, and print what stands below
them.
"""

from __future__ import annotations

import fnmatch
import io
import logging
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acidsql import errors
from acidsql.errors import Error
from acidsql.parser.script import split
from acidsql.rendering.formats import Format, Layout, write_rows
from acidsql.session import Session

pytestmark = pytest.mark.spark

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("tutorial", "how-it-works", "index", "errors")
PROGRAMS = {"dataframes": 10, "python": 10, "scan": 1}
"""Pages whose examples open a session of their own, and more blocks than how many they have."""
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


def run_python(code: str, page: str, names: dict[str, Any]) -> str:
    """What a block prints that knows the names of those before it."""
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, f"{page}.md", "exec"), names)
    return out.getvalue()


def run_page(session: Session, warehouse: Path, page: str, names: dict[str, Any]) -> None:
    """Each block in its turn. A program of which no text follows prints nothing."""
    printed, is_shown = "", True
    for block in blocks(page):
        assert is_shown or block.language == "text", printed
        is_shown = True
        match block.language, block.note:
            case "sql", "error":
                printed = failure(session, block.text)
            case "sql", "":
                printed = run_sql(session, block.text)
            case "python", "":
                printed = run_python(block.text, page, names)
                is_shown = not printed
            case "text", "":
                assert printed == block.text
            case "text", note if note.startswith("files "):
                assert files(warehouse, note.removeprefix("files ")) == block.text
            case _:
                assert (block.language, block.note) in (("sh", ""), ("text", "picture")), block
    assert is_shown, printed


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """That of the package, which is as it was when the examples have ended."""
    logger = logging.getLogger("acidsql")
    yield logger
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, session: Session, warehouse: Path, monkeypatch: Any) -> None:
    """What it prints is what the page says, files included."""
    monkeypatch.chdir(warehouse.parent)
    run_page(session, warehouse, page, {})


@pytest.mark.parametrize("page", PROGRAMS)
def test_a_program_runs(
    page: str,
    session: Session,
    warehouse: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    logger: logging.Logger,
) -> None:
    """It prints what the page says, and has more than some blocks."""
    monkeypatch.chdir(tmp_path_factory.mktemp(page))
    names: dict[str, Any] = {}
    try:
        run_page(session, warehouse, page, names)
    finally:
        if "session" in names:
            names["session"].close()
    assert len(list(blocks(page))) > PROGRAMS[page]


def test_the_picture_of_the_first_page_is_true(session: Session, warehouse: Path) -> None:
    """Its directories are those that the statements of the page leave, and the compaction behind
    them.
    """
    [picture] = [block.text for block in blocks("index") if block.note == "picture"]
    drawn = re.findall(r"^  ((?:delete_)?delta_\S+|base_\S+) ", picture, re.MULTILINE)
    [program] = [block.text for block in blocks("index") if block.language == "python"]
    session.sql("SET acidsql.compactor.auto=false")
    statements = re.findall(r'session\.sql\((?:"""(.*?)"""|"(.*?)")\)', program, re.DOTALL)
    for long, short in statements[:-1]:
        session.sql(long or short)

    def directories() -> set[str]:
        return {path.name for path in (warehouse / "t").iterdir() if not path.name.startswith(".")}

    assert directories() == set(drawn[:-1])
    [compact] = re.findall(r"ALTER TABLE .*", picture)
    session.sql(f"{compact} AND WAIT")
    assert directories() == {drawn[-1]}


def test_every_retryable_error_is_on_the_page() -> None:
    """With its state; and no other."""
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+Error)` \| (\w{5}) \|", page, re.MULTILINE)
    classes = [
        c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.Error)
    ]
    assert sorted(rows) == sorted((c.__name__, c.default_sqlstate) for c in classes if c.retryable)


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
