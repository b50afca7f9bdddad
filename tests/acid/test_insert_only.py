"""Which files of an insert-only table are read: visibility is a matter of directories alone."""

from __future__ import annotations

import pytest

from acidsql.acid.ids import ValidWriteIdList
from acidsql.acid.listed import FileEntry, visible_files
from acidsql.acid.snapshot import choose
from acidsql.errors import FormatError


def seen(write_ids: str, *paths: str) -> list[str]:
    valid = ValidWriteIdList.parse(f"d.t:{write_ids}")
    chosen = choose([FileEntry(path=path, size=1, mtime_ns=0) for path in paths], valid)
    return sorted(file.path for file in visible_files(chosen, valid))


def test_files_count_whatever_their_names() -> None:
    """LOAD DATA keeps names, Tez makes sub-directories; hidden names are no data."""
    paths = (
        "delta_0000001_0000001_0000/000000_0",
        "delta_0000001_0000001_0000/b.csv",
        "delta_0000001_0000001_0000/HIVE_UNION_SUBDIR_1/0_0",
    )
    assert seen("1:9223372036854775807::", *paths, "delta_0000001_0000001_0000/_tmp") == sorted(
        paths
    )


def test_originals_are_read_until_there_is_a_base() -> None:
    """Of a converted table whose files stayed beside the deltas."""
    assert seen("2:9223372036854775807::", "000000_0", "delta_0000001_0000001_0000/000000_0") == [
        "000000_0",
        "delta_0000001_0000001_0000/000000_0",
    ]
    assert seen("2:9223372036854775807::", "000000_0", "base_0000002/x") == ["base_0000002/x"]


def test_open_and_aborted_writes_are_not_seen() -> None:
    """3 is open, 2 aborted, 5 newer than the snapshot."""
    paths = [f"delta_000000{n}_000000{n}_0000/000000_0" for n in (1, 2, 3, 4, 5)]
    assert seen("4:3:3:2", *paths) == [paths[0], paths[3]]
    assert seen("4:3:3:2", *paths, "base_0000003/000000_0") == [paths[0], paths[3]]


def test_a_compacted_range_is_read_if_all_of_it_is_decided() -> None:
    """Rows of aborted writes were left out of it; those of open ones could not be told apart."""
    assert seen("4:9223372036854775807::2", "delta_0000001_0000003/000000_0") == [
        "delta_0000001_0000003/000000_0"
    ]
    with pytest.raises(FormatError, match="a part only"):
        seen("4:2:2:", "delta_0000001_0000003/000000_0")
    with pytest.raises(FormatError, match="a part only"):
        seen("2:9223372036854775807::", "delta_0000001_0000003/000000_0")


def test_delete_events_have_no_place_there() -> None:
    """Nothing could apply them: rows have no ids."""
    with pytest.raises(FormatError, match="delete events"):
        seen("2:9223372036854775807::", "delete_delta_0000002_0000002_0000/bucket_00000")
