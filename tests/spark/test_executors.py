"""Files that cannot be changed in place are finished where Spark's tasks run; what does not work
there is done here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from acidsql.errors import CardinalityError, FormatError
from acidsql.files.arrow_files import ArrowFileIO
from acidsql.files.fileio import FileIO
from acidsql.session import Session
from acidsql.spark import jvm
from acidsql.spark.jvm import jobs
from acidsql.spark.start import workers
from acidsql.storage import footers
from tests.interop.judge import Judge
from tests.interop.judged import judge_warehouse
from tests.session.rows.acid_files import check_files

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def store(root: Path, *, travels: bool = True) -> ArrowFileIO:
    """Local files as a distant file system shows them: what is written cannot be changed."""
    return ArrowFileIO(
        files=fs.LocalFileSystem(), root=str(root), prefix=str(root), renaming=True, travels=travels
    )


@pytest.fixture
def far(session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A session whose files are opened by pyarrow and whose tasks are said to run elsewhere."""
    monkeypatch.setattr(session.files, "_local", store(warehouse))
    monkeypatch.setattr(jobs, "_LOCAL", re.compile("yarn"))
    session.sql("SET acidsql.write.path=big")
    yield session
    jobs._unfit.clear()


def process_of(io: FileIO, item: int) -> int:
    return os.getpid()


def failing(io: FileIO, item: int) -> int:
    raise FormatError(f"item {item} is wrong", hint="none")


def unfit(io: FileIO, home: int) -> int:
    """Works in one process only."""
    if os.getpid() != home:
        raise OSError("no credentials here")
    return home


HERE = os.getpid()


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.sql(sql).rows())


def write_tables(far: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """INSERT, UPDATE, DELETE and MERGE of a table with buckets and of one with partitions; this
    process finishes no file.
    """
    monkeypatch.setattr(ArrowFileIO, "replace_tail", None)
    for table, layout in (
        ("b", "CLUSTERED BY (k) INTO 3 BUCKETS"),
        ("p", "PARTITIONED BY (ds INT)"),
    ):
        ds = ", CAST(id % 3 AS INT)" if table == "p" else ""
        far.sql(f"CREATE TABLE {table} (k INT, v STRING) {layout} {ACID}")
        far.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), 'a'{ds} FROM range(30)")
        far.sql(f"UPDATE {table} SET v = 'u' WHERE k % 10 = 1")
        far.sql(f"DELETE FROM {table} WHERE k % 10 = 2")
        new = "VALUES (s, 'n', 1)" if ds else "VALUES (s, 'n')"
        far.sql(
            f"MERGE INTO {table} USING (SELECT CAST(id AS INT) AS s FROM range(25, 35)) x ON k = s "
            f"WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT {new}"
        )


