"""What the names of directories prove of write ids, where no metastore can be asked."""

from __future__ import annotations

import pytest

from acidsql.acid.evidence import Evidence, evidence_of
from acidsql.acid.listed import FileEntry
from acidsql.errors import FormatError

MARKERS = {"base_0000003/_metadata_acid": b'{"thisFileVersion":"0","dataFormat":"compacted"}'}


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
    assert found.likely == (() if marked else (base,))


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
    assert (minor.likely, set(minor.unsure)) == (minor.compacted, set(minor.compacted))
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


def test_a_pair_of_one_transaction_of_which_one_is_empty_has_committed() -> None:
    """All rows of the range were deleted: the deletes still count."""
    found = evidence("delta_0000001_0000002_v0000021/", "delete_delta_0000001_0000002_v0000021/bucket_00000")  # fmt: skip
    assert (found.unfinished, len(found.compacted), found.likely) == ({}, 2, ())


def test_what_acidsql_compacted_is_sure_but_for_half_a_pair() -> None:
    """Its directories say what they were made of, and whether two of them belong together."""
    files = [FileEntry("delta_0000001_0000003/bucket_00000", 100, 0)]
    hidden = {"delta_0000001_0000003/_acidsql_inputs": b"[]"}
    whole = evidence_of(files, ["delta_0000001_0000003"], hidden.get)
    assert (whole.compacted, dict(whole.unsure)) == (("delta_0000001_0000003",), {})
    hidden["delta_0000001_0000003/_acidsql_with_delete_delta"] = b""
    half = evidence_of(files, ["delta_0000001_0000003"], hidden.get)
    assert (half.compacted, dict(half.unsure)) == ((), {"delta_0000001_0000003": (1, 3)})
    directories = ["delta_0000001_0000003", "delete_delta_0000001_0000003"]
    assert evidence_of(files, directories, hidden.get).likely == ("delete_delta_0000001_0000003",)


def test_an_inner_copy_is_passed_over() -> None:
    """A compaction that ran again has left it; another inner directory is an error."""
    files = [FileEntry("base_0000003_v0000021/bucket_00000", 100, 0)]
    files += [FileEntry("base_0000003_v0000021/base_0000003_v0000021/bucket_00000", 100, 5)]
    directories = ["base_0000003_v0000021", "base_0000003_v0000021/base_0000003_v0000021"]
    assert evidence_of(files, directories, {}.get).compacted == ("base_0000003_v0000021",)
    for other in (files[1]._replace(size=99), files[1]._replace(path=f"{directories[1]}/bucket_1")):
        with pytest.raises(FormatError, match="lies inside another directory"):
            evidence_of([files[0], other], directories, {}.get)
