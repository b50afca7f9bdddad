"""Files whose stripes several threads have encoded, judged by Hive."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from acidsql.storage.footers import read_footer
from acidsql.storage.write import streaming
from acidsql.storage.write.streaming import insert_batches
from tests.interop.judge import Judge
from tests.spark.test_writer import IO, value
from tests.spark.test_writer_judged import judge_files
from tests.spark.written import EVERY_TYPE, arrow_rows, committed, make_table, target

pytestmark = pytest.mark.interop


def of_today(n: int) -> datetime.datetime | None:
    """A time that Arrow's writer writes, as those do that lie before 1970 without a fraction."""
    return datetime.datetime(2024, 1, 1) + n * datetime.timedelta(microseconds=1) if n % 7 else None


@pytest.mark.parametrize("codec", ["NONE", "ZLIB", "SNAPPY", "LZ4"])
def test_every_type_and_codec(
    judge: Judge, tmp_path: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hive's readers see all rows under the ids that they are to have, whole and split by stripe."""
    monkeypatch.setattr(streaming, "MANY_BYTES", 20_000)
    monkeypatch.setattr(streaming, "piece_bytes", lambda _: 40_000)
    monkeypatch.setattr(streaming, "_SLICE_BYTES", 7_000)
    table = make_table(tmp_path / "t", EVERY_TYPE, orc_compress=codec)
    rows = arrow_rows(table, [value(n) | {"ts": of_today(n)} for n in range(700)])
    committed(insert_batches)(IO, target(table, 1), [rows.slice(0, 90), rows.slice(90)])
    committed(insert_batches)(IO, target(table, 2), [rows.slice(5, 400)])
    [first, second] = sorted((tmp_path / "t").glob("delta_*/bucket_00000"))
    assert len(read_footer(IO, str(first)).stripes) > 3
    assert len(read_footer(IO, str(second)).stripes) > 2
    assert judge_files(judge, table) == 1100
