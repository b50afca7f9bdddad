"""The choice of directories: against Hive's getAcidState, and against a table whose true contents
the test knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.acid.ids import (
    NO_STATEMENT,
    Base,
    DeleteDelta,
    Delta,
    StatementId,
    TxnId,
    ValidCleanerWriteIdList,
    ValidCompactorWriteIdList,
    ValidTxnList,
    ValidWriteIdList,
    WriteId,
)
from acidsql.acid.listed import AcidDirectory, Directory, FileEntry
from acidsql.acid.snapshot import (
    INPUTS_FILE,
    WITH_DELETE_DELTA,
    WITH_DELTA,
    BaseKind,
    choose,
    inputs_text,
    parse_marker,
)
from acidsql.errors import FormatError, SnapshotTooOldError

LISTS: dict[str, type[ValidWriteIdList]] = {
    "ValidReaderWriteIdList": ValidWriteIdList,
    "ValidCompactorWriteIdList": ValidCompactorWriteIdList,
    "ValidCleanerWriteIdList": ValidCleanerWriteIdList,
}
OWN = 0
"""A compaction of our own, beside those of Hive 3 and 4."""
MARKERS = {
    "compacted": b'{"thisFileVersion":"0","dataFormat":"compacted"}',
    "truncated": b'{"thisFileVersion":"0","dataFormat":"truncated"}',
    "text": b'{"thisFileVersion":"0","dataFormat":"other"}',
}


def entry(path: str, size: int = 1) -> FileEntry:
    return FileEntry(path=path, size=size, mtime_ns=0)


# Hive's answers


@dataclass(frozen=True)
class Departure:
    """A case in which we do not follow Hive 4: what differs from its answer (or: we refuse), and
    why.
    """

    reason: str
    instead: dict[str, Any] | None


def delta(name: str, low: int, high: int, statement: int = NO_STATEMENT) -> dict[str, Any]:
    return {"name": name, "min": low, "max": high, "stmt": statement, "delete": False, "raw": False}


D1 = delta("delta_0000001_0000001_0000", 1, 1, 0)
D3 = delta("delta_0000003_0000003_0000", 3, 3, 0)
OURS = {
    "IOW open, equal to minOpen": Departure(
        "Hive 4 reads an INSERT OVERWRITE that is not committed; Hive 3 fails",
        {"base": None, "deltas": [D1, D3], "obsolete": []},
    ),
    "two minor outputs of one range": Departure(
        "Hive 4 reads every row of the range twice",
        {
            "deltas": [
                delta("delta_0000001_0000003_v0000035", 1, 3),
                delta("delta_0000004_0000004_0000", 4, 4, 0),
            ],
            "obsolete": ["delta_0000001_0000003_v0000030"],
        },
    ),
    "empty IOW: nothing at all in the directory": Departure(
        "Hive 4 does not see an empty directory on this file system; on others it does, and Hive 3 does everywhere",
        {"base": "base_0000002", "deltas": [], "obsolete": ["delta_0000001_0000001_0000"]},
    ),
    "no txn list given": Departure(
        "Hive 4 wants a list even where no directory has a visibility transaction",
        {
            "base": "base_0000002",
            "base_raw": False,
            "deltas": [D3],
            "originals": [],
            "obsolete": [D1["name"]],
            "aborted": [],
        },
    ),
    "IOW over originals": Departure(
        "we name files, Hive 4 the files and their directory",
        {"obsolete": ["000000_0", "000001_0_copy_1", "sub/000000_0"]},
    ),
    "delta inside a plain sub-directory": Departure(
        "Hive 3 takes it for originals, Hive 4 for a delta: refused", None
    ),
}


def read_case(case: dict[str, Any]) -> dict[str, Any]:
    directories, files, contents = [], [], {}
    for text in case["files"]:
        path, _, content = text.partition("=")
        contents[path] = content
        if path.endswith("/"):
            directories.append(path[:-1])
        else:
            files.append(entry(path, size=len(content)))
    found = choose(
        files,
        LISTS[case["list_class"]].parse(case["writeids"]),
        ValidTxnList.parse(case["txns"]) if case["txns"] else None,
        directories=directories,
        is_original=lambda path: contents[path] == "raw",
        read_marker=lambda path: MARKERS.get(contents.get(f"{path}/_metadata_acid", "")),
    )
    return {
        "base": None if found.base is None else found.base.path,
        "base_raw": found.base is not None and found.base.original,
        "deltas": [described(d) for d in found.current],
        "originals": [f.path for f in found.originals if f.size or not case["ignore_empty_files"]],
        "obsolete": list(found.obsolete),
        "aborted": list(found.aborted),
    }


def described(directory: Directory) -> dict[str, Any]:
    name = directory.name
    assert not isinstance(name, Base)
    return {
        "name": directory.path,
        "min": name.min_write_id,
        "max": name.max_write_id,
        "stmt": name.statement_id,
        "delete": isinstance(name, DeleteDelta),
        "raw": directory.original,
    }


def test_chooses_as_hive(shared: Path) -> None:
    """Hive 4's choice (or refusal) in every case, but for the named exceptions."""
    cases = json.loads((shared / "vectors" / "acid_state.json").read_text(encoding="utf-8"))[
        "cases"
    ]
    used = set()
    for case in cases:
        want = case.get("both") or case["hive4"]
        ours = OURS.get(case["about"])
        if ours is not None:
            used.add(case["about"])
            want = {"error": ours.reason} if ours.instead is None else {**want, **ours.instead}
            want.pop("error" if ours.instead else "", None)
            want.pop("message", None)
        if "error" in want:
            with pytest.raises((FormatError, SnapshotTooOldError)):
                read_case(case)
        else:
            assert read_case(case) == want, case["about"]
    assert used == set(OURS)


