"""Our dataclasses are the standard library's in all that one can tell."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from dataclasses import MISSING, FrozenInstanceError, field, fields, replace
from importlib.util import find_spec
from typing import Any, ClassVar

import pytest

import acidsql
from acidsql.lazy import dataclass as ours

OPTIONS: tuple[dict[str, bool], ...] = (
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True, "slots": True, "kw_only": True, "weakref_slot": True},
    {"slots": True, "kw_only": True, "eq": False},
)


def _pair(decorator: Any, options: dict[str, bool]) -> tuple[type, type]:
    """A class of all kinds of fields, and one derived from it."""

    @decorator(**options)
    class Base:
        shared: ClassVar[int] = 7
        first: int
        second: str = "b"
        third: list[int] = field(default_factory=list)
        hidden: int = field(default=0, repr=False, compare=False)

    @decorator(**options)
    class Derived(Base):
        fourth: int = 4
        later: dict[str, int] = field(init=False, default_factory=dict, compare=False)
        fixed: int = field(init=False, default=9)

        def __post_init__(self) -> None:
            self.later["first"] = self.first

    return Base, Derived


def _outcome(act: Any) -> Any:
    try:
        return act()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS)
def test_it_behaves_as_the_standard_one(options: dict[str, bool]) -> None:
    """Construction, text, equality, hash, order, replacement and refusals are the same."""
    for our_class, standard in zip(
        _pair(ours, options), _pair(dataclasses.dataclass, options), strict=True
    ):
        for arguments in ({"first": 1}, {"first": 2, "third": [3], "hidden": 5}, {}, {"fifth": 1}):
            seen = [
                _outcome(
                    lambda cls=cls, arguments=arguments: repr(cls(**arguments)).rpartition(".")[2]
                )
                for cls in (our_class, standard)
            ]
            assert seen[0] == seen[1]
        for act in (
            lambda cls: (cls(first=1) == cls(first=1, hidden=3), cls(first=1) == cls(first=2)),
            lambda cls: cls(first=1) == 1,
            # both live: else the second may lie where the first was, and have its identity
            lambda cls: len(
                {*map(hash, [cls(first=1, third=()), cls(first=1, third=(), hidden=2)])}
            ),
            lambda cls: (cls(first=1) < cls(first=2), cls(first=1) >= cls(first=1)),
            lambda cls: repr(replace(cls(first=1), second="c")).rpartition(".")[2],
            lambda cls: cls(1, "x"),
            lambda cls: setattr(cls(first=1), "first", 2),
            lambda cls: delattr(cls(first=1), "first"),
            lambda cls: isinstance(_outcome(lambda: setattr(cls(first=1), "unknown", 2)), type),
            lambda cls: str(inspect.signature(cls)),
            lambda cls: cls.__match_args__,
            lambda cls: cls.__hash__ is None,
            lambda cls: copy.copy(cls(first=1, second="z")).second,
            lambda cls: cls.__slots__,
        ):
            results = [_outcome(lambda cls=cls, act=act: act(cls)) for cls in (our_class, standard)]
            shown = [repr(result).rpartition(".")[2] for result in results]
            assert shown[0] == shown[1]


def test_a_signature_may_be_the_first_thing_that_is_asked() -> None:
    """Of a class of which nothing was made yet, as completion at a prompt does."""

    @ours(frozen=True, slots=True)
    class Asked:
        first: int
        second: str = "b"

    assert list(inspect.signature(Asked).parameters) == ["first", "second"]
    assert Asked(1) == Asked(1, "b")


def test_an_explicit_method_is_kept() -> None:
    """What the class itself says about equality, hash and text stands."""

    @ours(frozen=True, slots=True)
    class Own:
        value: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    assert (Own(1) == 3, hash(Own(1)), repr(Own(1))) == (True, 5, "own")


@ours(frozen=True, slots=True, kw_only=True)
class Sent:
    value: int
    more: tuple[int, ...] = ()


def test_it_can_be_pickled_and_stays_frozen() -> None:
    """A frozen instance comes out of a pickle as it went in."""
    sent = pickle.loads(pickle.dumps(Sent(value=1, more=(2,))))
    assert sent == Sent(value=1, more=(2,))
    with pytest.raises(FrozenInstanceError):
        sent.value = 2  # type: ignore[misc]


def test_every_class_of_ours_can_be_made() -> None:
    """Each class's parameters are its fields, in order, with their defaults."""
    count = 0
    for module in pkgutil.walk_packages(acidsql.__path__, "acidsql."):
        if module.name.endswith("__main__") or "demo" in module.name:
            continue
        if module.name.startswith("acidsql.airflow") and find_spec("airflow") is None:
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
                continue
            if cls.__module__ != module.name or not inspect.isfunction(cls.__init__):
                continue
            if "make.<locals>" not in cls.__init__.__code__.co_qualname:
                continue  # one that the class wrote itself
            parameters = inspect.signature(cls).parameters
            by_name = {item.name: item for item in fields(cls) if item.init}
            assert set(parameters) == set(by_name)
            for name, item in by_name.items():
                required = item.default is MISSING and item.default_factory is MISSING
                assert (parameters[name].default is inspect.Parameter.empty) == required
            count += 1
    assert count > 300


@pytest.mark.parametrize("options", OPTIONS)
def test_what_is_made_often_is_compiled_and_no_different(options: dict[str, bool]) -> None:
    """The first instances and later ones are equal, and so are the errors of wrong arguments."""

    def wrong(**arguments: int) -> str:
        with pytest.raises(TypeError) as caught:
            our_class(**arguments)
        return str(caught.value).rpartition("__init__()")[2]

    our_class, _ = _pair(ours, options)
    first, missing = repr(our_class(first=1)), wrong()
    for _ in range(40):
        assert repr(our_class(first=1)) == first
    assert inspect.isfunction(our_class.__dict__["__init__"])
    assert (wrong(), wrong(first=1, fifth=2)) == (
        missing,
        " got an unexpected keyword argument 'fifth'",
    )
