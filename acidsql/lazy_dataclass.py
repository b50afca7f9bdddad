"""``dataclass`` as the standard library has it, but for the cost of each class at import.

The standard one writes and compiles up to seven functions for a class, a millisecond each, and a
process meets hundreds of classes of which its one statement makes a few. Here ``__init__`` is
compiled when it is first asked for, and the others are closures, which need no compiler.

A class derived from one made here is made here, too: the standard library is told of no frozen
class, lest it compile for it.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter, ge, gt, le, lt
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, order: bool = False, **options: bool
    ) -> Callable[[type], type]:
        """The class decorator, with the options of the standard one that are used here."""
        return lambda cls: _dataclass(cls, frozen=frozen, eq=eq, order=order, options=options)


_ORDER = {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge}


def _dataclass(
    cls: type, *, frozen: bool, eq: bool, order: bool, options: Mapping[str, bool]
) -> type:
    own = dict(cls.__dict__)
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else the standard library looks for a signature to put there
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    methods: dict[str, Any] = {"__init__": _LazyInit(cls, frozen), "__repr__": _repr(cls)}
    key = _key(tuple(field.name for field in fields(cls) if field.compare))
    if eq:
        methods["__eq__"] = _comparison(key, operator.eq)
    if order:
        methods |= {name: _comparison(key, compare) for name, compare in _ORDER.items()}
    if frozen:
        methods |= _frozen(cls)
        if options.get("slots"):
            methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    if eq and own.get("__hash__") is None:
        cls.__hash__ = _hash(key) if frozen else None  # type: ignore[assignment]
    return cls


class _FromFactory:
    """The default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


class _LazyInit:
    """An ``__init__`` that takes its own place when it is first looked up."""

    __slots__ = ("cls", "frozen")

    def __init__(self, cls: type, frozen: bool) -> None:
        self.cls = cls
        self.frozen = frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        init = _init(self.cls, self.frozen)
        self.cls.__init__ = init  # type: ignore[misc]
        return init.__get__(instance, owner)


def _init(cls: type, frozen: bool) -> Any:
    """The function that sets every field, compiled among the names of the class's module."""
    names: dict[str, Any] = {"_missing": _FromFactory()}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for field in fields(cls):
        value = field.name
        if field.default is not MISSING:
            names[f"_default_{field.name}"] = field.default
        if field.default_factory is not MISSING:
            names[f"_factory_{field.name}"] = field.default_factory
        if field.init:
            (keywords if field.kw_only else positional).append(_parameter(field))
            if field.default_factory is not MISSING:
                value = f"_factory_{value}() if {value} is _missing else {value}"
        elif field.default_factory is not MISSING:
            value = f"_factory_{value}()"
        elif field.default is not MISSING:
            value = f"_default_{value}"
        else:
            continue
        if frozen:
            names[f"_set_{field.name}"] = _setter(cls, field.name)
            body.append(f"_set_{field.name}(self, {value})")
        else:
            body.append(f"self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ["self", *positional, *(["*", *keywords] if keywords else [])]
    lines = [f"def __init__({', '.join(parameters)}):", *(f"  {line}" for line in body or ["pass"])]
    text = "\n ".join([f"def make({', '.join(names)}):", *lines, "return __init__"])
    functions: dict[str, Any] = {}
    exec(text, sys.modules[cls.__module__].__dict__, functions)
    init = functions["make"](**names)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in fields(cls) if field.init}
    init.__annotations__["return"] = None
    return init


def _parameter(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f"{field.name}=_default_{field.name}"
    return f"{field.name}=_missing" if field.default_factory is not MISSING else field.name


def _setter(cls: type, name: str) -> Callable[[object, Any], None]:
    """Sets a field past the ``__setattr__`` of a frozen class."""
    slot = getattr(cls, name, None)
    if hasattr(slot, "__set__"):
        return slot.__set__  # type: ignore[no-any-return, union-attr]
    return lambda instance, value: object.__setattr__(instance, name, value)


def _key(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The fields that instances are compared by."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda instance: ()
    one = attrgetter(*names)
    return lambda instance: (one(instance),)


def _comparison(key: Callable[[Any], tuple[Any, ...]], compare: Callable[[Any, Any], Any]) -> Any:
    def compared(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(key(self), key(other))

    return compared


def _hash(key: Callable[[Any], tuple[Any, ...]]) -> Any:
    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__


def _repr(cls: type) -> Any:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(cls) if f.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    return __repr__


def _frozen(cls: type) -> dict[str, Any]:
    names = {field.name for field in fields(cls)}

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