# A table whose contents are known


@dataclass(frozen=True)
class Event:
    """All rows that one statement inserted (or deleted) under one write id; write id 0 stands for
    an original file.
    """

    write_id: int
    statement: int
    delete: bool = False


@dataclass
class Model:
    """A table's directory as writers and compactors of both versions of Hive leave it; nothing is
    ever cleaned.
    """

    originals: bool = False
    next_txn: int = 1
    states: dict[int, str] = field(default_factory=dict)  # of write ids
    overwrites: set[int] = field(default_factory=set)
    events: dict[str, list[Event]] = field(default_factory=dict)  # by directory
    markers: set[str] = field(default_factory=set)
    hidden: dict[str, bytes] = field(default_factory=dict)  # files of our own compactions
    txns: dict[int, str] = field(default_factory=dict)  # of compactors

    def write(self, kinds: str, state: str) -> None:
        """A transaction that writes; one letter a statement: insert, delete or both (an update)."""
        write_id = self.begin(state)
        for statement, kind in enumerate(kinds):
            names = {Delta: kind in "iu", DeleteDelta: kind in "du"}
            for directory in (cls for cls, wanted in names.items() if wanted):
                name = directory(
                    min_write_id=WriteId(write_id),
                    max_write_id=WriteId(write_id),
                    statement_id=StatementId(statement),
                )
                self.events[str(name)] = [Event(write_id, statement, directory is DeleteDelta)]

    def overwrite(self, state: str) -> None:
        write_id = self.begin(state)
        self.overwrites.add(write_id)
        self.events[str(Base(write_id=WriteId(write_id)))] = [Event(write_id, 0)]

    def stream(self, states: list[str]) -> None:
        """A batch of write ids in one directory, each decided on its own."""
        ids = [self.begin(state) for state in states]
        name = Delta(
            min_write_id=WriteId(ids[0]), max_write_id=WriteId(ids[-1]), statement_id=StatementId(0)
        )
        self.events[str(name)] = [Event(i, 0) for i in ids]

    def begin(self, state: str) -> int:
        self.next_txn += 1
        write_id = len(self.states) + 1
        self.states[write_id] = state
        return write_id

    def finish(self, which: int, state: str) -> None:
        still_open = [w for w, s in self.states.items() if s == "open"]
        if still_open:
            self.states[still_open[which % len(still_open)]] = state

    def compact(self, major: bool, version: int, state: str) -> None:
        """A compactor that has not committed may have written anything, here: nothing but an empty
        directory.
        """
        txn = self.next_txn
        self.next_txn += 1
        visible = self.txn_list()
        self.txns[txn] = state if version in (4, OWN) else "committed"
        reads = ValidCompactorWriteIdList.of(self.write_ids())
        found = self.choose(reads, visible)
        deltas = found.current
        if not deltas or (len(deltas) == 1 and not major):
            return
        low = min(d.name.min_write_id for d in deltas if not isinstance(d.name, Base))
        high = max(d.name.max_write_id for d in deltas if not isinstance(d.name, Base))
        visibility = TxnId(txn if version == 4 else 0)
        rows = list(self.rows(found, reads))
        dead = self.txns[txn] != "committed" and version == 4
        if major:
            name = str(Base(write_id=high, visibility_txn_id=visibility))
            if name not in self.events:
                self.events[name] = [] if dead else [e for e in rows if not e.delete]
                self.markers |= {name} if version != 4 else set()
                if version == OWN:
                    self.note_inputs(name, found)
            return
        inside = {e for d in deltas for e in self.events[d.path]}
        outputs = {}
        for cls in (Delta, DeleteDelta):
            kept = [e for e in rows if e in inside and e.delete == (cls is DeleteDelta)]
            name = str(cls(min_write_id=low, max_write_id=high, visibility_txn_id=visibility))
            if kept and name not in self.events:
                outputs[name] = [] if dead else kept
        if version == OWN:
            self.publish_pair(outputs, state)
        else:
            self.events |= outputs

    def publish_pair(self, outputs: dict[str, list[Event]], state: str) -> None:
        """Ours of both kinds; it is killed between the two renames if it is not committed, and then
        either may be the first.
        """
        if len(outputs) == 2:
            for name in outputs:
                mark = WITH_DELTA if name.startswith("delete_") else WITH_DELETE_DELTA
                self.hidden[f"{name}/{mark}"] = b""
            if state != "committed":
                outputs.pop(max(outputs) if state == "open" else min(outputs))
        self.events |= outputs

    def note_inputs(self, name: str, found: AcidDirectory) -> None:
        inputs = [d.path for d in (found.base, *found.current) if d is not None]
        inputs += [file.path for file in found.originals]
        self.hidden[f"{name}/{INPUTS_FILE}"] = inputs_text(inputs)

    def write_ids(self) -> ValidWriteIdList:
        return ValidWriteIdList(
            table="db.t",
            high_watermark=WriteId(len(self.states)),
            open=tuple(WriteId(w) for w, s in self.states.items() if s == "open"),
            aborted=tuple(WriteId(w) for w, s in self.states.items() if s == "aborted"),
        )

    def txn_list(self) -> ValidTxnList:
        return ValidTxnList(
            high_watermark=TxnId(self.next_txn - 1),
            open=tuple(TxnId(t) for t, s in self.txns.items() if s == "open"),
            aborted=tuple(TxnId(t) for t, s in self.txns.items() if s == "aborted"),
        )

    def files(self) -> list[FileEntry]:
        return [entry("000000_0")] * self.originals + [
            entry(f"{name}/bucket_00000") for name in self.events
        ]

    def choose(self, write_ids: ValidWriteIdList, txns: ValidTxnList) -> AcidDirectory:
        marker = MARKERS["compacted"]
        return choose(
            self.files(),
            write_ids,
            txns,
            read_marker=lambda path: marker if path in self.markers else None,
            read_hidden=self.hidden.get,
        )

    def rows(self, found: AcidDirectory, write_ids: ValidWriteIdList) -> Iterator[Event]:
        """What a reader gets from the chosen files, the filter by currentTransaction included."""
        for file in (*found.insert_files, *found.delete_files):
            events = (
                [Event(0, 0)] if file.path == "000000_0" else self.events[file.path.split("/")[0]]
            )
            for event in events:
                if not file.needs_row_filter or write_ids.is_valid(WriteId(event.write_id)):
                    yield event

    def truth(self, write_ids: ValidWriteIdList) -> set[Event]:
        """The inserts that a reader with this list must see."""
        floor = max((w for w in self.overwrites if write_ids.is_valid(WriteId(w))), default=0)
        written = {e for events in self.events.values() for e in events if not e.delete}
        seen = {
            e
            for e in written
            if e.write_id >= floor and e.write_id > 0 and write_ids.is_valid(WriteId(e.write_id))
        }
        return seen | ({Event(0, 0)} if self.originals and not floor else set())


