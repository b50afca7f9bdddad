"""How the calls of Hive's metastore are declared: names and numbers are those of the service's
interface.
"""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.lazy_dataclass import dataclass
from acidsql.metastore.hive.protocol import I32, I64, TEXT, Kind, ListOf, MapOf, Struct

ALREADY_EXISTS = "AlreadyExistsException"
INVALID_OBJECT = "InvalidObjectException"
INVALID_OPERATION = "InvalidOperationException"
META_EXCEPTION = "MetaException"
NO_SUCH_LOCK = "NoSuchLockException"
NO_SUCH_OBJECT = "NoSuchObjectException"
NO_SUCH_TXN = "NoSuchTxnException"
TXN_ABORTED = "TxnAbortedException"
TXN_OPEN = "TxnOpenException"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """``result``: None of one that gives nothing back. ``errors``: the exceptions that it declares,
    by their number in an answer.
    """

    name: str
    arguments: Struct
    result: Kind | None
    errors: Mapping[int, str]

    @property
    def answer(self) -> Struct:
        result = {} if self.result is None else {0: ("success", self.result)}
        errors = {number: (name, ERROR) for number, name in self.errors.items()}
        return Struct(fields={**result, **errors})


def struct_of(**fields: tuple[int, Kind]) -> Struct:
    """The kind of a struct with these fields, each by its number."""
    return Struct(fields={number: (name, kind) for name, (number, kind) in fields.items()})


TEXTS = ListOf(item=TEXT)
ERROR = struct_of(message=(1, TEXT))
FAILURE = struct_of(message=(1, TEXT), type=(2, I32))
"""What a server answers where a method fails in a way that it does not declare."""
FIELD_SCHEMA = struct_of(name=(1, TEXT), type=(2, TEXT), comment=(3, TEXT))
TEXT_MAP = MapOf(key=TEXT, value=TEXT)
IDS = ListOf(item=I64)
CONTEXT = struct_of(properties=(1, TEXT_MAP))


def method(
    name: str, result: Kind | None, /, *errors: str, **arguments: tuple[int, Kind]
) -> Method:
    """A method whose ``errors`` are numbered in their order."""
    return Method(
        name=name,
        arguments=struct_of(**arguments),
        result=result,
        errors=dict(enumerate(errors, start=1)),
    )
