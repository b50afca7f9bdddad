from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PostScript(_message.Message):
    __slots__ = ("footerLength", "compression", "compressionBlockSize", "magic")
    FOOTERLENGTH_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    COMPRESSIONBLOCKSIZE_FIELD_NUMBER: _ClassVar[int]
    MAGIC_FIELD_NUMBER: _ClassVar[int]
    footerLength: int
    compression: int
    compressionBlockSize: int
    magic: str
    def __init__(self, footerLength: _Optional[int] = ..., compression: _Optional[int] = ..., compressionBlockSize: _Optional[int] = ..., magic: _Optional[str] = ...) -> None: ...

class Footer(_message.Message):
    __slots__ = ("stripes", "types", "metadata", "numberOfRows", "statistics", "rowIndexStride", "calendar")
    STRIPES_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NUMBEROFROWS_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    ROWINDEXSTRIDE_FIELD_NUMBER: _ClassVar[int]
    CALENDAR_FIELD_NUMBER: _ClassVar[int]
    stripes: _containers.RepeatedCompositeFieldContainer[StripeInformation]
    types: _containers.RepeatedScalarFieldContainer[bytes]
    metadata: _containers.RepeatedScalarFieldContainer[bytes]
    numberOfRows: int
    statistics: _containers.RepeatedScalarFieldContainer[bytes]
    rowIndexStride: int
    calendar: int
    def __init__(self, stripes: _Optional[_Iterable[_Union[StripeInformation, _Mapping]]] = ..., types: _Optional[_Iterable[bytes]] = ..., metadata: _Optional[_Iterable[bytes]] = ..., numberOfRows: _Optional[int] = ..., statistics: _Optional[_Iterable[bytes]] = ..., rowIndexStride: _Optional[int] = ..., calendar: _Optional[int] = ...) -> None: ...

class StripeInformation(_message.Message):
    __slots__ = ("offset", "indexLength", "dataLength", "footerLength", "numberOfRows")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    INDEXLENGTH_FIELD_NUMBER: _ClassVar[int]
    DATALENGTH_FIELD_NUMBER: _ClassVar[int]
    FOOTERLENGTH_FIELD_NUMBER: _ClassVar[int]
    NUMBEROFROWS_FIELD_NUMBER: _ClassVar[int]
    offset: int
    indexLength: int
    dataLength: int
    footerLength: int
    numberOfRows: int
    def __init__(self, offset: _Optional[int] = ..., indexLength: _Optional[int] = ..., dataLength: _Optional[int] = ..., footerLength: _Optional[int] = ..., numberOfRows: _Optional[int] = ...) -> None: ...

class Type(_message.Message):
    __slots__ = ("kind", "subtypes", "fieldNames", "maximumLength", "precision", "scale")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SUBTYPES_FIELD_NUMBER: _ClassVar[int]
    FIELDNAMES_FIELD_NUMBER: _ClassVar[int]
    MAXIMUMLENGTH_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    kind: int
    subtypes: _containers.RepeatedScalarFieldContainer[int]
    fieldNames: _containers.RepeatedScalarFieldContainer[str]
    maximumLength: int
    precision: int
    scale: int
    def __init__(self, kind: _Optional[int] = ..., subtypes: _Optional[_Iterable[int]] = ..., fieldNames: _Optional[_Iterable[str]] = ..., maximumLength: _Optional[int] = ..., precision: _Optional[int] = ..., scale: _Optional[int] = ...) -> None: ...

class UserMetadataItem(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: bytes
    def __init__(self, name: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class ColumnStatistics(_message.Message):
    __slots__ = ("intStatistics",)
    INTSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    intStatistics: IntegerStatistics
    def __init__(self, intStatistics: _Optional[_Union[IntegerStatistics, _Mapping]] = ...) -> None: ...

class IntegerStatistics(_message.Message):
    __slots__ = ("minimum", "maximum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    minimum: int
    maximum: int
    def __init__(self, minimum: _Optional[int] = ..., maximum: _Optional[int] = ...) -> None: ...

class StripeFooter(_message.Message):
    __slots__ = ("streams", "columns")
    STREAMS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    streams: _containers.RepeatedCompositeFieldContainer[Stream]
    columns: _containers.RepeatedCompositeFieldContainer[ColumnEncoding]
    def __init__(self, streams: _Optional[_Iterable[_Union[Stream, _Mapping]]] = ..., columns: _Optional[_Iterable[_Union[ColumnEncoding, _Mapping]]] = ...) -> None: ...

class Stream(_message.Message):
    __slots__ = ("kind", "column", "length")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    kind: int
    column: int
    length: int
    def __init__(self, kind: _Optional[int] = ..., column: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...

class ColumnEncoding(_message.Message):
    __slots__ = ("kind", "dictionarySize")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DICTIONARYSIZE_FIELD_NUMBER: _ClassVar[int]
    kind: int
    dictionarySize: int
    def __init__(self, kind: _Optional[int] = ..., dictionarySize: _Optional[int] = ...) -> None: ...

class RowIndex(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: _containers.RepeatedCompositeFieldContainer[RowIndexEntry]
    def __init__(self, entry: _Optional[_Iterable[_Union[RowIndexEntry, _Mapping]]] = ...) -> None: ...

class RowIndexEntry(_message.Message):
    __slots__ = ("positions",)
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    positions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, positions: _Optional[_Iterable[int]] = ...) -> None: ...