outcomes = st.sampled_from(["committed", "committed", "committed", "aborted", "open"])
writes = st.tuples(st.just("write"), st.text("iud", min_size=1, max_size=3), outcomes)
compactions = st.tuples(
    st.just("compact"),
    st.booleans(),
    st.sampled_from([3, 4, OWN, OWN]),
    st.sampled_from(["committed", "committed", "open", "aborted"]),
)
actions = st.one_of(
    writes,
    writes,
    st.tuples(st.just("stream"), st.lists(outcomes, min_size=1, max_size=4)),
    st.tuples(st.just("overwrite"), outcomes),
    st.tuples(
        st.just("finish"), st.integers(0, 5), st.sampled_from(["committed", "committed", "aborted"])
    ),
    compactions,
    compactions,
    st.tuples(st.just("snapshot")),
)
Snapshot = tuple[ValidWriteIdList, ValidTxnList]


@st.composite
def tables(
    draw: st.DrawFn, actions: st.SearchStrategy[Any] = actions
) -> tuple[Model, list[Snapshot]]:
    """A table after up to 25 actions, and the snapshots taken on the way, the last one
    at the end.
    """
    model = Model(originals=draw(st.booleans()))
    snapshots: list[Snapshot] = []
    for name, *arguments in draw(st.lists(actions, min_size=1, max_size=25)):
        if name == "snapshot":
            snapshots.append((model.write_ids(), model.txn_list()))
        else:
            getattr(model, name)(*arguments)
    return model, [*snapshots, (model.write_ids(), model.txn_list())]


