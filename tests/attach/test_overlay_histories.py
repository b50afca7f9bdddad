"""Random changes of overlays and of equal tables of the warehouse's own: both hold the same rows,
what DESCRIBE CHANGES counts adds up, and what lies at the location is byte for byte what it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.session import Session
from tests.attach.overlays import LOCAL, contents, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRANSACTIONAL = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SHAPES = {
    "a": "(k INT, v STRING, d INT)",
    "b": "(k INT, v STRING, d INT) CLUSTERED BY (k) INTO 3 BUCKETS",
    "c": "(k INT, v STRING) PARTITIONED BY (d INT)",
}
"""``a`` was a plain table: it has original files."""
KEYS = st.integers(0, 6)
TABLE = st.sampled_from(sorted(SHAPES))
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 2)), min_size=1, max_size=4)
CHANGE = st.one_of(
    st.tuples(st.just("insert"), TABLE, ROWS),
    st.tuples(st.just("update"), TABLE, KEYS),
    st.tuples(st.just("delete"), TABLE, KEYS),
    st.tuples(st.just("merge"), TABLE, TABLE),
)
THEIRS = st.lists(
    st.one_of(CHANGE, CHANGE, st.tuples(st.sampled_from(("minor", "major")), TABLE, KEYS)),
    min_size=2,
    max_size=6,
)
OURS = st.lists(
    st.one_of(
        CHANGE,
        CHANGE,
        st.tuples(st.just("minor"), TABLE, KEYS),
        st.tuples(st.just("overwrite"), TABLE, ROWS),
        st.tuples(st.just("truncate"), TABLE, KEYS),
    ),
    min_size=2,
    max_size=8,
)
Change = tuple[str, str, object]


def texts(change: Change, name: str, stamp: int) -> Iterator[str]:
    """The statements of a change of the table of its shape that has the prefix ``name``."""
    kind, shape, what = change
    table = f"{name}{shape}"
    match kind:
        case "insert" | "overwrite":
            assert isinstance(what, list)
            if kind == "overwrite":
                values = " UNION ALL ".join(f"SELECT {k}, '{stamp}', {d}" for k, d in what)
                partition = " PARTITION (d)" if shape == "c" else ""
                yield f"INSERT OVERWRITE TABLE {table}{partition} {values}"
            else:
                values = ", ".join(f"({k}, '{stamp}', {d})" for k, d in what)
                yield f"INSERT INTO {table} VALUES {values}"
        case "update":
            yield f"UPDATE {table} SET v = concat(v, '{stamp}') WHERE k = {what}"
        case "delete":
            yield f"DELETE FROM {table} WHERE k = {what}"
        case "merge":
            source = f"SELECT k, min(v) AS v, max(d) AS d FROM {name}{what} GROUP BY k"
            yield (
                f"MERGE INTO {table} t USING ({source}) s ON t.k = s.k"
                f" WHEN MATCHED AND t.k = {stamp % 7} THEN DELETE"
                " WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v)"
                " WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, s.d)"
            )
        case "truncate":
            yield f"TRUNCATE TABLE {table}"
        case _:
            yield f"ALTER TABLE {table} {{}} COMPACT '{kind}' AND WAIT"


def run(session: Session, change: Change, name: str, stamp: int) -> None:
    for text in texts(change, name, stamp):
        if "{}" not in text:
            session.sql(text)
        elif change[1] != "c":
            session.sql(text.format(""))
        else:
            for (partition,) in list(session.sql(f"SHOW PARTITIONS {name}c").rows()):
                session.sql(text.format(f"PARTITION ({partition})"))


def make_theirs(home: Path, changes: Sequence[Change]) -> None:
    with Session(home, settings=LOCAL) as theirs:
        for shape, columns in SHAPES.items():
            if shape == "a":
                theirs.sql(f"CREATE TABLE a {columns} STORED AS ORC")
                theirs.sql("INSERT INTO a VALUES (1, 'o', 0), (2, 'o', 1), (2, 'p', 0)")
                theirs.sql("INSERT INTO a VALUES (3, 'q', 0), (5, 'q', 1)")
                theirs.sql("ALTER TABLE a SET TBLPROPERTIES ('transactional'='true')")
            else:
                theirs.sql(f"CREATE TABLE {shape} {columns} {_TRANSACTIONAL}")
                theirs.sql(f"INSERT INTO {shape} VALUES (1, 'o', 0), (2, 'o', 1)")
        for stamp, change in enumerate(changes):
            run(theirs, change, "", stamp)
        for shape in SHAPES:
            (home / f"{shape}.dump").write_text(theirs.dump(shape))


def check(session: Session, before: dict[str, int]) -> None:
    for shape in SHAPES:
        query = "SELECT k, v, d FROM {}" + shape
        expected = rows(session, query.format("own_"))
        assert rows(session, query.format("over_")) == expected
        assert rows(session, f"SELECT count(*) FROM over_{shape}") == [(len(expected),)]
        keys = ", d" if shape == "c" else ""
        ids = Counter(str(row) for row in session.sql(f"SELECT ROW__ID{keys} FROM over_{shape}").rows())  # fmt: skip
        assert len(ids) == len(expected)
        described = session.sql(f"DESCRIBE CHANGES OF over_{shape}").notes[0]
        inserted, _, deleted = (
            int(word.strip().split(" ")[0]) for word in described[6:].split(",")
        )
        assert before[shape] + inserted - deleted == len(expected)


def play(home: Path, theirs: Sequence[Change], ours: Sequence[Change], session: Session) -> None:
    others = home / "others"
    make_theirs(others, theirs)
    untouched = contents(others)
    before = {}
    for shape in SHAPES:
        session.attach(f"over_{shape}", others / shape, dump=others / f"{shape}.dump", overlay=True)
        keys = "PARTITIONED BY (d INT)" if shape == "c" else ""
        columns = SHAPES[shape] if shape != "c" else f"(k INT, v STRING) {keys}"
        session.sql(f"CREATE TABLE own_{shape} {columns} {_TRANSACTIONAL}")
        session.sql(f"INSERT INTO own_{shape} SELECT k, v, d FROM over_{shape}")
        before[shape] = len(rows(session, f"SELECT k FROM own_{shape}"))
    check(session, before)
    for stamp, change in enumerate(ours, 100):
        for name in ("over_", "own_"):
            run(session, change, name, stamp)
        check(session, before)
    for shape in SHAPES:
        session.sql(f"DETACH TABLE over_{shape}")
    assert contents(others) == untouched


@settings(max_examples=4)
@given(theirs=THEIRS, ours=OURS)
def test_overlays_are_what_tables_are(theirs: list[Change], ours: list[Change]) -> None:
    """Without Spark: original files, buckets, partitions, compactions of both sides."""
    with (
        TemporaryDirectory() as home,
        Session(Path(home, "warehouse"), settings=LOCAL) as session,
    ):
        play(Path(home), theirs, ours, session)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("path", ["small", "big"])
@settings(max_examples=2)
@given(theirs=THEIRS, ours=OURS)
def test_they_are_on_spark(
    spark: SparkSession, path: str, theirs: list[Change], ours: list[Change]
) -> None:
    """By both ways to write."""
    chosen = {
        "acidsql.engine": "spark",
        "acidsql.compactor.auto": "false",
        "acidsql.write.path": path,
    }
    with (
        TemporaryDirectory() as home,
        Session(Path(home, "warehouse"), spark=spark, settings=chosen) as session,
    ):
        play(Path(home), theirs, ours, session)
