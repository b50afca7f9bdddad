"""What the names of directories prove of write ids, where no metastore can be asked."""

from __future__ import annotations

import pytest

from acidsql.acid.acid_directory import FileEntry
from acidsql.acid.evidence import Evidence, evidence_of

MARKERS = {"base_0000003": b'{"thisFileVersion":"0","dataFormat":"compacted"}'}


def evidence(*paths: str, marked: bool = False) -> Evidence:
    """Paths that end with ``/`` are directories without files; all other files have rows."""
    files = [FileEntry(path, 100, 0) for path in paths if not path.endswith("/")]
    directories = {path.rpartition("/")[0] for path in paths if "/" in path}
    return evidence_of(
        files, sorted(directories), lambda path: MARKERS.get(path) if marked else None
    )


def test_deltas_and_overwrites_prove_nothing() -> None:
    """Each could be of a transaction that was aborted or is open."""
    found = evidence(
        "delta_0000001_0000001_0000/bucket_00000",
        "base_0000002/000000_0",
        "delta_0000003_0000003_0000/bucket_00000",
        "delete_delta_0000003_0000003_0000/bucket_00000",
    )
    assert found.unproven == {
        1: ("delta_0000001_0000001_0000",),
        2: ("base_0000002",),
        3: ("delete_delta_0000003_0000003_0000", "delta_0000003_0000003_0000"),
    }
    assert (found.highest, found.compacted) == (3, ())


@pytest.mark.parametrize(
    ("base", "marked"), [("base_0000003_v0000021", False), ("base_0000003", True)]
)
def test_a_compaction_proves_what_it_took_in(base: str, marked: bool) -> None:
    """Of Hive 4 by the name of its transaction, of Hive 3 by its mark; what lies above is open."""
    found = evidence(
        f"{base}/bucket_00000",
        "delta_0000002_0000002_0000/bucket_00000",
        "delta_0000004_0000004_0000/bucket_00000",
        marked=marked,
    )
    assert found.compacted == (base,)
    assert found.unproven == {4: ("delta_0000004_0000004_0000",)}


def test_an_empty_base_beside_its_inputs_never_committed() -> None:
    """A compaction that was given up leaves one (HIVE-29567); its inputs are still what counts."""
    found = evidence(
        "delta_0000001_0000001_0000/bucket_00000",
        "delta_0000003_0000003_0000/bucket_00000",
        "base_0000003_v0000021/",
    )
    assert found.unfinished == {21: "base_0000003_v0000021"}
    assert (tuple(found.unproven), found.compacted) == ((1, 3), ())


def test_an_empty_base_alone_is_an_empty_table() -> None:
    """All rows were deleted, and a compaction has taken the deltas in."""
    found = evidence("base_0000003_v0000021/", "delta_0000004_0000004_0000/bucket_00000")
    assert (found.unfinished, found.compacted) == ({}, ("base_0000003_v0000021",))
    assert tuple(found.unproven) == (4,)


def test_a_range_without_a_transaction_may_be_a_streaming_batch() -> None:
    """Each of its transactions may have been aborted; only beside deletes it is Hive 3's minor."""
    assert tuple(evidence("delta_0000002_0000004/bucket_00000").unproven) == (2, 3, 4)
    minor = evidence(
        "delta_0000001_0000003/bucket_00000", "delete_delta_0000001_0000003/bucket_00000"
    )
    assert (dict(minor.unproven), len(minor.compacted)) == ({}, 2)
    assert evidence("delta_0000001_0000003_v0000009/bucket_00000").unproven == {}


def test_originals_are_no_question() -> None:
    """Files from before the table had transactions are always there."""
    found = evidence("000000_0", "delete_delta_10000001_10000001_0000/bucket_00000")
    assert (found.originals, tuple(found.unproven)) == (1, (10_000_001,))


def test_a_minor_compaction_takes_no_overwrite_in() -> None:
    """It passed over one that was aborted, which a reader would take for all that there is."""
    found = evidence(
        "delta_0000001_0000001_0000/bucket_00000",
        "base_0000002/bucket_00000",
        "delta_0000003_0000003_0000/bucket_00000",
        "delta_0000001_0000003_v0000021/bucket_00000",
    )
    assert found.unproven == {2: ("base_0000002",)}
