"""The end of an ORC file (footer and postscript): read, and rewritten with the metadata and types
of a Hive ACID file.

Neither Spark nor pyarrow can set ORC user metadata, char(n) and varchar(n), or write ``row`` as
fast as flat columns; all three are facts of the footer alone, so they are put right there. The
bytes before the footer (stripes, their statistics) stay as they are: numbers of types, streams and
statistics do not change.

    stripes | stripe statistics | footer | postscript | 1 byte: length of the postscript
                                  ^ TailEdit.offset

Format: orc_proto.proto of Apache ORC, of which grammar/orc_footer.proto has what is needed here;
fields without a name there stay in an edited tail as they were.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pyarrow as pa
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from acidsql.acid.orc_codecs import OrcCodec, pack, unpack
from acidsql.acid.orc_footer_pb2 import ColumnStatistics as StatisticsMessage
from acidsql.acid.orc_footer_pb2 import (
    Footer,
    PostScript,
    StripeInformation,
    Type,
    UserMetadataItem,
)
from acidsql.acid.orc_types import OrcType, decode_types, encode_types, preorder, same_storage, text
from acidsql.errors import FormatError, InternalError
from acidsql.lazy_dataclass import dataclass

FIRST_READ = 16 * 1024
"""Bytes that hold the tail of all but very wide or very long files."""

_MAGIC = "ORC"
MAGIC_SIZE = 3
"""Bytes before the first stripe."""

_ATTRIBUTES = 7
"""The number of the attributes in Type of orc_proto.proto."""
_PROLEPTIC_GREGORIAN = 2
"""CalendarKind of orc_proto.proto."""


ColumnStatistics = bytes
"""The message of that name in a footer."""


class OrcTail(NamedTuple):
    """What the last bytes of a file say. If ``short``, they were too few: read ``length`` bytes and
    ask again.

    ``offset`` is where the footer begins; ``stripes`` are row counts, ``stripe_offsets`` where they
    begin; ``postscript`` and ``footer`` are messages without compression; ``schema`` is None only
    when ``short``.
    """

    path: str
    codec: OrcCodec
    block_size: int
    offset: int
    length: int
    postscript: bytes
    footer: bytes = b""
    stripes: tuple[int, ...] = ()
    stripe_offsets: tuple[int, ...] = ()
    schema: OrcType | None = None
    row_count: int = 0
    metadata: Sequence[bytes] = ()
    statistics: Sequence[ColumnStatistics] = ()

    @property
    def short(self) -> bool:
        return self.schema is None

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.offset + self.length

    @property
    def user_metadata(self) -> dict[str, str]:
        """The metadata by key. FormatError for a value that is not a text."""
        try:
            return dict(map(_name_and_value, self.metadata))
        except _BROKEN as error:
            raise _format_error(self.path, error) from error

    @property
    def attributes(self) -> list[dict[str, str]]:
        """What is said of each type besides, in the order of the types. FormatError as above."""
        try:
            return [_attributes(message) for message in Footer.FromString(self.footer).types]
        except _BROKEN as error:
            raise _format_error(self.path, error) from error

    def integer_range(self, column: int) -> tuple[int, int] | None:
        """Minimum and maximum of an integer column by the file's statistics; None where it keeps
        none.
        """
        return (
            integer_range(self.statistics[column], self.path)
            if column < len(self.statistics)
            else None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TailEdit:
    """Cut the file off at ``offset`` and append ``data``."""

    offset: int
    data: bytes


def read_tail(end: bytes, file_size: int, path: str) -> OrcTail:
    """Reads a tail from ``end``, the last bytes of the file. FormatError naming ``path`` if they
    are not the end of an ORC file.
    """
    try:  # no context manager, which takes longer: a table may have very many files
        return _tail(end, file_size, path)
    except _BROKEN as error:
        raise _format_error(path, error) from error


def _tail(end: bytes, file_size: int, path: str) -> OrcTail:
    postscript_length = end[-1]
    if postscript_length + 1 > len(end):
        raise ValueError("the postscript is longer than the file")
    postscript = end[-1 - postscript_length : -1]
    footer_length, codec, block_size = _read_postscript(postscript)
    length = footer_length + postscript_length + 1
    if length > file_size:
        raise ValueError("the footer is longer than the file")
    offset = file_size - length
    tail = partial(
        OrcTail,
        path=path,
        codec=codec,
        block_size=block_size,
        offset=offset,
        length=length,
        postscript=postscript,
    )
    if length > len(end):
        return tail()
    content = unpack(end[len(end) - length : len(end) - 1 - postscript_length], codec)
    footer = Footer.FromString(content)
    types = tuple(footer.types)
    if not types:
        raise ValueError("the footer has no types")
    rows = _rows_of_stripes(footer, offset)
    return tail(
        footer=content,
        stripes=rows,
        stripe_offsets=tuple([stripe.offset for stripe in footer.stripes]),
        schema=decode_types(types),
        row_count=footer.numberOfRows,
        metadata=tuple(footer.metadata),
        statistics=tuple(footer.statistics),
    )


def load_tail(read: Callable[[int], tuple[bytes, int]], path: str) -> OrcTail:
    """The whole tail. ``read(count)`` gives the last ``count`` bytes (or all) and the file's size;
    asked twice at most.
    """
    tail = read_tail(*read(FIRST_READ), path)
    return read_tail(*read(tail.length), path) if tail.short else tail


def values_counted(statistics: ColumnStatistics, path: str) -> int:
    """How many values of a column of the file at ``path`` are not NULL."""
    try:
        return int(StatisticsMessage.FromString(statistics).numberOfValues)
    except _BROKEN as error:
        raise _format_error(path, error) from error


def integer_range(statistics: ColumnStatistics, path: str) -> tuple[int, int] | None:
    """Minimum and maximum of an integer column of the file at ``path``; None where it
    keeps none.
    """
    try:
        integers = StatisticsMessage.FromString(statistics).intStatistics
        if not integers.HasField("minimum") or not integers.HasField("maximum"):
            return None
        return integers.minimum, integers.maximum
    except _BROKEN as error:
        raise _format_error(path, error) from error


def edit_tail(
    tail: OrcTail,
    metadata: Mapping[str, str],
    schema: OrcType | None = None,
    *,
    proleptic: bool = False,
) -> TailEdit:
    """The tail with these metadata keys set (others stay) and, if given, the types of ``schema``.

    ``schema`` must be the file's own types up to nesting under a struct and what ``same_storage``
    allows; InternalError if it is not. Attributes on types (Spark writes some) are dropped with the
    old types.

    ``proleptic``: times before 1582 are in the calendar of today. A file of Arrow's does not say
    so, and ORC's Java readers but Hive 3.1's take them for the old calendar's unless it does.
    """
    edited = Footer.FromString(tail.footer)
    if schema:
        edited.types[:] = encode_types(_checked(tail, schema))
    kept = [item for item in tail.metadata if _name_and_value(item)[0] not in metadata]
    edited.metadata[:] = [*kept, *(_item(name, value) for name, value in metadata.items())]
    if proleptic:
        edited.calendar = _PROLEPTIC_GREGORIAN
    footer = pack(edited.SerializeToString(), tail.codec, tail.block_size)
    postscript = edited_postscript(tail.postscript, len(footer))
    return TailEdit(offset=tail.offset, data=footer + postscript + bytes([len(postscript)]))


@lru_cache(maxsize=1024)
def _read_postscript(data: bytes) -> tuple[int, OrcCodec, int]:
    """Length of the footer, codec and its block size. Many files of a table have the same one."""
    postscript = PostScript.FromString(data)
    if postscript.magic != _MAGIC:
        raise ValueError("there is no ORC postscript at its end")
    if not postscript.HasField("footerLength"):
        raise ValueError("the postscript does not say how long the footer is")
    return (
        postscript.footerLength,
        OrcCodec(postscript.compression),
        postscript.compressionBlockSize,
    )


def metadata_length(tail: OrcTail) -> int:
    """Bytes of the section before the footer: the statistics of the stripes."""
    return PostScript.FromString(tail.postscript).metadataLength


def edited_postscript(
    data: bytes, footer_length: int, statistics_length: int | None = None
) -> bytes:
    """A postscript with these lengths; None: that of the stripes' statistics stays.

    Java's readers look for the magic in the last bytes, where else fields without a name would
    stand.
    """
    postscript = PostScript.FromString(data)
    postscript.footerLength = footer_length
    if statistics_length is not None:
        postscript.metadataLength = statistics_length
    postscript.ClearField("magic")
    return postscript.SerializeToString() + PostScript(magic=_MAGIC).SerializeToString()


_BROKEN = (
    ValueError,
    IndexError,
    KeyError,
    RecursionError,
    OSError,
    DecodeError,
    zlib.error,
    pa.ArrowException,
)


def _format_error(path: str, error: Exception) -> FormatError:
    return FormatError(f'"{path}" is not a valid ORC file', detail=str(error))


def _checked(tail: OrcTail, schema: OrcType) -> OrcType:
    if tail.schema is None:
        raise InternalError(f'the tail of "{tail.path}" was not read to its end')
    stored, declared = list(preorder(tail.schema)), list(preorder(schema))
    if len(stored) != len(declared) or not all(map(same_storage, stored[1:], declared[1:])):
        raise InternalError(
            f'"{tail.path}" does not hold the columns it was written for',
            detail=f"{tail.schema} is not stored as {schema}",
        )
    return schema


def _rows_of_stripes(footer: Footer, offset: int) -> tuple[int, ...]:
    """Raises ValueError where the stripes contradict the footer, which begins at ``offset``."""
    rows = tuple([stripe.numberOfRows for stripe in footer.stripes])
    if sum(rows) != footer.numberOfRows:
        raise ValueError(f"the footer counts {footer.numberOfRows} rows, its stripes {sum(rows)}")
    if rows and max(map(_end, footer.stripes)) > offset:
        raise ValueError("a stripe ends behind the footer's beginning")
    return rows


def _end(stripe: StripeInformation) -> int:
    """Where the stripe ends: behind its index, its data and its own footer."""
    return stripe.offset + stripe.indexLength + stripe.dataLength + stripe.footerLength


def _item(name: str, value: str) -> bytes:
    return UserMetadataItem(name=name, value=value.encode()).SerializeToString()


def _name_and_value(data: bytes) -> tuple[str, str]:
    item = UserMetadataItem.FromString(data)
    return text(item.name, "replace"), item.value.decode(errors="replace")


def _attributes(message: bytes) -> dict[str, str]:
    """The attributes in a ``Type`` message; each is laid out as an item of metadata."""
    unknown: Any = UnknownFieldSet(Type.FromString(message))
    return dict(_name_and_value(f.data) for f in unknown if f.field_number == _ATTRIBUTES)
