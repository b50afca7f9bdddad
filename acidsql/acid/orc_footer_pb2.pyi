from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PostScript(_message.Message):
    __slots__ = ("footerLength", "compression", "compressionBlockSize", "metadataLength", "magic")
    FOOTERLENGTH_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_FIELD_NUMBER: _ClassVar[int]
    COMPRESSIONBLOCKSIZE_FIELD_NUMBER: _ClassVar[int]
    METADATALENGTH_FIELD_NUMBER: _ClassVar[int]
    MAGIC_FIELD_NUMBER: _ClassVar[int]
    footerLength: int
    compression: int
    compressionBlockSize: int
    metadataLength: int
    magic: str
    def __init__(self, footerLength: _Optional[int] = ..., compression: _Optional[int] = ..., compressionBlockSize: _Optional[int] = ..., metadataLength: _Optional[int] = ..., magic: _Optional[str] = ...) -> None: ...

class Footer(_message.Message):
    __slots__ = ("contentLength", "stripes", "types", "metadata", "numberOfRows", "statistics", "rowIndexStride", "calendar")
    CONTENTLENGTH_FIELD_NUMBER: _ClassVar[int]
    STRIPES_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NUMBEROFROWS_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    ROWINDEXSTRIDE_FIELD_NUMBER: _ClassVar[int]
    CALENDAR_FIELD_NUMBER: _ClassVar[int]
    contentLength: int
    stripes: _containers.RepeatedCompositeFieldContainer[StripeInformation]
    types: _containers.RepeatedScalarFieldContainer[bytes]
    metadata: _containers.RepeatedScalarFieldContainer[bytes]
    numberOfRows: int
    statistics: _containers.RepeatedScalarFieldContainer[bytes]
    rowIndexStride: int
    calendar: int
    def __init__(self, contentLength: _Optional[int] = ..., stripes: _Optional[_Iterable[_Union[StripeInformation, _Mapping]]] = ..., types: _Optional[_Iterable[bytes]] = ..., metadata: _Optional[_Iterable[bytes]] = ..., numberOfRows: _Optional[int] = ..., statistics: _Optional[_Iterable[bytes]] = ..., rowIndexStride: _Optional[int] = ..., calendar: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("numberOfValues", "intStatistics", "doubleStatistics", "stringStatistics", "bucketStatistics", "decimalStatistics", "dateStatistics", "binaryStatistics", "timestampStatistics", "hasNull", "bytesOnDisk", "collectionStatistics")
    NUMBEROFVALUES_FIELD_NUMBER: _ClassVar[int]
    INTSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    DOUBLESTATISTICS_FIELD_NUMBER: _ClassVar[int]
    STRINGSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    BUCKETSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    DECIMALSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    DATESTATISTICS_FIELD_NUMBER: _ClassVar[int]
    BINARYSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMPSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    HASNULL_FIELD_NUMBER: _ClassVar[int]
    BYTESONDISK_FIELD_NUMBER: _ClassVar[int]
    COLLECTIONSTATISTICS_FIELD_NUMBER: _ClassVar[int]
    numberOfValues: int
    intStatistics: IntegerStatistics
    doubleStatistics: DoubleStatistics
    stringStatistics: StringStatistics
    bucketStatistics: BucketStatistics
    decimalStatistics: DecimalStatistics
    dateStatistics: DateStatistics
    binaryStatistics: BinaryStatistics
    timestampStatistics: TimestampStatistics
    hasNull: bool
    bytesOnDisk: int
    collectionStatistics: CollectionStatistics
    def __init__(self, numberOfValues: _Optional[int] = ..., intStatistics: _Optional[_Union[IntegerStatistics, _Mapping]] = ..., doubleStatistics: _Optional[_Union[DoubleStatistics, _Mapping]] = ..., stringStatistics: _Optional[_Union[StringStatistics, _Mapping]] = ..., bucketStatistics: _Optional[_Union[BucketStatistics, _Mapping]] = ..., decimalStatistics: _Optional[_Union[DecimalStatistics, _Mapping]] = ..., dateStatistics: _Optional[_Union[DateStatistics, _Mapping]] = ..., binaryStatistics: _Optional[_Union[BinaryStatistics, _Mapping]] = ..., timestampStatistics: _Optional[_Union[TimestampStatistics, _Mapping]] = ..., hasNull: bool = ..., bytesOnDisk: _Optional[int] = ..., collectionStatistics: _Optional[_Union[CollectionStatistics, _Mapping]] = ...) -> None: ...

class IntegerStatistics(_message.Message):
    __slots__ = ("minimum", "maximum", "sum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    minimum: int
    maximum: int
    sum: int
    def __init__(self, minimum: _Optional[int] = ..., maximum: _Optional[int] = ..., sum: _Optional[int] = ...) -> None: ...

class DoubleStatistics(_message.Message):
    __slots__ = ("minimum", "maximum", "sum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    minimum: float
    maximum: float
    sum: float
    def __init__(self, minimum: _Optional[float] = ..., maximum: _Optional[float] = ..., sum: _Optional[float] = ...) -> None: ...

class StringStatistics(_message.Message):
    __slots__ = ("minimum", "maximum", "sum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    minimum: bytes
    maximum: bytes
    sum: int
    def __init__(self, minimum: _Optional[bytes] = ..., maximum: _Optional[bytes] = ..., sum: _Optional[int] = ...) -> None: ...

class BucketStatistics(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, count: _Optional[_Iterable[int]] = ...) -> None: ...

class DecimalStatistics(_message.Message):
    __slots__ = ("minimum", "maximum", "sum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    minimum: str
    maximum: str
    sum: str
    def __init__(self, minimum: _Optional[str] = ..., maximum: _Optional[str] = ..., sum: _Optional[str] = ...) -> None: ...

class DateStatistics(_message.Message):
    __slots__ = ("minimum", "maximum")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    minimum: int
    maximum: int
    def __init__(self, minimum: _Optional[int] = ..., maximum: _Optional[int] = ...) -> None: ...

class BinaryStatistics(_message.Message):
    __slots__ = ("sum",)
    SUM_FIELD_NUMBER: _ClassVar[int]
    sum: int
    def __init__(self, sum: _Optional[int] = ...) -> None: ...

class TimestampStatistics(_message.Message):
    __slots__ = ("minimum", "maximum", "minimumUtc", "maximumUtc", "minimumNanos", "maximumNanos")
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MINIMUMUTC_FIELD_NUMBER: _ClassVar[int]
    MAXIMUMUTC_FIELD_NUMBER: _ClassVar[int]
    MINIMUMNANOS_FIELD_NUMBER: _ClassVar[int]
    MAXIMUMNANOS_FIELD_NUMBER: _ClassVar[int]
    minimum: int
    maximum: int
    minimumUtc: int
    maximumUtc: int
    minimumNanos: int
    maximumNanos: int
    def __init__(self, minimum: _Optional[int] = ..., maximum: _Optional[int] = ..., minimumUtc: _Optional[int] = ..., maximumUtc: _Optional[int] = ..., minimumNanos: _Optional[int] = ..., maximumNanos: _Optional[int] = ...) -> None: ...

class CollectionStatistics(_message.Message):
    __slots__ = ("minChildren", "maxChildren", "totalChildren")
    MINCHILDREN_FIELD_NUMBER: _ClassVar[int]
    MAXCHILDREN_FIELD_NUMBER: _ClassVar[int]
    TOTALCHILDREN_FIELD_NUMBER: _ClassVar[int]
    minChildren: int
    maxChildren: int
    totalChildren: int
    def __init__(self, minChildren: _Optional[int] = ..., maxChildren: _Optional[int] = ..., totalChildren: _Optional[int] = ...) -> None: ...

class StripeFooter(_message.Message):
    __slots__ = ("streams", "columns", "writerTimezone")
    STREAMS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    WRITERTIMEZONE_FIELD_NUMBER: _ClassVar[int]
    streams: _containers.RepeatedCompositeFieldContainer[Stream]
    columns: _containers.RepeatedCompositeFieldContainer[ColumnEncoding]
    writerTimezone: str
    def __init__(self, streams: _Optional[_Iterable[_Union[Stream, _Mapping]]] = ..., columns: _Optional[_Iterable[_Union[ColumnEncoding, _Mapping]]] = ..., writerTimezone: _Optional[str] = ...) -> None: ...

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
