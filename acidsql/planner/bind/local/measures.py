"""What ANALYZE asks of columns, as Spark SQL and as queries that need no Spark, or why there are
none of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.catalog.model import Column, FileFormat, Table
from acidsql.catalog.types import CharType, DecimalType, HiveType, PrimitiveType, VarcharType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import identifier
from acidsql.lazy import dataclass
from acidsql.planner.bind.analysis import Read
from acidsql.planner.bind.local.queries import local_select
from acidsql.planner.bind.local.query_trees import LocalQuery, Outside, Semantics

_TARGET = "t"
_ORDERED = frozenset("tinyint smallint int bigint float double date timestamp".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """Queries of one partition's rows: ``every`` aggregate, and for each name in ``counts`` the
    different values of a column.
    """

    every: LocalQuery
    counts: Mapping[str, LocalQuery]

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        return sorted({name for one in (self.every, *self.counts.values()) for name in one.names})


def measuring(table: Table, columns: Sequence[Column], semantics: Semantics) -> Measuring | NotHere:
    """The queries by which the driver alone measures ``columns``, or why it cannot."""
    if table.file_format is not FileFormat.ORC:
        return NotHere(f"the table is stored as {table.file_format}")
    aggregates, different = asked(columns)
    items = ", ".join(f"{sql} AS {name}" for name, sql in aggregates.items())
    every = _query(table, f"SELECT {items} FROM ", "", semantics)
    if isinstance(every, NotHere):
        return every
    counts = {}
    for name, column in different.items():
        query = _query(table, f"SELECT {column} FROM ", f" GROUP BY {column}", semantics)
        if isinstance(query, NotHere):
            return query
        counts[name] = query
    return Measuring(every=every, counts=counts)


def _query(table: Table, select: str, ends: str, semantics: Semantics) -> LocalQuery | NotHere:
    text = f"{select}{_TARGET}{ends}"
    span = Span(len(select), len(select) + len(_TARGET))
    read = Read(table=table, span=span, alias=_TARGET)
    return local_select(text, Span(0, len(text)), [read], Outside(), semantics, named=False)


def asked(columns: Sequence[Column]) -> tuple[dict[str, str], dict[str, str]]:
    """What is measured, by the names that ANALYZE knows them by: aggregates that need no Spark,
    and columns whose different values are counted.
    """
    aggregates, different = {"n": "count(*)"}, {}
    for ordinal, column in enumerate(columns):
        for name, sql in measures(column).items():
            if name == "distinct":
                different[measure_name(ordinal, name)] = identifier(column.name)
            else:
                aggregates[measure_name(ordinal, name)] = sql
    return aggregates, different


def measure_name(ordinal: int, measure: str) -> str:
    return f"c{ordinal}_{measure}"


def measures(column: Column) -> dict[str, str]:
    """What is asked of a column, by the kind of its type, as Spark SQL."""
    name = identifier(column.name)
    asked = {"known": f"count({name})"}
    match _kind(column.type):
        case "ordered":
            asked |= {
                "distinct": _distinct(column),
                "low": f"min({name})",
                "high": f"max({name})",
            }
        case "text":
            asked |= {
                "distinct": _distinct(column),
                "length": f"sum(length({name}))",
                "longest": f"max(length({name}))",
            }
        case "binary":
            asked |= {"length": f"sum(length({name}))", "longest": f"max(length({name}))"}
        case "boolean":
            asked |= {"trues": f"sum(if({name}, 1, 0))"}
    return asked


def _distinct(column: Column) -> str:
    """About how many different values there are, within 1 %: a sketch of 2^14 registers, which
    takes whole numbers and texts, and no empty ones. (approx_count_distinct is planned as 1,639
    columns each time.)
    """
    name = identifier(column.name)
    match column.type:
        case PrimitiveType("tinyint" | "smallint" | "int"):
            value = f"CAST({name} AS INT)"
        case PrimitiveType("bigint"):
            value = name
        case PrimitiveType("float" | "double"):  # 0.0 and -0.0 are one value
            value = f"concat('.', CAST({name} AS DOUBLE) + 0D)"
        case _:
            value = f"concat('.', {name})"
    return f"hll_sketch_estimate(hll_sketch_agg({value}, 14))"


def _kind(hive_type: HiveType) -> str:
    match hive_type:
        case PrimitiveType(name) if name in _ORDERED:
            return "ordered"
        case DecimalType():
            return "ordered"
        case PrimitiveType("string") | CharType() | VarcharType():
            return "text"
        case PrimitiveType("binary" | "boolean" as name):
            return name
    return "other"
