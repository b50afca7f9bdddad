"""A process with a Spark of its own in time zones: what of random wall clocks does not come back.

Arguments, as JSON: warehouse, zone (of the process, and so of Spark's driver), files (that of the
Java which reads and writes files), seed, conf. Prints a JSON list of faults.
"""

from __future__ import annotations

import datetime
import json
import sys

import acidsql
from acidsql.session import Session
from tests.session.zones.trips import ACID, WAYS_IN, read_back
from tests.session.zones.wall_clocks import FAR, is_left_out, sample

_EPOCH = datetime.datetime(1970, 1, 1)
_LAST = _EPOCH - datetime.timedelta(seconds=1)


def run(warehouse: str, files: str, seed: int, conf: dict[str, str]) -> list[str]:
    """The faults of one Spark, by each way in and on both write paths."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.ui.enabled", "false")
    for name, value in conf.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    faults: list[str] = []
    for number, (way, write) in enumerate(WAYS_IN.items()):
        # ORC has no times of the last second before 1970: these are refused in any zone
        clocks = [c for c in sample(files, seed + number, 40) if not _LAST < c < _EPOCH]
        if way == "frame":  # of which these are refused in any zone
            clocks = [clock for clock in clocks if clock.year >= 1970 or not clock.microsecond]
        kept = [clock for clock in clocks if not is_left_out(files, clock)]
        with Session(warehouse, spark=spark) as session:
            for path in ("small", "big"):
                session.sql(f"SET acidsql.write.path={path}")
                kinds = {"kept": kept}
                if path == "big":
                    kinds["all"] = clocks
                if not number:
                    kinds["far"] = list(FAR)
                for kind, written in kinds.items():
                    table = f"{path}_{number}_{kind}"
                    session.sql(f"CREATE TABLE {table} (id INT, ts TIMESTAMP) {ACID}")
                    try:
                        write(session, table, written)
                        told = read_back(session, table, written)
                    except acidsql.Error as error:
                        refused = "by a Java whose time zone" in str(error)
                        told = [] if refused and kind == "all" else [str(error)]
                    faults += [f"{way} {path} {kind}: {fault}" for fault in told]
                    print(table, told, file=sys.stderr)
    spark.stop()
    return faults


if __name__ == "__main__":
    print(json.dumps(run(**json.loads(sys.argv[1]))))
