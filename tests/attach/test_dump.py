"""Dumps that acidsql writes: what another warehouse reads of them is what the table is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acidsql.attach.dump import parse_dump
from acidsql.errors import BindError, NotSupportedError, TableNotFoundError
from acidsql.session import Session
from tests.cli.running import Ran, called

LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
NAMES = ("x", "a|", "ends in space ", "--", "ü=/%", "1;2", "o'clock")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "first", settings=LOCAL) as opened:
        opened.sql(
            "CREATE TABLE p (k INT COMMENT 'a; b', `odd name` DECIMAL(10,2)) COMMENT 'its; --'"
            f" PARTITIONED BY (d STRING) CLUSTERED BY (k) INTO 3 BUCKETS {ACID}"
        )
        for number, name in enumerate(NAMES):
            opened.sql("INSERT INTO p VALUES (?, 1.5, ?)", [number, name])
        opened.sql("CREATE VIEW v AS SELECT 1 AS one")
        opened.sql("CREATE TABLE lines (k STRING)")
        opened.sql("CREATE TABLE plain (k INT) STORED AS ORC")
        opened.sql("INSERT INTO plain VALUES (7)")
        yield opened


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return sorted(session.sql(query).rows())


def attached(session: Session, tmp_path: Path, home: Path, name: str) -> Session:
    (tmp_path / "dump").write_text(session.dump(name), encoding="utf-8")
    other = Session(tmp_path / "second", settings=LOCAL)
    result = other.attach(name, home / name, dump=tmp_path / "dump")
    assert not result.warnings
    return other


def test_all_of_a_table_is_told(session: Session, tmp_path: Path) -> None:
    """Comments with semicolons, odd names of columns and partitions, buckets, a partition that lies
    elsewhere.
    """
    elsewhere = tmp_path / "else where"
    session.sql(f"ALTER TABLE p ADD PARTITION (d='far') LOCATION '{elsewhere}'")
    session.sql("INSERT INTO p PARTITION (d='far') VALUES (100, 2.5)")
    dump = parse_dump(session.dump("p"))
    assert dump.bucketing is not None
    assert (dump.bucketing.columns, dump.bucketing.count, dump.bucketing.version) == (("k",), 3, 2)
    assert dump.high_watermark == len(NAMES) + 1
    with attached(session, tmp_path, tmp_path / "first", "p") as other:
        query = "SELECT k, `odd name`, d FROM p"
        assert rows(other, query) == rows(session, query)
        assert len(rows(other, query)) == len(NAMES) + 1
        again = parse_dump(other.dump("p"))
        assert {one.values for one in again.partitions} == {one.values for one in dump.partitions}
        assert again.high_watermark == dump.high_watermark


def test_rules_of_a_table_are_passed_over(session: Session) -> None:
    """Those that SHOW CREATE TABLE of acidsql and of Hive tells behind the columns."""
    session.sql(
        "CREATE TABLE ruled (k INT NOT NULL, s STRING DEFAULT 'x;', CHECK (k > 0),"
        f" PRIMARY KEY (k) DISABLE NOVALIDATE RELY) {ACID}"
    )
    dump = session.dump("ruled")
    assert "ALTER" not in dump
    shown = "\n".join(line for (line,) in session.sql("SHOW CREATE TABLE ruled").rows())
    assert shown.count("ALTER TABLE") == 4
    assert parse_dump(f"{shown}\nhigh watermark 0\n") == parse_dump(dump)
    framed = "\n".join(f"| {line} |" for line in shown.split("\n")[-4:])
    assert parse_dump(f"{dump.split(';')[0]};\n{framed}\nhigh watermark 0\n") == parse_dump(dump)


def test_a_plain_table_is_told(session: Session, tmp_path: Path) -> None:
    """It has no write ids."""
    with attached(session, tmp_path, tmp_path / "first", "plain") as other:
        assert rows(other, "SELECT * FROM plain") == [(7,)]


@pytest.mark.parametrize(
    ("name", "error"),
    [("v", BindError), ("lines", BindError), ("nothing", TableNotFoundError)],
)
def test_what_cannot_be_attached_is_not_dumped(
    name: str, error: type[Exception], session: Session
) -> None:
    """Views, other formats, tables that are not there."""
    with pytest.raises(error):
        session.dump(name)


def test_a_partition_without_directory_is_told(session: Session, tmp_path: Path) -> None:
    """It may be that the files were not copied whole."""
    (tmp_path / "dump").write_text(session.dump("p") + "d=gone\n", encoding="utf-8")
    with Session(tmp_path / "second", settings=LOCAL) as other:
        result = other.attach("p", tmp_path / "first" / "p", dump=tmp_path / "dump")
        assert [warning.message for warning in result.warnings] == [
            f'a partition has no directory: "{tmp_path}/first/p/d=gone"'
        ]
        assert "a partition without directory" in other.explain("ADOPT TABLE p")
        assert "d=gone" in other.adopt("p").warnings[0].message


def test_the_command_prints_it(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To standard output, and nothing else; a table that is not there is an error."""
    monkeypatch.setenv("ACIDSQL_WAREHOUSE", str(session.warehouse))
    run: Callable[..., Ran] = called
    ran = run(capsys, "attach", "--dump", "default.p")
    assert (ran.code, ran.out, ran.err) == (0, session.dump("p"), "")
    failed = run(capsys, "attach", "--dump", "nope")
    assert (failed.code, failed.out) == (1, "")
    assert "nope" in failed.err


def test_a_dump_tells_of_no_authorizer(session: Session, tmp_path: Path) -> None:
    """Where tables of a metastore that has one are to be refused, so is what a dump tells of."""
    (tmp_path / "dump").write_text(session.dump("p"), encoding="utf-8")
    refuse = LOCAL | {"acidsql.refuse.ranger": "true"}
    with Session(tmp_path / "second", settings=refuse) as other:
        with pytest.raises(NotSupportedError, match="it does not tell whether the metastore has"):
            other.attach("p", tmp_path / "first" / "p", dump=tmp_path / "dump")
        assert list(other.sql("SHOW TABLES").rows()) == []
        other.sql("SET acidsql.refuse.ranger=false")
        other.attach("p", tmp_path / "first" / "p", dump=tmp_path / "dump")
