"""Values as INSERT and UPDATE store them: ``expressions.spark_words.store_cast`` on Arrow."""

from __future__ import annotations

from functools import partial

from acidsql.catalog.types import CharType, HiveType, VarcharType
from acidsql.errors import Span
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.values import STRING
from acidsql.expressions.vectors.casts import cast
from acidsql.expressions.vectors.signals import Kernels, applied
from acidsql.expressions.vectors.vector import Vector

_texts = Kernels("texts")


def store_cast(vector: Vector, column_type: HiveType, *, ansi: bool, span: Span) -> Vector:
    """The value a column holds once ``vector`` is assigned to it: cast, and cut to the length of
    char and varchar; a char is without blanks at its end. ``span``: of the value in the user's
    text. NotHere, at ``span``.
    """
    try:
        match column_type:
            case VarcharType(length) | CharType(length):
                kernel = _texts.cut_char if isinstance(column_type, CharType) else _texts.cut
                text = cast(vector, STRING, ansi=ansi)
                return Vector(column_type, applied(partial(kernel, length), text))
        return cast(vector, column_type, ansi=ansi)
    except NotHere as signal:
        raise NotHere(signal.reason, span) from None