@settings(max_examples=300)
@given(table=tables())
def test_every_visible_row_is_read_once(table: tuple[Model, list[Snapshot]]) -> None:
    """Whatever writers and compactors of either version did, each reader, also an old one, gets its
    rows: none lost, none twice.

    Only a reader too old for a Hive 3 compaction may be told so instead; ours name what they were
    made from, and one killed between its two renames has changed nothing.
    """
    model, snapshots = table
    for write_ids, txns in snapshots:
        try:
            found = model.choose(write_ids, txns)
        except (FormatError, SnapshotTooOldError):
            assert any(f"{base}/{INPUTS_FILE}" not in model.hidden for base in model.markers)
            assert write_ids != model.write_ids()
            continue
        rows = list(model.rows(found, write_ids))
        inserts = [e for e in rows if not e.delete]
        assert len(inserts) == len(set(inserts))
        assert set(inserts) == model.truth(write_ids)


@given(table=tables())
def test_every_visible_delete_is_read_once(table: tuple[Model, list[Snapshot]]) -> None:
    """Above the base, the delete events of valid write ids are all there, once."""
    model, snapshots = table
    for write_ids, txns in snapshots:
        try:
            found = model.choose(write_ids, txns)
        except (FormatError, SnapshotTooOldError):
            continue
        deletes = [e for e in model.rows(found, write_ids) if e.delete]
        floor = (
            0
            if found.base is None or not isinstance(found.base.name, Base)
            else found.base.name.write_id
        )
        written = {e for events in model.events.values() for e in events if e.delete}
        assert len(deletes) == len(set(deletes))
        assert set(deletes) == {
            e for e in written if e.write_id > floor and write_ids.is_valid(WriteId(e.write_id))
        }


OWN_ACTIONS = actions.filter(
    lambda action: action[0] != "overwrite" and (action[0] != "compact" or action[2] == OWN)
)
"""Those that say what they took the place of: of what an overwriting hides only the store knows
whether it is gone.
"""


@settings(max_examples=300)
@given(table=tables(OWN_ACTIONS), data=st.data())
def test_a_reader_of_what_was_cleaned_is_told(
    table: tuple[Model, list[Snapshot]], data: st.DataObject
) -> None:
    """Some of what is obsolete for the newest reader is gone, as by a cleaner that was killed: an
    older one gets its rows and delete events, or is told that it is too old; never fewer.
    """
    model, snapshots = table
    truths = [model.truth(write_ids) for write_ids, _ in snapshots]
    whole = dict(model.events)
    obsolete = [path for path in model.choose(*snapshots[-1]).obsolete if path in model.events]
    for path in data.draw(st.sets(st.sampled_from(obsolete)) if obsolete else st.just(set())):
        del model.events[path]
    for (write_ids, txns), truth in zip(snapshots, truths, strict=True):
        try:
            found = model.choose(write_ids, txns)
        except SnapshotTooOldError:
            assert write_ids != snapshots[-1][0]
            continue
        rows = list(model.rows(found, write_ids))
        inserts = [e for e in rows if not e.delete]
        assert len(inserts) == len(set(inserts))
        assert set(inserts) == truth
        floor = found.base.name.write_id if found.base and isinstance(found.base.name, Base) else 0
        deletes = {e for events in whole.values() for e in events if e.delete}
        assert {e for e in rows if e.delete} == {
            e for e in deletes if e.write_id > floor and write_ids.is_valid(WriteId(e.write_id))
        }


