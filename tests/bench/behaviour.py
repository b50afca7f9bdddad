"""What statements do, kept as text, so that two versions of the code can be held against each other:

    python -m tests.bench.behaviour record FILE [--modes auto local spark small big] [--seeds 40] [NAME ..]
    python -m tests.bench.behaviour compare OLD NEW

``record`` runs the golden scripts of one session (those whose path has one of the NAMEs; all
without) and the random scripts of the first seeds, in each mode on a warehouse of its own. It
writes a line of JSON for each statement: its EXPLAIN, what came of it, warnings and notes, counts,
the steps that ran with rows, files, bytes and ``in vain``, and what became of the files; and one for
each script with the rows of all files that are there at its end. Times and names of staging are not
in it. ``compare`` lists the differences and ends with exit code 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import orc, parquet
from pyspark.sql import SparkSession

from acidsql.errors import Error
from acidsql.session import Session
from acidsql.spark.start.session import start
from acidsql.testing.items import THROWN_AWAY
from acidsql.testing.script import Step, read_steps
from acidsql.testing.sessions import uses_sessions
from acidsql.testing.texts import changes, error_text, masked, result_text, take_listing
from tests.session.fuzz.random_dml import random_script

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
FOLDERS = ("write", "read", "txn", "compact")
MODES = {
    "auto": {},
    "local": {"acidsql.engine": "local"},
    "spark": {"acidsql.engine": "spark"},
    "small": {"acidsql.engine": "spark", "acidsql.write.path": "small"},
    "big": {"acidsql.engine": "spark", "acidsql.write.path": "big"},
}
SPARK_CONF = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
ORDERED = ("auto", "local", "small")
"""Modes in which rows are written in one order; Spark's tasks may end in any."""
Record = dict[str, Any]


def scripts(names: Iterable[str], seeds: int) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The name and the statements of each script."""
    chosen = tuple(names)
    for folder in FOLDERS:
        for path in sorted((GOLDEN / folder).rglob("*.sql")):
            name = path.relative_to(GOLDEN).as_posix()
            steps = read_steps(path.read_text(encoding="utf-8"))
            if not uses_sessions(steps) and (not chosen or any(one in name for one in chosen)):
                yield name, steps
    for seed in range(1, seeds + 1):
        yield f"random {seed}", read_steps(f"{random_script(seed)}\n")


def record(file: Path, modes: Iterable[str], names: Iterable[str], seeds: int) -> None:
    spark = start("local[2]", SPARK_CONF, fast_start=True)
    with file.open("w", encoding="utf-8") as out:
        for name, steps in scripts(names, seeds):
            for mode in modes:
                print(f"{name} {mode}", file=sys.stderr)
                with tempfile.TemporaryDirectory(prefix="acidsql-behaviour-") as folder:
                    for line in run(spark, Path(folder).resolve() / "warehouse", steps, mode):
                        line = {"script": name, "mode": mode, **line}
                        out.write(json.dumps(line, ensure_ascii=False) + "\n")
    spark.stop()


def run(spark: SparkSession, warehouse: Path, steps: Iterable[Step], mode: str) -> Iterator[Record]:
    """What each statement of a script does, and the rows of the files at the end."""
    settings = {**THROWN_AWAY, "acidsql.compactor.auto": "false", **MODES[mode]}
    with Session(str(warehouse), metastore="", spark=spark, settings=settings) as session:
        for number, step in enumerate(steps):
            for key, value in step.settings:
                session.sql(f"SET {key}={value}")
            yield {"number": number, **did(session, step, warehouse)}
    yield {"number": "end", "rows": list(rows_of_files(warehouse, ordered=mode in ORDERED))}


def did(session: Session, step: Step, warehouse: Path) -> Record:
    text = step.text.replace("$WAREHOUSE", str(warehouse))
    before = take_listing(warehouse)
    line: Record = {"text": step.text, "explain": explained(session, text)}
    try:
        result = session.sql(text)
        line["outcome"] = result_text(result, sort=step.sort)
    except Error as error:
        line["outcome"] = error_text(error)
    else:
        stats = result.stats
        line["warnings"] = [str(warning) for warning in result.warnings]
        line["notes"] = list(result.notes)
        line["clauses"] = [list(clause) for clause in stats.clauses]
        line["path"] = stats.path
        line["directories"] = list(stats.directories)
        line["steps"] = [
            [type(ran.operator).__name__, ran.rows, ran.files, ran.bytes, ran.in_vain]
            for ran in stats.steps
        ]
    line["files"] = changes(before, take_listing(warehouse))
    return json.loads(masked(json.dumps(line, ensure_ascii=False), warehouse))


def explained(session: Session, text: str) -> str:
    try:
        return session.explain(text)
    except Error as error:
        return error_text(error)


def rows_of_files(warehouse: Path, *, ordered: bool) -> Iterator[list[Any]]:
    """The path of each data file and its rows; where they are not ``ordered``, those of a directory
    together, without the numbers of rows.
    """
    readers = {b"ORC": orc.read_table, b"PAR1": parquet.read_table}
    together: dict[str, list[str]] = {}
    for path in sorted(
        p for p in warehouse.rglob("*") if p.is_file() and "_acidsql" not in p.parts
    ):
        name = path.relative_to(warehouse).as_posix()
        head = path.read_bytes()[:4]
        reader = next((r for magic, r in readers.items() if head.startswith(magic)), None)
        if reader is None:
            continue
        try:
            table = reader(path)
        except pa.ArrowInvalid as error:  # moments that no nanoseconds can tell
            yield [name, str(error)]
            continue
        if not ordered and "rowId" in table.column_names:
            table = table.drop_columns(["rowId", "bucket"])
        rows = [json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist()]
        if ordered:
            yield [name, rows]
        else:
            together.setdefault(path.parent.relative_to(warehouse).as_posix(), []).extend(rows)
    for name, rows in together.items():
        yield [name, sorted(rows)]


def compare(old: Path, new: Path) -> int:
    """The number of differences, which are printed; those of one statement and field are one."""
    before, after = (_by_place(file) for file in (old, new))
    kinds: Counter[str] = Counter()
    for place in [*before, *(place for place in after if place not in before)]:
        one, other = before.get(place, {}), after.get(place, {})
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                kinds[key] += 1
                print(
                    f"{' '.join(map(str, place))} {key}\n  - {one.get(key)}\n  + {other.get(key)}"
                )
    total = sum(kinds.values())
    counts = ", ".join(f"{count} {key}" for key, count in kinds.most_common())
    print(
        f"{len(before)} and {len(after)} records, {total} differences{': ' if total else ''}{counts}"
    )
    return total


def _by_place(file: Path) -> dict[tuple[Any, ...], Record]:
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {(line["script"], line["mode"], line["number"]): line for line in lines}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.behaviour",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("names", nargs="*", metavar="NAME")
    recording.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    recording.add_argument("--seeds", type=int, default=40)
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    args = parser.parse_args()
    if args.command == "record":
        record(args.file, args.modes, args.names, args.seeds)
        return 0
    return 1 if compare(args.old, args.new) else 0


if __name__ == "__main__":
    sys.exit(main())
