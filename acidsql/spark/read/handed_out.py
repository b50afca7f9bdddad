"""DataFrames of Spark's in a user's hands, whose failures may have a reason that only we know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from acidsql.errors import Error

Explain = Callable[[Exception], Error | None]
"""What an error of Spark's means; None where it means what it says."""

_EXPLAIN = "_acidsql_explain"
_COME_OF_FRAMES = (
    "DataFrame",
    "GroupedData",
    "DataFrameWriter",
    "DataFrameWriterV2",
    "DataFrameNaFunctions",
    "DataFrameStatFunctions",
)
"""Classes of pyspark.sql whose objects run a DataFrame, or give another one of it."""
Frame = TypeVar("Frame")


def explained(frame: Frame, explain: Explain) -> Frame:
    """A DataFrame like ``frame`` that raises what ``explain`` gives for an error; so does each that
    comes of it, but for those of another DataFrame that it is joined to. Its class is below that of
    ``frame``.
    """
    ours = cast(Frame, object.__new__(_explained_class(type(frame))))
    vars(ours).update(vars(frame))
    vars(ours)[_EXPLAIN] = explain
    return ours


_classes: dict[type[Any], type[Any]] = {}


def _explained_class(kind: type[Any]) -> type[Any]:
    if kind not in _classes:
        members = {"__getattribute__": _look_up, "__module__": kind.__module__}
        _classes[kind] = type(kind.__name__, (kind,), members)
    return _classes[kind]


def _look_up(self: Any, name: str) -> Any:
    value = object.__getattribute__(self, name)
    if name.startswith("_"):
        return value
    explain = vars(self)[_EXPLAIN]
    return _calling(value, explain) if callable(value) else _with(value, explain)


def _calling(method: Callable[..., Any], explain: Explain) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _with(method(*args, **kwargs), explain)
        except Exception as error:
            raise _meant(error, explain) from error.__cause__

    return call


def _with(value: Any, explain: Explain) -> Any:
    kind = type(value)
    if isinstance(value, Iterator):
        return _iterated(value, explain)
    if not kind.__module__.startswith("pyspark.sql.") or kind.__name__ not in _COME_OF_FRAMES:
        return value
    return value if _EXPLAIN in vars(value) else explained(value, explain)


def _iterated(rows: Iterator[Any], explain: Explain) -> Iterator[Any]:
    try:
        yield from rows
    except Exception as error:
        raise _meant(error, explain) from error.__cause__


def _meant(error: Exception, explain: Explain) -> Exception:
    if isinstance(error, Error) or (ours := explain(error)) is None:
        return error
    ours.__cause__ = error
    return ours
