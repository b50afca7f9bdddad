"""``dataclass`` and regular expressions as the standard library has them, but for their cost at
import.

The standard one looks into the fields of a class, and writes and compiles up to seven functions for
it, a millisecond each; a process meets hundreds of classes of which its one statement makes a few.
Here a class only gets its slots. All else that the standard library makes of it, its fields
included, is made when it is first looked up; the functions are closures, which need no compiler,
but for the ``__init__`` of a class that is made often.

A class derived from one made here is made here, too: the standard library is told of no frozen
class, lest it compile for it.
"""

from __future__ import annotations

import dataclasses
import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import cache, partial
from operator import attrgetter, ge, gt, le, lt
from reprlib import recursive_repr
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *,
        frozen: bool = False,
        eq: bool = True,
        order: bool = False,
        kw_only: bool = False,
        slots: bool = False,
        weakref_slot: bool = False,
    ) -> Callable[[type], type]:
        """The class decorator, with the options of the standard one that are used here."""

        def decorated(cls: type) -> type:
            annotations = cls.__annotations__
            names = [name for name, kind in annotations.items() if not _is_shared(kind)]
            defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
            said: dict[str, Any] = {_OWN: _Own(annotations, defaults, frozen, kw_only)}
            if eq and cls.__dict__.get("__hash__") is None:
                said["__hash__"] = _HASH if frozen else None
            if cls.__dict__.get("__doc__") is None:
                said["__doc__"] = cls.__name__
            methods = _methods(frozen, eq, order, slots)
            if slots:
                return _with_slots(cls, names, methods, said, weakref_slot)
            return _without_slots(cls, defaults, methods, said)

        return decorated


_OWN, _FIRST = "__own_fields__", "__first_init__"
_FIRST_CALLS = 16
"""Compiling takes as long as so many calls."""


class _Own(NamedTuple):
    """What a class says of its own fields."""

    annotations: Mapping[str, Any]
    defaults: Mapping[str, Any]
    frozen: bool
    kw_only: bool


def _is_shared(annotation: object) -> bool:
    """Whether it is that of an attribute of the class, which is no field."""
    return str(annotation).startswith(("ClassVar", "typing.ClassVar"))


@cache
def _methods(frozen: bool, eq: bool, order: bool, slots: bool) -> Mapping[str, Any]:
    """What a class gets, where it has nothing of its own of the name."""
    methods: dict[str, Any] = dict(_ALWAYS)
    if eq:
        methods["__eq__"] = _EQ
    if order:
        methods |= _ORDER
    if frozen:
        methods |= _FROZEN
    if frozen and slots:
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    return methods


def _with_slots(
    cls: type,
    names: Iterable[str],
    methods: Mapping[str, Any],
    said: Mapping[str, Any],
    weakref_slot: bool,
) -> type:
    inherited = {slot for base in cls.__mro__[1:-1] for slot in base.__dict__.get("__slots__", ())}
    slots = [name for name in names if name not in inherited]
    if weakref_slot and "__weakref__" not in inherited:
        slots.append("__weakref__")
    namespace = {**methods, **cls.__dict__, **said}
    for name in (*names, "__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace |= {"__slots__": tuple(slots), "__qualname__": cls.__qualname__}
    return type(cls)(cls.__name__, cls.__bases__, namespace)


def _without_slots(
    cls: type, defaults: Mapping[str, Any], methods: Mapping[str, Any], said: Mapping[str, Any]
) -> type:
    for name, default in defaults.items():
        if isinstance(default, Field) and default.default is MISSING:
            delattr(cls, name)
        elif isinstance(default, Field):
            setattr(cls, name, default.default)
    for name, item in {**methods, **said}.items():
        if name in said or name not in cls.__dict__:
            setattr(cls, name, item)
    return cls


class _Lazy:
    """An attribute of classes that takes its own place when it is first looked up.

    inspect.signature asks with a class as an instance of ``type``, from Python 3.13 on.
    """

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[type], Any]) -> None:
        self.name, self.make = name, make

    def __get__(self, instance: object, owner: type) -> Any:
        cls = self.home(instance if isinstance(instance, type) else owner)
        attribute = self.make(cls)
        setattr(cls, self.name, attribute)
        return attribute.__get__(instance, owner) if callable(attribute) else attribute

    def home(self, owner: type) -> type:
        """The class, of those that ``owner`` is derived from, whose attribute it is."""
        return next(one for one in owner.__mro__ if one.__dict__.get(self.name) is self)


class _LazyInit(_Lazy):
    """An ``__init__`` that is compiled when it has been called some times: most are called less."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None or isinstance(instance, type):
            return super().__get__(instance, owner)
        cls = self.home(owner)
        first = cls.__dict__.get(_FIRST)
        if first is None:
            first = _first_init(cls)
            setattr(cls, _FIRST, first)
        return MethodType(first, instance)


class _FromFactory:
    """The default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


def _alone(cls: type) -> Any:
    """What the standard library makes of a class with its own fields alone."""
    own: _Own = cls.__dict__[_OWN]
    namespace: dict[str, Any] = {
        "__annotations__": own.annotations,
        "__module__": cls.__module__,
        "__doc__": "Else the standard library looks for a signature to put there.",
    }
    alone: Any = type(cls.__name__, (), {**namespace, **own.defaults})
    return dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=own.kw_only)(alone)