def test_an_older_base_does_not_stand_for_what_a_newer_one_took_in() -> None:
    """Where a delta between the two is gone that the reader sees, it is told; one that it does not
    see, or that nobody says was there, is not missed.
    """

    def read(top: int, inputs: bytes | None) -> AcidDirectory:
        return choose(
            [entry("base_0000001/bucket_00000"), entry("base_0000005/bucket_00000")],
            ValidWriteIdList(table="db.t", high_watermark=WriteId(top)),
            read_marker=lambda _: MARKERS["compacted"],
            read_hidden=lambda path: inputs if path == f"base_0000005/{INPUTS_FILE}" else None,
        )

    inputs = inputs_text(["000000_0", "base_0000001", "delta_0000003_0000005"])
    with pytest.raises(SnapshotTooOldError, match='"base_0000005", is newer than the snapshot'):
        read(4, inputs)
    for found in (read(2, inputs), read(4, inputs_text(["base_0000001"])), read(4, None)):
        assert found.base is not None
        assert found.base.path == "base_0000001"
    newest = read(5, inputs).base
    assert newest is not None
    assert newest.path == "base_0000005"


# Any listing at all


numbers = st.integers(1, 9)
visibilities = st.sampled_from([0, 0, 0, 21, 22, 23])


@st.composite
def directory_names(draw: st.DrawFn) -> str:
    visibility = TxnId(draw(visibilities))
    low, high = sorted((draw(numbers), draw(numbers)))
    kind = draw(st.sampled_from([Base, Delta, DeleteDelta]))
    if kind is Base:
        return str(Base(write_id=WriteId(low), visibility_txn_id=visibility))
    statement = NO_STATEMENT if low != high else StatementId(draw(st.integers(-1, 2)))
    return str(
        kind(
            min_write_id=WriteId(low),
            max_write_id=WriteId(high),
            statement_id=statement,
            visibility_txn_id=visibility,
        )
    )


listings = st.lists(directory_names(), max_size=12, unique=True)
TXNS = ValidTxnList(high_watermark=TxnId(30), open=(TxnId(22),), aborted=(TxnId(23),))


@st.composite
def readers(draw: st.DrawFn) -> ValidWriteIdList:
    top = draw(st.integers(0, 9))
    open_ids = draw(st.frozensets(st.integers(1, 9), max_size=3))
    aborted = draw(st.frozensets(st.integers(1, 9), max_size=4)) - open_ids
    return ValidWriteIdList(
        table="db.t",
        high_watermark=WriteId(top),
        open=tuple(WriteId(i) for i in open_ids if i <= top),
        aborted=tuple(WriteId(i) for i in aborted if i <= top),
    )


def pick(
    names: list[str],
    write_ids: ValidWriteIdList,
    originals: tuple[str, ...] = ("000000_0", "sub/000001_0"),
) -> AcidDirectory | None:
    """The choice, or None where the reader is too old."""
    files = [entry(f"{name}/bucket_00000") for name in names] + [entry(path) for path in originals]
    try:
        return choose(files, write_ids, TXNS)
    except SnapshotTooOldError as error:
        assert "not enough history" in error.message  # noqa: PT017  (only this refusal is one of the reader, not of the layout)
        return None


@given(names=listings, write_ids=readers())
def test_one_fate_each(names: list[str], write_ids: ValidWriteIdList) -> None:
    """A directory or original is chosen, obsolete, aborted or invisible: never two of them, and
    nothing is made up.
    """
    found = pick(names, write_ids)
    if found is None:
        return
    chosen = [d.path for d in (found.base, *found.current) if d is not None] + [
        f.path for f in found.originals
    ]
    all_fates = [*chosen, *found.obsolete, *found.aborted]
    assert len(all_fates) == len(set(all_fates))
    assert set(all_fates) <= {*names, "000000_0", "sub/000001_0"}
    assert {d.path for d in found.current} == {
        d.path for d in (*found.deltas, *found.delete_deltas)
    }


