"""``acidsql inspect`` and ``acidsql doctor`` as a user meets them: rows and pictures on stdout, the
rest on stderr, the exit code.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.session import Session
from tests.cli.running import Ran, called
from tests.compaction.openmetrics import parse_openmetrics

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
FIRST = "delta_0000001_0000001_0000"


Run = Callable[..., Ran]


@pytest.fixture
def run(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Calls the command in this process, on a warehouse with some tables."""
    with Session(warehouse, metastore="") as session:
        session.sql(f"CREATE TABLE t (id INT, name STRING) {ACID}")
        session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        session.sql(f"CREATE TABLE p (id INT) PARTITIONED BY (ds STRING) {ACID}")
        session.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
        session.sql("CREATE TABLE plain (id INT) STORED AS ORC")
        session.sql("CREATE VIEW v AS SELECT 1 AS one")
    monkeypatch.chdir(warehouse.parent)
    monkeypatch.setenv("ACIDSQL_WAREHOUSE", str(warehouse))
    capsys.readouterr()

    def call(*arguments: str) -> Ran:
        return called(capsys, *arguments)

    return call


# ---- inspect


def test_all_tables_are_lines(run: Run) -> None:
    """A line for each table, none for views; in any format."""
    ran = run("inspect", "--outputformat", "json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["table"] for line in lines] == ["default.p", "default.plain", "default.t"]
    assert lines[2]["deltas"] == 1
    assert lines[2]["initiator"].startswith("nothing: ")
    assert (ran.code, ran.err) == (0, "")
    assert run("inspect").out.startswith("+-")


def test_a_broken_table_is_a_line_too(run: Run, warehouse: Path) -> None:
    """A directory that cannot be listed hides no other table."""
    (warehouse / "p" / "ds=x" / "loop").symlink_to("loop")
    (warehouse / "t" / "delta_nonsense").mkdir()
    lines = [json.loads(line) for line in run("inspect", "--outputformat", "json").out.splitlines()]
    assert (lines[0]["kind"], lines[0]["files"]) == ("?", None)
    assert lines[2]["initiator"].startswith("cannot: ")


def test_one_table_is_a_picture(run: Run) -> None:
    """The facts and the layout, 80 columns wide; ASCII where that is asked for."""
    ran = run("inspect", "t", "--ascii")
    assert ran.code == 0
    assert ran.out.startswith("table\n  name: default.t\n")
    assert "layout\n  delta        1 ++++++++    1 file" in ran.out
    assert ran.out.isascii()
    assert "ds=y" in run("inspect", "p PARTITION (ds='y')").out


def test_facts_as_rows(run: Run) -> None:
    """A format asked for has section, item and value."""
    ran = run("inspect", "t", "--outputformat", "csv")
    lines = ran.out.splitlines()
    assert lines[0] == "section,item,value"
    assert "files,rows,2" in lines


def test_a_directory_without_a_catalog(run: Run, warehouse: Path, tmp_path: Path) -> None:
    """A copied table needs no warehouse, and none is made."""
    shutil.copytree(warehouse / "t", tmp_path / "copy" / "t")
    ran = run("--warehouse", str(tmp_path / "none"), "inspect", "copy/t")
    assert "kind: unknown to the catalog" in ran.out
    assert "rows: 2" in ran.out
    assert not (tmp_path / "none").exists()
    gone = run("inspect", "./gone")
    assert (gone.code, gone.out) == (1, "")
    assert "there is no directory" in gone.err


def test_metrics_are_openmetrics(run: Run) -> None:
    """What is printed is what a strict reader takes, and nothing else."""
    families = parse_openmetrics(run("inspect", "--metrics").out)
    deltas = families["compaction_num_active_deltas"].samples
    assert sum(deltas.values()) == 3
    refused = run("inspect", "--metrics", "t")
    assert (refused.code, "--metrics is of all tables" in refused.err) == (1, True)


@pytest.mark.parametrize("command", [("inspect",), ("doctor",), ("compactor", "--once")])
def test_a_warehouse_there_is_not(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    """It is not made: whoever has misspelt it is not told that all is well."""
    ran = run("--warehouse", str(tmp_path / "none"), *command)
    assert (ran.code, ran.out) == (1, "")
    assert f'there is no warehouse in "{tmp_path / "none"}"' in ran.err
    assert not (tmp_path / "none").exists()


def test_a_table_there_is_not(run: Run) -> None:
    """The error is that of a statement."""
    ran = run("inspect", "nope")
    assert (ran.code, ran.out) == (1, "")
    assert "Table not found default.nope" in ran.err


# ---- doctor


def test_nothing_is_wrong(run: Run) -> None:
    """Exit code 0 and no line on stdout."""
    assert run("doctor") == Ran(0, "", "0 findings\n")
    assert run("doctor", "default.t") == Ran(0, "", "0 findings\n")


def test_findings_are_paragraphs_and_rows(run: Run, warehouse: Path) -> None:
    """Each says what it is, where, what readers do and what mends it; exit code 1."""
    (warehouse / "t" / FIRST / "part-0.orc").write_bytes(b"x")
    ran = run("doctor")
    assert ran.code == 1
    assert ran.err == "1 finding\n"
    assert ran.out.startswith("error: file that is not named as a bucket\n  table:   default.t\n")
    assert "mend:    move it aside; its rows were never visible to Hive (--repair does)" in ran.out
    row = json.loads(run("doctor", "t", "--outputformat", "json").out)
    assert (row["severity"], row["hive3"], row["repair"]) == ("error", "passes over it", "yes")
    assert run("doctor", "p").code == 0


def test_repair_and_what_it_leaves(run: Run, warehouse: Path) -> None:
    """What is mended is told on stderr; the exit code says whether anything is left; a second
    repair finds nothing to do.
    """
    (warehouse / "t" / FIRST / "part-0.orc").write_bytes(b"x")
    (warehouse / "p" / "ds=x" / "delta_nonsense").mkdir()
    ran = run("doctor", "--repair")
    assert ran.code == 1
    assert "file that is not named as a bucket: moved to" in ran.err
    assert ran.err.endswith("1 finding left, 1 mended\n")
    assert ran.out.startswith("error: wrong name of a directory\n")
    assert run("doctor", "t", "--repair") == Ran(0, "", "0 findings left, 0 mended\n")
    with Session(warehouse, metastore="") as session:
        assert session.health("t").total.rows == 2


def test_one_repair_for_all_keys_of_a_file(run: Run, warehouse: Path) -> None:
    """A file with three wrong keys is rewritten once."""
    from tests.compaction.test_doctor import write_events

    write_events(warehouse / "t" / FIRST / "bucket_00000")
    ran = run("doctor", "t", "--repair")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "0 findings left, 1 mended")


def test_directories_are_examined_but_not_mended(run: Run, warehouse: Path) -> None:
    """What no catalog knows is somebody's: doctor looks and leaves it."""
    (warehouse / "t" / "_SUCCESS").touch()
    ran = run("doctor", str(warehouse / "t"))
    assert (ran.code, ran.out.splitlines()[0]) == (1, "note: stray file of another program")
    refused = run("doctor", str(warehouse / "t"), "--repair")
    assert (refused.code, "--repair is for tables of the catalog" in refused.err) == (1, True)
    assert (warehouse / "t" / "_SUCCESS").exists()


def test_names_cannot_drive_a_terminal(run: Run, warehouse: Path) -> None:
    """A file whose name holds escapes is shown as text."""
    (warehouse / "t" / FIRST / "part\x1b[2J").write_bytes(b"x")
    ran = run("doctor", "--repair")
    assert "\x1b" not in ran.out + ran.err


def test_what_is_kept_of_dropped_tables_is_named(run: Run, warehouse: Path) -> None:
    """The hidden directory of a table, and of a partition, as long as somebody reads it; nothing
    is wrong with it.
    """
    with Session(warehouse, metastore="", settings={"acidsql.engine": "local"}) as reader:
        scans = [reader.scan("t"), reader.scan("p")]
        with Session(warehouse, metastore="") as dropper:
            dropper.sql("DROP TABLE t")
            dropper.sql("ALTER TABLE p DROP PARTITION (ds = 'x')")
        kept = {str(p) for p in warehouse.rglob(".acidsql_dropped_*") if p.is_dir()}
        assert {Path(p).parent for p in kept} == {warehouse, warehouse / "p"}
        for command in ("doctor", "inspect"):
            ran = run(command)
            assert ran.code == 0
            told = [
                line.split(": kept of")[0] for line in ran.err.splitlines() if "kept of" in line
            ]
            assert set(told) == kept
        assert [scan.to_arrow().num_rows for scan in scans] == [2, 2]
    with Session(warehouse, metastore="") as next_one:
        next_one.sql("CREATE TABLE another (id INT)")
    assert "kept of" not in run("doctor").err
