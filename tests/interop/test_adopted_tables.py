"""Tables that whole Hives wrote, adopted where they lie, changed here, and given back: Hive reads what
we made of them, changes it and compacts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.attach.dump import parse_dump
from acidsql.session import Session
from tests.interop.real_hive import RealHive
from tests.interop.test_real_hive import hive as hive

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1500)]

TABLES = {"a": "", "b": "CLUSTERED BY (k) INTO 2 BUCKETS"}
LOCAL = {"acidsql.engine": "local", "acidsql.compactor.auto": "false"}
ABORTED = 3


def of_hive(name: str) -> Iterator[str]:
    """Five write ids, of which one is aborted, and a compaction of the first four."""
    yield (
        f"CREATE TABLE {name} (k INT, v STRING) {TABLES[name]} STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')"
    )
    yield f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')"
    yield f"INSERT INTO {name} VALUES (4, 'd')"
    yield from ("!open", f"!writeid default.{name}", "!abort")
    yield f"UPDATE {name} SET v = concat(v, '!') WHERE k = 2"
    yield from (f"ALTER TABLE {name} COMPACT 'minor'", "!compact")
    yield f"INSERT INTO {name} VALUES (5, 'e')"


def given_back(name: str, missing: int) -> Iterator[str]:
    """As many write ids as we gave out, and what Hive does then."""
    for _ in range(missing):
        yield from ("!open", f"!writeid default.{name}", "!commit")
    yield f"SELECT k, v FROM {name}"
    yield f"UPDATE {name} SET v = 'hive' WHERE k = 6"
    yield f"DELETE FROM {name} WHERE k = 4"
    yield from (f"ALTER TABLE {name} COMPACT 'major'", "!compact")
    yield f"SELECT k, v FROM {name}"


def test_adopted_and_given_back(hive: RealHive, tmp_path: Path) -> None:
    """With a table of equal columns beside it; the dump is as somebody would write it down."""
    hive.run([line for name in TABLES for line in of_hive(name)])
    lines: list[str] = []
    with Session(tmp_path / "warehouse", settings=LOCAL) as session:
        for name, buckets in TABLES.items():
            dump = tmp_path / f"{name}.dump"
            dump.write_text(
                f"CREATE TABLE {name} (k int, v string) {buckets} STORED AS ORC"
                " TBLPROPERTIES ('bucketing_version'='2', 'transactional'='true');\n"
                f"high watermark 5\naborted {ABORTED}\n"
            )
            session.attach(name, hive.warehouse / name, dump=dump)
            session.adopt(name)
            session.sql(f"UPDATE {name} SET v = 'ours' WHERE k IN (1, 5)")
            session.sql(f"DELETE FROM {name} WHERE k = 3")
            session.sql(f"INSERT INTO {name} VALUES (6, 'f')")
            told = parse_dump(session.dump(name))
            lines += given_back(name, told.high_watermark - 5)
    answers = [sorted(ran.lines) for ran in hive.run(lines) if ran.text.startswith("SELECT")]
    before = ["1\tours", "2\tb!", "4\td", "5\tours", "6\tf"]
    after = ["1\tours", "2\tb!", "5\tours", "6\thive"]
    assert answers == [before, after] * len(TABLES)