@given(names=listings, write_ids=readers(), random=st.randoms(use_true_random=False))
def test_the_order_of_a_listing_means_nothing(
    names: list[str], write_ids: ValidWriteIdList, random: Any
) -> None:
    """File systems list as they like."""
    shuffled = names.copy()
    random.shuffle(shuffled)
    assert pick(shuffled, write_ids) == pick(names, write_ids)


@given(names=listings, write_ids=readers(), data=st.data())
def test_what_is_not_valid_changes_nothing(
    names: list[str], write_ids: ValidWriteIdList, data: st.DataObject
) -> None:
    """One more delta or overwrite of an aborted, open or newer transaction leaves every chosen file
    as it was.
    """
    invalid = [i for i in range(1, 15) if not write_ids.is_valid(WriteId(i))]
    write_id = WriteId(data.draw(st.sampled_from(invalid)))
    one = StatementId(7)
    more = data.draw(
        st.sampled_from(
            [
                Delta(min_write_id=write_id, max_write_id=write_id, statement_id=one),
                DeleteDelta(min_write_id=write_id, max_write_id=write_id, statement_id=one),
                Base(write_id=write_id),
            ]
        )
    )
    before, after = pick(names, write_ids), pick(sorted({*names, str(more)}), write_ids)
    if before is None or after is None:
        assert before is after
    else:
        assert (after.insert_files, after.delete_files) == (
            before.insert_files,
            before.delete_files,
        )


@given(names=listings, write_ids=readers())
def test_what_is_obsolete_or_aborted_can_be_removed(
    names: list[str], write_ids: ValidWriteIdList
) -> None:
    """Without the obsolete and aborted directories the choice is the same: a cleaner may trust the
    lists.
    """
    found = pick(names, write_ids)
    if found is not None:
        gone = {*found.obsolete, *found.aborted}
        left = pick(
            [n for n in names if n not in gone],
            write_ids,
            tuple(p for p in ("000000_0", "sub/000001_0") if p not in gone),
        )
        assert left is not None
        assert (left.insert_files, left.delete_files) == (found.insert_files, found.delete_files)


# Files


def reads_all(*paths: str, size: int = 1, **options: Any) -> AcidDirectory:
    write_ids = ValidWriteIdList(table="db.t", high_watermark=WriteId(99))
    return choose([entry(path, size) for path in paths], write_ids, **options)


def test_bucket_files_only() -> None:
    """Files of deltas are called bucket_N or bucket_N_A; hidden names are not part of the table,
    and others are not passed over.
    """
    here = "delta_0000001_0000001_0000"
    found = reads_all(
        *(f"{here}/{n}" for n in ("bucket_00001", "bucket_00002_3", "_orc_acid_version", ".x"))
    )
    assert [(f.path, f.bucket, f.original) for f in found.insert_files] == [
        (f"{here}/bucket_00001", 1, False),
        (f"{here}/bucket_00002_3", 2, False),
    ]
    for name in ("part-0.orc", "bucket_00001.orc", "bucket_00001_1_1", "bucket_", "data"):
        with pytest.raises(FormatError, match=f'file "{here}/{name}" is not named like'):
            _ = reads_all(f"{here}/bucket_00001", f"{here}/{name}").insert_files
        with pytest.raises(FormatError, match=f'file "delete_{here}/{name}" is not named like'):
            _ = reads_all(f"delete_{here}/{name}").delete_files


def test_raw_files() -> None:
    """LOAD DATA's files and originals know their bucket and the write id their rows get."""
    found = reads_all("delta_0000007_0000007_0002/000001_0", "000003_0_copy_1", "sub/odd-name")
    assert [
        (f.path, f.bucket, f.original, f.max_write_id, f.statement_id) for f in found.insert_files
    ] == [
        ("000003_0_copy_1", 3, True, 0, NO_STATEMENT),
        ("sub/odd-name", None, True, 0, NO_STATEMENT),
        ("delta_0000007_0000007_0002/000001_0", 1, True, 7, 2),
    ]


def test_empty_files() -> None:
    """A file without a byte holds no rows; one that should hold deletes is not trusted."""
    found = reads_all(
        "000000_0",
        "delta_0000001_0000001_0000/bucket_00000",
        "delete_delta_0000002_0000002_0000/bucket_00000",
        size=0,
    )
    assert found.insert_files == ()
    with pytest.raises(
        FormatError, match='"delete_delta_0000002_0000002_0000/bucket_00000" is empty'
    ):
        _ = found.delete_files


