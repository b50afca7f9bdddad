"""Joins on the driver beside DuckDB, in turns, in one process.

    python -m tests.bench.relations [--rows 100000] [--rounds 5]

Two tables are joined, the rows grouped by a column of one of them. DuckDB has the same rows in
memory; acidsql reads its files each time. Prints the median of the rounds in milliseconds, and the
ratio. Needs ``pip install duckdb``.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile

import numpy as np
import pyarrow as pa

from acidsql.session import Session
from tests.bench.measures import in_turn, seconds_of

QUERIES = {
    "join and group": "SELECT c.region, count(*) AS n, sum(o.amount) AS s FROM o JOIN c ON o.customer = c.id"
    " GROUP BY c.region",
    "join and few": "SELECT o.id, c.region FROM o JOIN c ON o.customer = c.id WHERE o.amount > 990",
    "left join": "SELECT count(*) AS n FROM c LEFT JOIN o ON o.customer = c.id WHERE o.id IS NULL",
    "IN": "SELECT count(*) AS n FROM c WHERE id IN (SELECT customer FROM o WHERE amount > 500)",
    "UNION": "SELECT count(*) AS n FROM (SELECT id FROM c UNION SELECT customer FROM o) u",
    "window": "SELECT count(*) AS n FROM (SELECT row_number() OVER (PARTITION BY customer ORDER BY amount, id)"
    " AS r FROM o) w WHERE r = 1",
}


def main() -> None:
    import duckdb

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    random, rows = np.random.default_rng(3), args.rows
    o = pa.table(
        {
            "id": np.arange(rows),
            "customer": random.integers(0, rows, rows),
            "amount": random.integers(0, 1000, rows),
        }
    )
    c = pa.table({"id": np.arange(rows), "region": [f"region {n % 97}" for n in range(rows)]})
    duck = duckdb.connect()
    for name, table in (("o", o), ("c", c)):
        duck.register("given", table)
        duck.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    with (
        tempfile.TemporaryDirectory(prefix="acidsql-relations-") as folder,
        Session(folder, settings={"acidsql.engine": "local"}) as session,
    ):
        session.create_table("o", o)
        session.create_table("c", c)
        for name, query in QUERIES.items():
            ours = sorted(map(tuple, session.sql(query).fetchall()))
            assert ours == sorted(duck.execute(query).fetchall()), query
            sides = in_turn(
                args.rounds,
                lambda query=query: seconds_of(lambda: session.sql(query).to_arrow()),  # type: ignore[misc]
                lambda query=query: seconds_of(lambda: duck.execute(query).to_arrow_table()),  # type: ignore[misc]
            )
            one, other = map(statistics.median, sides)
            print(f"{name:<16}{1000 * one:>8.1f} ms{1000 * other:>8.1f} ms{one / other:>7.1f} x")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    main()
