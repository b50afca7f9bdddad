"""The listing of a warehouse: names and row counts, nothing that changes from run to run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from acidsql.testing.texts import changes, take_listing


def test_orc_files_show_their_rows_and_the_store_is_left_out(tmp_path: Path) -> None:
    """ORC files by whatever name have a row count, other files and empty directories
    only a name.
    """
    for folder in ("_acidsql", "t/delta_0000001_0000001_0000", "t/empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "_acidsql" / "metastore.db").write_bytes(b"store")
    (tmp_path / "t/delta_0000001_0000001_0000/_orc_acid_version").write_bytes(b"2")
    orc.write_table(
        pa.table({"a": [1, 2, 3]}), tmp_path / "t/delta_0000001_0000001_0000/bucket_00000"
    )
    assert take_listing(tmp_path) == {
        "t/delta_0000001_0000001_0000/_orc_acid_version": "",
        "t/delta_0000001_0000001_0000/bucket_00000": " rows=3",
        "t/empty/": "",
    }


def test_changes_are_what_came_and_went() -> None:
    """New, gone and changed files show, the others do not."""
    before = {"t/a": " rows=1", "t/b": "", "t/c": " rows=2"}
    assert changes(before, {"t/b": "", "t/c": " rows=3", "t/d": ""}) == [
        "- t/a",
        "+ t/c rows=3",
        "+ t/d",
    ]


def test_an_empty_directory_that_is_filled_is_not_gone() -> None:
    """A table's folder shows when it appears empty and when it goes, not when its first
    file comes.
    """
    assert changes({"t/": "", "u/": ""}, {"t/a": ""}) == ["+ t/a", "- u/"]


def test_a_missing_warehouse_is_empty(tmp_path: Path) -> None:
    """Before the first statement there is nothing to list."""
    assert take_listing(tmp_path / "nowhere") == {}