def test_open_streams_are_refused() -> None:
    """What a streaming writer has committed of an open file ends inside it: not read, not half
    read.
    """
    found = reads_all(
        "delta_0000001_0000010/bucket_00000", "delta_0000001_0000010/bucket_00000_flush_length"
    )
    with pytest.raises(FormatError, match='has "delta_0000001_0000010/bucket_00000" open'):
        _ = found.insert_files


@pytest.mark.parametrize(
    "path",
    [
        "delta_0000001_0000001_0000/delta_0000001_0000001_0000/bucket_00000",
        "sub/base_0000001/bucket_00000",
        "delta_0000005_0000003/bucket_00000",
        "base_x/bucket_00000",
        "delta_0000001/bucket_00000",
        "delete_delta_1_1_1_1_1/bucket_00000",
    ],
)
def test_layouts_nobody_can_read(path: str) -> None:
    """Nested ACID directories and names that only look like one are refused with the directory
    named.
    """
    with pytest.raises(FormatError, match=path.rpartition("/")[0]):
        reads_all(path)


@pytest.mark.parametrize(
    ("inputs", "txns", "base"),
    [
        (["delta_1_1_0", "delta_2_2_0"], ValidTxnList(high_watermark=TxnId(9)), "base_2_v7"),
        (["delta_1_1_0"], ValidTxnList(high_watermark=TxnId(9), open=(TxnId(7),)), None),
        (["delta_1_1_0"], ValidTxnList(high_watermark=TxnId(9), aborted=(TxnId(7),)), None),
        (["gone"], ValidTxnList(high_watermark=TxnId(9), aborted=(TxnId(7),)), None),
        (["delta_1_1_0"], ValidTxnList(high_watermark=TxnId(6)), None),
        (["delta_1_1_0", "gone"], ValidTxnList(high_watermark=TxnId(6)), "base_2_v7"),
        (None, ValidTxnList(high_watermark=TxnId(9), aborted=(TxnId(7),)), "base_2_v7"),
        ("empty", ValidTxnList(high_watermark=TxnId(9), open=(TxnId(7),)), None),
    ],
)
def test_compactions_of_our_own_wait_for_their_commit(
    inputs: Any, txns: ValidTxnList, base: str | None
) -> None:
    """What says what it was made from is seen once its transaction is committed; where that was
    never given out here, once any of that is gone. Hive's, which says nothing, is seen; and what is
    empty may be about to be made.
    """
    names = ["delta_1_1_0/bucket_00000", "delta_2_2_0/bucket_00000"]
    names += [] if inputs == "empty" else ["base_2_v7/bucket_00000"]
    said = inputs_text(inputs) if isinstance(inputs, list) else None
    chosen = choose(
        [entry(name) for name in names],
        ValidWriteIdList(table="d.t", high_watermark=WriteId(2)),
        directories=["base_2_v7"],
        read_hidden=lambda path: said if path == f"base_2_v7/{INPUTS_FILE}" else None,
        own=txns,
    )
    assert (chosen.base.path if chosen.base else None) == base
    assert len(chosen.current) == (0 if base else 2)
    assert ("base_2_v7" in chosen.aborted) == (TxnId(7) in txns.aborted and base is None)


def test_empty_overwrite() -> None:
    """An overwrite by nothing is seen whether its directory holds only hidden files or is merely
    listed.
    """
    assert (
        reads_all(
            "delta_0000001_0000001_0000/bucket_00000", "base_0000002/_orc_acid_version"
        ).insert_files
        == ()
    )
    assert (
        reads_all(
            "delta_0000001_0000001_0000/bucket_00000", directories=["base_0000002"]
        ).insert_files
        == ()
    )


def test_markers() -> None:
    """Both words of _metadata_acid are known; an unknown one names the directory it lies in."""
    assert parse_marker(MARKERS["compacted"]) is BaseKind.COMPACTED
    assert parse_marker(MARKERS["truncated"]) is BaseKind.TRUNCATED
    for content in (
        b"",
        b"[]",
        b'{"dataFormat":"compacted"}',
        b'{"thisFileVersion":"1","dataFormat":"compacted"}',
        b"\xff",
    ):
        with pytest.raises(FormatError, match='unknown content of "base_0000001/_metadata_acid"'):
            reads_all("base_0000001/bucket_00000", read_marker=lambda _: content)  # noqa: B023