def _fields(cls: type) -> dict[str, Field[Any]]:
    """The fields of a class, behind those of its bases."""
    known: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        known |= getattr(base, "__dataclass_fields__", {})
    known |= _alone(cls).__dataclass_fields__
    return known


def _params(cls: type) -> Any:
    return _alone(cls).__dataclass_params__


def _own_and_inherited(cls: type) -> list[Field[Any]]:
    """The fields as far as they are needed here, which the standard library takes longer for."""
    known: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__):
        own: _Own | None = base.__dict__.get(_OWN)
        for name, kind in own.annotations.items() if own else ():
            if own and not _is_shared(kind):
                known[name] = _field(name, kind, own)
    return list(known.values())


def _field(name: str, kind: Any, own: _Own) -> Field[Any]:
    default = own.defaults.get(name, MISSING)
    one: Field[Any] = default if isinstance(default, Field) else dataclasses.field(default=default)
    one.name, one.type = name, kind
    if one.kw_only is MISSING:
        one.kw_only = own.kw_only
    return one


def _match_args(cls: type) -> tuple[str, ...]:
    own = _own_and_inherited(cls)
    return tuple(field.name for field in own if field.init and not field.kw_only)


def _first_init(cls: type) -> Any:
    """What sets every field as the compiled function does, to which it leaves later calls, and
    those that are at fault.
    """
    own = _own_and_inherited(cls)
    frozen = cls.__dict__[_OWN].frozen
    positional = [field.name for field in own if field.init and not field.kw_only]
    accepted = {field.name for field in own if field.init}
    required = {field.name for field in own if field.init and _is_required(field)}
    steps = [
        (field, _setter(cls, field.name) if frozen else partial(_set_as_usual, field.name))
        for field in own
        if field.init or not _is_required(field)
    ]
    is_followed = hasattr(cls, "__post_init__")
    calls = 0

    def __init__(self: Any, /, *args: Any, **given: Any) -> None:
        nonlocal calls
        calls += 1
        values = {**dict(zip(positional, args, strict=False)), **given}
        fits = len(values) == len(args) + len(given) and required <= values.keys() <= accepted
        if calls > _FIRST_CALLS or not fits:
            cls.__init__(self, *args, **given)  # type: ignore[misc]
            return
        for field, put in steps:
            if field.name in values:
                put(self, values[field.name])
            elif field.default is not MISSING:
                put(self, field.default)
            else:
                put(self, field.default_factory())  # type: ignore[operator]
        if is_followed:
            self.__post_init__()

    return __init__


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _set_as_usual(name: str, instance: object, value: Any) -> None:
    setattr(instance, name, value)


def _init(cls: type) -> Any:
    """The function that sets every field, compiled among the names of the class's module."""
    frozen = cls.__dict__[_OWN].frozen
    names: dict[str, Any] = {"_missing": _FromFactory()}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for field in _own_and_inherited(cls):
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
    init.__annotations__ = {
        field.name: field.type for field in _own_and_inherited(cls) if field.init
    }
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


def _key(cls: type) -> Callable[[Any], tuple[Any, ...]]:
    """The fields that instances are compared by."""
    names = tuple(field.name for field in _own_and_inherited(cls) if field.compare)
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda instance: ()
    one = attrgetter(*names)
    return lambda instance: (one(instance),)


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[type], Any]:
    def make(cls: type) -> Any:
        key = _key(cls)

        def compared(self: Any, other: object) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return compare(key(self), key(other))

        return compared

    return make


def _hash(cls: type) -> Any:
    key = _key(cls)

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__


def _repr(cls: type) -> Any:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(cls) if f.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    return __repr__


def _set(cls: type) -> Any:
    names = {field.name for field in _own_and_inherited(cls)}

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    return __setattr__


def _delete(cls: type) -> Any:
    names = {field.name for field in _own_and_inherited(cls)}

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _replace(self: Any, /, **changes: Any) -> Any:
    return dataclasses.replace(self, **changes)


def _lazy(makers: Mapping[str, Callable[[type], Any]]) -> dict[str, _Lazy]:
    return {name: _Lazy(name, make) for name, make in makers.items()}


_EQ, _HASH = _Lazy("__eq__", _comparison(operator.eq)), _Lazy("__hash__", _hash)
_ORDER = _lazy(
    {
        name: _comparison(compare)
        for name, compare in (("__lt__", lt), ("__le__", le), ("__gt__", gt), ("__ge__", ge))
    }
)
_FROZEN = _lazy({"__setattr__": _set, "__delattr__": _delete})
_ALWAYS = {
    "__init__": _LazyInit("__init__", _init),
    **_lazy(
        {
            "__repr__": _repr,
            "__match_args__": _match_args,
            "__dataclass_fields__": _fields,
            "__dataclass_params__": _params,
        }
    ),
    "__replace__": _replace,
}


# ---- patterns
#
# Regular expressions that are compiled when they are first used: a module has many of which a
# statement needs few, and each costs more than the module itself.


if TYPE_CHECKING:
    from re import compile as pattern
else:

    class pattern:
        """What ``re.compile`` gives, from the first use of one of its methods on."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._text, self._flags = text, flags

        def __getattr__(self, name: str) -> Any:
            method = getattr(re.compile(self._text, self._flags), name)
            setattr(self, name, method)
            return method


__all__ = ["pattern"]