def test_big_statements_are_finished_by_tasks(
    far: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INSERT, UPDATE, DELETE and MERGE, with buckets and with partitions: the driver edits no file,
    and nothing stays behind.
    """
    write_tables(far, monkeypatch)
    for table in ("b", "p"):
        changed = {
            1: "u",
            11: "u",
            21: "u",
            **dict.fromkeys(range(25, 30), "m"),
            **dict.fromkeys(range(30, 35), "n"),
        }
        expected = [(k, changed.get(k, "a")) for k in range(35) if k not in (2, 12, 22)]
        assert rows(far, f"SELECT k, v FROM {table}") == expected
        check_files(far, table)


@pytest.mark.interop
def test_hive_reads_what_tasks_have_finished(
    far: Session, monkeypatch: pytest.MonkeyPatch, judge: Judge
) -> None:
    """As it reads what the driver has finished: footers, rows and ids."""
    write_tables(far, monkeypatch)
    assert judge_warehouse(judge, far) >= 10


def test_a_transaction_keeps_what_tasks_have_finished(far: Session) -> None:
    """Its statements see it, a failing one takes its own files away, and the commit
    names the rest.
    """
    far.sql(f"CREATE TABLE t (k INT, v STRING) CLUSTERED BY (k) INTO 3 BUCKETS {ACID}")
    with far.transaction():
        far.sql("INSERT INTO t SELECT CAST(id AS INT), 'a' FROM range(12)")
        far.sql("UPDATE t SET v = 'u' WHERE k > 8")
        with pytest.raises(CardinalityError):
            far.sql(
                "MERGE INTO t USING (SELECT CAST(id % 6 AS INT) AS s FROM range(12)) x ON k = s WHEN MATCHED THEN DELETE"
            )
        assert rows(far, "SELECT k, v FROM t") == [(k, "u" if k > 8 else "a") for k in range(12)]
    assert rows(far, "SELECT k, v FROM t") == [(k, "u" if k > 8 else "a") for k in range(12)]
    check_files(far, "t")


def test_very_many_footers_are_read_by_tasks(far: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, row ids and errors are those of footers that are read here; files of one schema are one
    scan, wherever they were looked at.
    """
    far.sql(f"CREATE TABLE t (k INT, v STRING) PARTITIONED BY (ds INT) {ACID}")
    far.sql("INSERT INTO t SELECT CAST(id AS INT), 'a', CAST(id % 4 AS INT) FROM range(20)")
    here = sorted(map(repr, far.sql("SELECT ROW__ID, * FROM t").rows()))
    monkeypatch.setattr(footers, "_FILES_AT_ONCE", 2)
    monkeypatch.setattr(footers, "_FILES_OF_TASK", 3)
    monkeypatch.setattr(ArrowFileIO, "read_tail", None)  # in this process
    with Session(far.warehouse, spark=far.spark) as other:
        monkeypatch.setattr(other.files, "_local", store(Path(far.warehouse)))
        other.spark  # noqa: B018  (a session that has not begun to use Spark starts none for footers)
        assert sorted(map(repr, other.sql("SELECT ROW__ID, * FROM t").rows())) == here
        assert len(other.sql("SELECT * FROM t").df.inputFiles()) == 8
    assert (
        len({id(facts.columns) for facts in other.engine.resources.known.footers._kept.values()})
        == 1
    )
    broken = next(Path(far.warehouse).rglob("ds=2/delta*/bucket_00000"))
    broken.write_bytes(bytes(broken.stat().st_size))  # no byte less: none is lost
    with Session(far.warehouse, spark=far.spark) as other:
        monkeypatch.setattr(other.files, "_local", store(Path(far.warehouse)))
        other.spark  # noqa: B018
        with pytest.raises(FormatError, match=re.escape(str(broken))):
            rows(other, "SELECT * FROM t")


def test_work_is_done_in_other_processes(far: Session, warehouse: Path) -> None:
    """In order, and an error of ours comes out as it is."""
    io = far.files
    assert HERE not in workers.work_on_files(far.spark, io, str(warehouse), process_of, range(5))
    assert workers.work_on_files(far.spark, io, str(warehouse), process_of, []) == []
    with pytest.raises(FormatError, match="item 0 is wrong\nhint: none"):
        workers.work_on_files(far.spark, io, str(warehouse), failing, range(5))


def test_executors_that_lack_something_are_left_alone(
    far: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is then done here, from the start, and they are not asked again."""
    assert (
        workers.work_on_files(far.spark, far.files, str(warehouse), unfit, [HERE] * 3) == [HERE] * 3
    )
    monkeypatch.setattr(jvm, "map_in_tasks", None)
    assert (
        workers.work_on_files(far.spark, far.files, str(warehouse), process_of, range(3))
        == [HERE] * 3
    )


def test_a_scheduler_that_names_no_executors_is_asked_once(
    far: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for answers of more of them, and the next statements do not ask again."""
    asked: list[object] = []
    ask = jvm.asked_in_tasks

    def counted(*given: Any) -> Any:
        asked.append(given)
        return ask(*given)

    monkeypatch.setattr(jvm, "asked_in_tasks", counted)
    workers._checked.clear()
    far.sql(f"CREATE TABLE t (k INT) {ACID}")
    for _ in range(3):
        far.sql("INSERT INTO t SELECT CAST(id AS INT) FROM range(3)")
    assert len(asked) == 1


def test_local_files_and_those_of_hadoop_stay_here(
    session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first nothing is gained by tasks, the others go through this process's Java."""
    monkeypatch.setattr(jobs, "_LOCAL", re.compile("yarn"))
    monkeypatch.setattr(jvm, "map_in_tasks", None)
    for io in (session.files, store(warehouse, travels=False)):
        assert (
            workers.work_on_files(session.spark, io, str(warehouse), process_of, range(3))
            == [HERE] * 3
        )


@pytest.mark.parametrize(
    ("master", "elsewhere"),
    [("local", False), ("local[*]", False), ("local-cluster[2,1,1024]", True), ("yarn", True)],
)
def test_where_tasks_run(master: str, elsewhere: bool) -> None:
    """In threads of one Java process, or not."""
    assert (jobs._LOCAL.fullmatch(master) is None) is elsewhere
