"""The judge itself: it must pass what Hive wrote and fail what is broken, or its verdicts on our
files mean nothing.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.interop.judge import Judge, JudgementError

pytestmark = pytest.mark.interop


def test_hive_reads_its_own_files_as_it_said_it_would(judge: Judge, shared: Path) -> None:
    """The rows of a fixture written by Hive are those written down beside it."""
    fixture = shared / "vectors" / "fixtures" / f"hive{judge.version}" / "update"
    expected = json.loads((fixture / "expected.json").read_text(encoding="utf-8"))
    for read in expected["reads"]:
        rows = judge.compare(fixture / "table", read["writeids"], expected["schema"])
        assert [list(row) for row in rows] == read["rows"]


def test_footers_of_hive_pass(judge: Judge, shared: Path) -> None:
    """Every bucket file of a fixture written by Hive is listed and found sound."""
    table = shared / "vectors" / "fixtures" / f"hive{judge.version}" / "buckets" / "table"
    assert sorted(judge.check_footers(table)) == sorted(
        p.relative_to(table).as_posix() for p in table.glob("*/bucket_*")
    )


def test_a_file_in_the_wrong_bucket_is_found(judge: Judge, shared: Path, tmp_path: Path) -> None:
    """A bucket file under another bucket's name fails the check of its footer."""
    shutil.copytree(
        shared / "vectors" / "fixtures" / f"hive{judge.version}" / "update" / "table",
        tmp_path / "table",
    )
    delta = tmp_path / "table" / "delta_0000001_0000001_0000"
    (delta / "bucket_00000").rename(delta / "bucket_00001")
    with pytest.raises(JudgementError, match="bucket"):
        judge.check_footers(tmp_path / "table")
