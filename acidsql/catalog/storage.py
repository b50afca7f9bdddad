"""Which classes of Hive stand behind a file format: the table's storage in Hive's own terms."""

from __future__ import annotations

from acidsql.catalog.model import FileFormat, Storage, Table, TableKind

_IO = "org.apache.hadoop.hive.ql.io."
_TEXT_OUTPUT = f"{_IO}HiveIgnoreKeyTextOutputFormat"
_LAZY_SIMPLE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"

STORAGES: dict[FileFormat, Storage] = {
    FileFormat.ORC: Storage(
        input_format=f"{_IO}orc.OrcInputFormat",
        output_format=f"{_IO}orc.OrcOutputFormat",
        serde=f"{_IO}orc.OrcSerde",
    ),
    FileFormat.PARQUET: Storage(
        input_format=f"{_IO}parquet.MapredParquetInputFormat",
        output_format=f"{_IO}parquet.MapredParquetOutputFormat",
        serde=f"{_IO}parquet.serde.ParquetHiveSerDe",
    ),
    FileFormat.TEXTFILE: Storage(
        input_format=_TEXT_INPUT, output_format=_TEXT_OUTPUT, serde=_LAZY_SIMPLE
    ),
    FileFormat.SEQUENCEFILE: Storage(
        input_format="org.apache.hadoop.mapred.SequenceFileInputFormat",
        output_format=f"{_IO}HiveSequenceFileOutputFormat",
        serde=_LAZY_SIMPLE,
    ),
    FileFormat.RCFILE: Storage(
        input_format=f"{_IO}RCFileInputFormat",
        output_format=f"{_IO}RCFileOutputFormat",
        serde="org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    ),
    FileFormat.AVRO: Storage(
        input_format=f"{_IO}avro.AvroContainerInputFormat",
        output_format=f"{_IO}avro.AvroContainerOutputFormat",
        serde="org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    ),
    FileFormat.JSONFILE: Storage(
        input_format=_TEXT_INPUT,
        output_format=_TEXT_OUTPUT,
        serde="org.apache.hadoop.hive.serde2.JsonSerDe",
    ),
}

VIEW_STORAGE = Storage(
    input_format=_TEXT_INPUT, output_format=f"{_IO}IgnoreKeyTextOutputFormat", serde=""
)
"""What Hive writes down for a view, which has no files."""


def storage_of(table: Table) -> Storage:
    """The classes of ``table``, whether it names them or not."""
    if table.storage is not None:
        return table.storage
    return VIEW_STORAGE if table.kind is TableKind.VIEW else STORAGES[table.file_format]


def recognized(storage: Storage) -> tuple[FileFormat, Storage | None]:
    """The file format these classes mean, and the storage where the format alone does not say it
    all.
    """
    for file_format, known in STORAGES.items():
        if (storage.input_format, storage.output_format, storage.serde) == (
            known.input_format,
            known.output_format,
            known.serde,
        ):
            return file_format, storage if storage.serde_properties else None
    return FileFormat.OTHER, storage
