"""Rows as lines of JSON, a column at a time. What Arrow writes as ``strict_json`` does is left to
it, which is much faster; all else is written value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_arrays import arrow_array
from acidsql.catalog.model import Column
from acidsql.catalog.text import strict_json
from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType

_ESCAPED = '["\\\\\\x00-\\x1f]'
_PLAIN = frozenset(("boolean", "tinyint", "smallint", "int", "bigint"))
_NO_EXPONENT = 6
"""The most digits behind the point of a decimal that Arrow never writes with an exponent."""

Texts = Callable[[pa.Array], pa.Array]


def json_lines(columns: Sequence[Column]) -> Callable[[pa.RecordBatch], bytes]:
    """What makes the lines of a batch of these columns."""
    name = strict_json(PrimitiveType("string"))
    heads = [f"{',' if n else '{'}{name(column.name)}:" for n, column in enumerate(columns)]
    texts = [_texts(column.type) for column in columns]

    def lines(batch: pa.RecordBatch) -> bytes:
        parts: list[object] = []
        for head, text, array in zip(heads, texts, batch.columns, strict=True):
            parts += [head, pc.fill_null(text(array), "null")]
        joined = pc.binary_join_element_wise(*parts, "}\n", "")
        return "".join(joined.to_pylist()).encode()

    return lines


def _texts(hive_type: HiveType) -> Texts:
    """What makes the texts of a column's values; NULL stays."""
    print_ = strict_json(hive_type)

    def by_value(array: pa.Array) -> pa.Array:
        return arrow_array([print_(value) for value in array.to_pylist()], pa.string())

    def plain(array: pa.Array) -> pa.Array:
        return array.cast(pa.string())

    def quoted(array: pa.Array) -> pa.Array:
        if pc.any(pc.match_substring_regex(array, _ESCAPED)).as_py():
            return by_value(array)
        return pc.binary_join_element_wise('"', array, '"', "")

    match hive_type:
        case PrimitiveType("string"):
            return quoted
        case PrimitiveType(name) if name in _PLAIN:
            return plain
        case DecimalType(_, scale) if scale <= _NO_EXPONENT:
            return plain
    return by_value
