"""Tables of every type and layout, and the answers of the driver and of Spark beside each other."""

from __future__ import annotations

from typing import Any

from acidsql.errors import ExecutionError, UnsupportedStatementError
from acidsql.session import Session

COLUMNS = {
    "t": "tinyint",
    "s": "smallint",
    "i": "int",
    "b": "bigint",
    "f": "float",
    "d": "double",
    "m": "decimal(9,2)",
    "w": "decimal(38,10)",
    "x": "string",
    "c": "char(4)",
    "v": "varchar(5)",
    "o": "boolean",
    "y": "date",
    "z": "timestamp",
    "r": "binary",
}
ROWS = """
(1, 1, 1, 1, 1.5, 1.5, 1.25, 1.0000000001, 'a', 'a', 'a', true, DATE '2020-01-01',
  TIMESTAMP '2020-01-01 00:00:00', 'a'),
(2, -2, 3, 4, 0.5, CAST('NaN' AS DOUBLE), -1.25, -7, 'b ', 'b', 'b ', false, DATE '1999-12-31',
  TIMESTAMP '2020-01-01 00:00:00.000001', 'b'),
(3, 300, -3, 9223372036, CAST('-0.0' AS FLOAT), CAST('-0.0' AS DOUBLE), 0.00, 0, '', '', '', true,
  DATE '1970-01-01', TIMESTAMP '1970-01-01 00:00:00', ''),
(4, 4, 4, -4, CAST('NaN' AS FLOAT), 0.0, 9999999.99, 12345678901234567890, 'é', 'é', 'é', NULL,
  DATE '9999-12-31', TIMESTAMP '2038-01-19 03:14:07', 'é'),
(5, 5, 2147483647, 5, 3.25, CAST('Infinity' AS DOUBLE), NULL, NULL, '😀', 'zz', 'zz', false, NULL,
  NULL, NULL),
(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(1, 1, 1, 1, 1.5, 1.5, 1.25, 1.0000000001, 'a', 'a', 'a', true, DATE '2020-01-01',
  TIMESTAMP '2020-01-01 00:00:00', 'a'),
(7, 7, -2147483648, 7, CAST('-Infinity' AS FLOAT), -2.5, 7.10, 7.1, 'A', 'A', 'A', true,
  DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:15.5', 'A')
"""
TABLES = ("acid", "other", "parted", "plain", "empty")


def answer(session: Session, engine: str, query: str) -> tuple[Any, ...]:
    session.sql(f"SET acidsql.engine={engine}")
    result = session.sql(query)
    columns = [(column.name, str(column.type)) for column in result.columns]
    table = result.to_arrow()
    kinds = [(field.name, str(field.type)) for field in table.schema]
    rows = [repr(row) for row in result.rows()]
    ordered = "ORDER BY" in query.rpartition(")")[2]  # and not inside of a window or a sub-query
    in_order = [row.replace("-0.0", "0.0") for row in rows] if ordered else []
    return columns, kinds, sorted(rows), in_order


def check(session: Session, query: str, ansi: bool) -> None:
    """Whatever the driver takes, Spark answers likewise, but what its optimizer breaks down on."""
    session.sql(f"SET acidsql.ansi={'true' if ansi else 'false'}")
    try:
        local = answer(session, "local", query)
    except UnsupportedStatementError:
        return
    try:
        assert local == answer(session, "spark", query), query
    except ExecutionError as error:
        if "generated an invalid plan" not in error.message:
            raise
