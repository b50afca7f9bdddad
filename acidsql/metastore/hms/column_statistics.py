"""Statistics of columns as the structs of Hive's metastore, and back. Which numbers there are goes
by the type of a column; of some types Hive keeps none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from acidsql.catalog.model import Column
from acidsql.catalog.statistics import ColumnStatistics
from acidsql.metastore.hms.tables import Struct

_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_BROKEN = frozenset({"float", "double"})
_TEXTS = frozenset({"string", "varchar", "char"})


def column_objects(columns: Iterable[ColumnStatistics], *, hive_3: bool) -> Iterator[Struct]:
    """The structs of those columns of which Hive keeps numbers."""
    for one in columns:
        data = _data(one, hive_3=hive_3)
        if data is not None:
            yield {
                "colName": one.column.name,
                "colType": str(one.column.type),
                "statsData": data,
            }


def _kind(column: Column) -> str:
    return str(column.type).partition("(")[0]


def _data(one: ColumnStatistics, *, hive_3: bool) -> Struct | None:
    kind = _kind(one.column)
    counts = {"numNulls": one.nulls, "numDVs": one.distinct or 0}
    lengths = {"maxColLen": one.longest or 0, "avgColLen": float(one.average_length or 0)}
    if kind in _WHOLE or (kind == "timestamp" and hive_3):
        return {"longStats": _ends(one, int) | counts}
    if kind in _BROKEN:
        return {"doubleStats": _ends(one, float) | counts}
    if kind in _TEXTS:
        return {"stringStats": lengths | counts}
    match kind:
        case "boolean":
            trues = {"numTrues": one.trues or 0, "numFalses": one.falses or 0}
            return {"booleanStats": trues | counts}
        case "binary":
            return {"binaryStats": lengths | counts}
        case "decimal":
            return {"decimalStats": _ends(one, lambda value: _decimal(Decimal(value))) | counts}
        case "date":
            return {"dateStats": _ends(one, lambda value: {"daysSinceEpoch": value}) | counts}
        case "timestamp":
            ends = _ends(one, lambda value: {"secondsSinceEpoch": value})
            return {"timestampStats": ends | counts}
    return None


def _ends(
    one: ColumnStatistics, as_sent: Callable[[int | float | Decimal], object]
) -> dict[str, object]:
    """The least and greatest value, where they are known."""
    ends = {"lowValue": one.low, "highValue": one.high}
    return {name: as_sent(value) for name, value in ends.items() if value is not None}


def _decimal(value: Decimal) -> Struct:
    """Java: BigDecimal, its unscaled value as BigInteger.toByteArray."""
    scale = max(0, -int(value.as_tuple().exponent))
    unscaled = int(value.scaleb(scale)) if scale else int(value)
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return {"scale": scale, "unscaled": unscaled.to_bytes(size, "big", signed=True)}


def column_statistics(column: Column, structs: Sequence[Struct]) -> Iterator[ColumnStatistics]:
    """What structs tell of a column."""
    for one in structs:
        if one["colName"].lower() == column.name:
            for data in one["statsData"].values():
                yield _statistics(column, data)


def _statistics(column: Column, data: Struct) -> ColumnStatistics:
    return ColumnStatistics(
        column=column,
        nulls=data["numNulls"],
        distinct=data.get("numDVs"),
        low=_end(data.get("lowValue")),
        high=_end(data.get("highValue")),
        average_length=data.get("avgColLen"),
        longest=data.get("maxColLen"),
        trues=data.get("numTrues"),
        falses=data.get("numFalses"),
    )


def _end(value: Any) -> int | float | Decimal | None:
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    if "unscaled" in value:
        unscaled = int.from_bytes(value["unscaled"], "big", signed=True)
        return Decimal(unscaled).scaleb(-value.get("scale", 0))
    return next(iter(value.values()), None)
