"""The ROW__IDs of rows in original files, which hold none. Hive:
VectorizedOrcAcidRowBatchReader.computeOffsetAndBucket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acidsql.acid.bucket_codec import encode
from acidsql.errors import FormatError
from acidsql.storage.footers import ScanFile


def first_rows(files: Sequence[ScanFile]) -> Callable[[ScanFile], int]:
    """The row number each original file begins with: rows are counted through the files of a bucket
    in the order of their paths.
    """
    first: dict[str, int] = {}
    counts: dict[tuple[object, ...], int] = {}
    for file in sorted(files, key=lambda f: f.path):
        key = (
            file.partition_number,
            file.file.min_write_id,
            file.file.max_write_id,
            file.file.statement_id,
            file.file.bucket,
        )
        first[file.path] = counts.get(key, 0)
        counts[key] = first[file.path] + file.rows
    return lambda file: first[file.path]


def bucket_property(file: ScanFile) -> int:
    """The bucket property of an original file's rows. FormatError if its name tells no bucket."""
    if file.file.bucket is None:
        raise FormatError(
            f'file "{file.path}" has no bucket number in its name',
            detail="so its rows have no ROW__ID",
        )
    return encode(file.file.bucket, file.file.statement_id)
