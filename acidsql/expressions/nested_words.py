"""Spark SQL that makes other values of a column, wherever they are inside lists, maps and structs.
NULL stays NULL.
"""

from __future__ import annotations

from collections.abc import Callable

from acidsql.catalog.types import ArrayType, HiveType, MapType, StructType, holds
from acidsql.expressions.spark_words import identifier

Changes = Callable[[HiveType], bool]
MakeValue = Callable[[str, HiveType], str]


def nested_sql(
    expression: str,
    hive_type: HiveType,
    changes: Changes,
    value: MakeValue,
    key: MakeValue | None = None,
) -> str:
    """The new value of a Spark SQL expression (repeated in the result: a mere column); itself
    where nothing changes. ``value`` gives the SQL of a simple value whose type ``changes``, and
    ``key`` that of a map's key where the map's type does.
    """
    return _Walk(changes, value, key).sql(expression, hive_type, 0)


class _Walk:
    def __init__(self, changes: Changes, value: MakeValue, key: MakeValue | None) -> None:
        self._changes = changes
        self._value = value
        self._key = key

    def sql(self, expression: str, hive_type: HiveType, depth: int) -> str:
        if not holds(hive_type, self._changes):
            return expression
        match hive_type:
            case ArrayType(element):
                return self.items(expression, element, depth)
            case MapType(key, value):
                keys, values = f"map_keys({expression})", f"map_values({expression})"
                if self._key is not None and self._changes(hive_type):
                    new_keys = f"transform({keys}, k -> {self._key('k', key)})"
                else:
                    new_keys = self.items(keys, key, depth)
                return f"map_from_arrays({new_keys}, {self.items(values, value, depth)})"
            case StructType(fields):
                children = (
                    self.sql(f"{expression}.{identifier(f.name)}", f.type, depth) for f in fields
                )
                parts = [
                    f"'{_text(f.name)}', {child}" for f, child in zip(fields, children, strict=True)
                ]
                struct = f"named_struct({', '.join(parts)})"
                return f"CASE WHEN {expression} IS NOT NULL THEN {struct} END"
            case _:
                return self._value(expression, hive_type)

    def items(self, array: str, hive_type: HiveType, depth: int) -> str:
        if not holds(hive_type, self._changes):
            return array
        item = f"x{depth}"
        return f"transform({array}, {item} -> {self.sql(item, hive_type, depth + 1)})"


def _text(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
