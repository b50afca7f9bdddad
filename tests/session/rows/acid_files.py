"""What a table's files must keep once their transactions have committed, whatever statements were
in them: read with pyarrow alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pyarrow import orc

from acidsql.catalog.model import Table, TableName
from acidsql.session import Session
from tests.spark.naive_reader import DIRECTORY, EVENT, AcidFile, Key, check_footer, tail_of


def check_files(session: Session, *names: str) -> None:
    """Checks the tables' files. AssertionError names what Hive would trip over, and hidden files
    that nobody needs any more.
    """
    for name in names:
        table = session.store.find_table(TableName("default", name))
        assert table is not None
        hidden = [p for p in Path(table.location).rglob("*") if p.name.startswith(".")]
        assert not hidden, f"left behind: {hidden}"
        for root in roots_of(session, table):
            check_root(table, root)


def roots_of(session: Session, table: Table) -> list[Path]:
    """The directories whose rows belong together: the table's, or that of each partition."""
    places = (
        [p.location for p in session.store.list_partitions(table)]
        if table.partition_columns
        else [table.location]
    )
    return [Path(place) for place in places if Path(place).is_dir()]


def check_root(table: Table, root: Path) -> None:
    kinds: dict[int, set[str]] = defaultdict(set)
    for directory in root.iterdir():
        if (name := DIRECTORY.fullmatch(directory.name)) is not None:
            kinds[write_id_of(directory.name)].add("base" if name[4] else "delta")
    assert {"base", "delta"} not in kinds.values(), (
        f"a delta beside a base of its own write id: {root}"
    )
    if table.is_insert_only:
        return
    inserted: set[Key] = set()
    deleted: set[Key] = set()
    for file in files_of(root):
        check_file(table, file)
        seen = deleted if file.directory.startswith("delete_") else inserted
        assert seen.isdisjoint(file.keys), (
            f"ids stand twice in {root}: {sorted(seen & set(file.keys))}"
        )
        seen |= set(file.keys)
    originals = {key for key in deleted if key[0] == 0}
    assert deleted - originals <= inserted, (
        f"deleted but never there: {sorted(deleted - originals - inserted)}"
    )


def files_of(root: Path) -> Iterator[AcidFile]:
    """The files of events; plain ones of the time before a table became transactional are not
    looked at.
    """
    for directory in sorted(root.iterdir()):
        if DIRECTORY.fullmatch(directory.name) is None:
            continue
        names = sorted(p.name for p in directory.iterdir())
        assert (directory / "_orc_acid_version").read_bytes() == b"2"
        names.remove("_orc_acid_version")
        assert names or directory.name.startswith("base_"), f"an empty {directory}"
        for name in names:
            path = directory / name
            # The rows themselves are left out: Arrow reads no timestamps before 1677.
            events = orc.ORCFile(path).read(columns=EVENT)
            bucket = int(name.removeprefix("bucket_"))
            yield AcidFile(
                directory=directory.name, bucket=bucket, tail=tail_of(path), events=events
            )


def check_file(table: Table, file: AcidFile) -> None:
    """Ids rise and belong to the file; no delete event is aimed at a row of the transaction it
    belongs to; the footer is right.
    """
    name = DIRECTORY.fullmatch(file.directory)
    assert name is not None
    write_id, statement, deletes, keys = (
        write_id_of(file.directory),
        name[3],
        bool(name[1]),
        file.keys,
    )
    where = f"{file.directory}/bucket_{file.bucket:05d}"
    assert keys, f"{where} is empty"
    assert keys == sorted(set(keys)), f"the ids of {where} must rise strictly"
    assert {bucket >> 16 & 4095 for _, bucket, _ in keys} == {file.bucket}, where
    assert set(file.events.column("currentTransaction").to_pylist()) == {write_id}, where
    assert set(file.events.column("operation").to_pylist()) == {2 if deletes else 0}, where
    origins = {original for original, _, _ in keys}
    if deletes:
        assert write_id not in origins, f"{where} deletes a row of its own write id"
    else:
        assert origins == {write_id}, where
        if statement is not None:
            assert {bucket & 4095 for _, bucket, _ in keys} == {int(statement)}, (
                f"{where} holds rows of another statement"
            )
    check_footer(table, file, len(keys), deletes=deletes)


def write_id_of(directory: str) -> int:
    name = DIRECTORY.fullmatch(directory)
    assert name is not None
    return int(name[2] or name[4])
