"""What a catalog keeps of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from acidsql.catalog.catalog import Catalog
from acidsql.catalog.model import (
    Partition,
    TableName,
)
from acidsql.catalog.partitions import NameRanges, name_of
from acidsql.errors import (
    AlreadyExistsError,
    BindError,
    TableNotFoundError,
    WriteConflictError,
)
from tests.contracts.sample_tables import RICH, T, days
from tests.contracts.store import StoreContract

DAYS = tuple(f"2024-{month:02d}-{day:02d}" for month in range(1, 4) for day in range(1, 25))


class Named:
    """Asks for partitions of these names. ``given``: the names it chose from last."""

    def __init__(self, names: Sequence[str], ranges: NameRanges | None = None) -> None:
        self.names, self.ranges, self.given = names, ranges, list[str]()

    def chosen(self, names: Sequence[str]) -> list[str]:
        self.given = list(names)
        return [name for name in names if name in self.names]


class CatalogPartitionContract(StoreContract):
    """Partitions are added, dropped and altered all or none."""

    def test_partitions_come_back_by_name(self, catalog: Catalog) -> None:
        """With values, location, properties and time; they go with their table."""
        stored = catalog.create_table(RICH)
        first = Partition(
            values=("2024-01-01", "a/b"), location="/data/p1", properties={"k": "v"}, created_at=5
        )
        second = Partition(
            values=("2024-01-02", "__HIVE_DEFAULT_PARTITION__"),
            location="s3a://bucket/p2",
            created_at=6,
        )
        catalog.add_partitions(T, (second, first))
        assert catalog.list_partitions(stored) == (first, second)
        names = [name_of(stored, partition) for partition in (second, first)]
        assert [catalog.find_partition(stored, name) for name in names] == [second, first]
        assert catalog.find_partition(stored, names[0].upper()) is None
        catalog.drop_table(T)
        assert catalog.list_partitions(catalog.create_table(RICH)) == ()

    def test_partitions_are_found_by_ranges_of_names(self, catalog: Catalog) -> None:
        """Those of each range, whole and once, by name; they are counted without being listed."""
        stored = catalog.create_table(RICH)
        assert catalog.count_partitions(stored) == 0
        added = catalog.add_partitions(
            T, [replace(one, properties={"k": "v"}) for one in days(*DAYS)]
        )
        ranges = tuple((f"day={day}", f"day={day}0") for day in reversed(DAYS[3:40]))
        assert catalog.list_partitions(stored, ranges) == added[3:40]
        overlapping = ((f"day={DAYS[1]}", f"day={DAYS[5]}"), (f"day={DAYS[4]}", f"day={DAYS[7]}"))
        assert catalog.list_partitions(stored, overlapping) == added[1:7]
        assert catalog.list_partitions(stored, (("a", "b"),)) == ()
        assert catalog.list_partitions(stored, ()) == ()
        assert catalog.count_partitions(stored) == len(DAYS)

    def test_partitions_are_found_by_a_test_of_names(self, catalog: Catalog) -> None:
        """At least those that it chooses of all names, which it is given in order."""
        stored = catalog.create_table(RICH)
        assert catalog.list_partitions(stored, Named([])) == ()
        added = catalog.add_partitions(
            T, [replace(one, properties={"k": "v"}) for one in days(*DAYS)]
        )
        names = [name_of(stored, one) for one in added]
        few = Named([*names[3:5], *names[20:22]])
        assert catalog.list_partitions(stored, few) == (*added[3:5], *added[20:22])
        assert few.given == names
        assert catalog.list_partitions(stored, Named([])) == ()
        most = catalog.list_partitions(stored, Named(names[1:]))
        assert most in (added, added[1:])
        within = Named(names[3:60], ((names[5], names[9]), (names[50], names[55])))
        asked = catalog.list_partitions(stored, within)
        assert asked in ((*added[5:9], *added[50:55]), added[3:60])

    def test_a_partition_is_added_once(self, catalog: Catalog) -> None:
        """A batch with one that is there adds none."""
        stored = catalog.create_table(RICH)
        one = Partition(values=("2024-01-01", "x"), location="/data/p1")
        catalog.add_partitions(T, [one])
        with pytest.raises(AlreadyExistsError, match="Partition already exists") as caught:
            catalog.add_partitions(T, [replace(one, values=("2024-01-02", "x")), one])
        assert caught.value.code == 10118
        assert catalog.list_partitions(stored) == (one,)
        with pytest.raises(TableNotFoundError):
            catalog.add_partitions(TableName("default", "nope"), [one])
        with pytest.raises(WriteConflictError, match="has other partition columns"):
            catalog.add_partitions(T, [replace(one, values=("2024-01-03",))])

    def test_partitions_that_are_there_are_passed_over_on_demand(self, catalog: Catalog) -> None:
        """The new ones come back, and what was there stays as it was; the same partition twice
        counts once.
        """
        stored = catalog.create_table(RICH)
        one = Partition(values=("2024-01-01", "x"), location="/data/p1")
        two = Partition(values=("2024-01-02", "x"), location="/data/p2")
        assert catalog.add_partitions(T, [one]) == (one,)
        assert catalog.add_partitions(
            T, [replace(one, location="/elsewhere"), two, two], if_not_exists=True
        ) == (two,)
        assert catalog.list_partitions(stored) == (one, two)
        assert catalog.add_partitions(T, [one, two], if_not_exists=True) == ()

    def test_dropped_partitions_are_gone(self, catalog: Catalog) -> None:
        """They are given back as they were stored; those that are not there are passed over; they
        may be added again.
        """
        stored = catalog.create_table(RICH)
        first, second, third = catalog.add_partitions(
            T, days("2024-01-01", "2024-01-02", "2024-01-03")
        )
        elsewhere = replace(third, location="/not/here")
        assert catalog.drop_partitions(
            stored, [first, elsewhere, replace(first, values=("2025-01-01", "x"))]
        ) == (first, third)
        assert catalog.list_partitions(stored) == (second,)
        assert catalog.drop_partitions(stored, [first]) == ()
        assert catalog.add_partitions(T, [first]) == (first,)
        assert catalog.list_partitions(stored) == (first, second)

    def test_a_partition_gets_another_name_and_place(self, catalog: Catalog) -> None:
        """Its other facts stay; a name that is taken is refused, and the move is made last."""
        stored = catalog.create_table(RICH)
        one, two = catalog.add_partitions(
            T,
            [
                replace(days("2024-01-01")[0], properties={"k": "v"}, created_at=7),
                *days("2024-01-02"),
            ],
        )
        moves = []
        after = replace(one, values=("2024-02-01", "a/b"), location="s3a://bucket/p")
        catalog.alter_partition(stored, one, after, move=lambda: moves.append(1))
        assert catalog.list_partitions(stored) == (two, after)
        with pytest.raises(AlreadyExistsError, match="Partition already exists") as caught:
            catalog.alter_partition(
                stored, after, replace(after, values=two.values), move=lambda: moves.append(2)
            )
        assert caught.value.code == 10118
        assert (catalog.list_partitions(stored), moves) == ((two, after), [1])

    def test_a_partition_keeps_its_name_if_its_directory_cannot_move(
        self, catalog: Catalog
    ) -> None:
        """What the move raises comes out, and nothing is changed."""
        stored = catalog.create_table(RICH)
        (one,) = catalog.add_partitions(T, days("2024-01-01"))

        def fail() -> None:
            raise BindError("no")

        with pytest.raises(BindError, match="no"):
            catalog.alter_partition(
                stored, one, replace(one, values=("2024-02-01", "x")), move=fail
            )
        assert catalog.list_partitions(stored) == (one,)

    def test_a_partition_that_changed_meanwhile_is_not_altered(self, catalog: Catalog) -> None:
        """Nor is one of a table that was changed or made anew: the later session runs again."""
        stored = catalog.create_table(RICH)
        (one,) = catalog.add_partitions(T, days("2024-01-01"))
        moved = replace(one, location="/elsewhere")
        catalog.alter_partition(stored, one, moved)
        with pytest.raises(WriteConflictError, match="was changed by another session"):
            catalog.alter_partition(stored, one, replace(one, location="/third"))
        with pytest.raises(WriteConflictError, match="was changed by another session"):
            catalog.alter_partition(stored, replace(one, values=("2030-01-01", "x")), one)
        catalog.alter_table(
            stored, replace(stored, properties={"k": "v", "bucketing_version": "2"})
        )
        for change in (
            lambda: catalog.drop_partitions(stored, [moved]),
            lambda: catalog.alter_partition(stored, moved, one),
        ):
            with pytest.raises(WriteConflictError, match="was changed by another session"):
                change()
        now = catalog.find_table(T)
        assert now is not None
        assert catalog.list_partitions(now) == (moved,)
