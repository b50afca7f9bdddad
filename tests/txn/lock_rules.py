"""Who waits for whose locks, in the plainest way: what the real queue is held against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from acidsql.txn.locks import LockComponent, LockType
from tests.contracts.lock_requests import path, stands_in_the_way


@dataclass
class ModelRequest:
    """One request, in a list of all that there are, in the order in which they came."""

    lock_id: int
    txn_id: int
    components: tuple[LockComponent, ...]
    granted: bool = False

    @property
    def owner(self) -> int:
        return self.txn_id or -self.lock_id


def has_already(queue: Iterable[ModelRequest], asking: ModelRequest, wanted: LockComponent) -> bool:
    """Whether its transaction holds a lock that is as good."""
    kinds = list(LockType)
    return any(
        asking.txn_id
        and request.txn_id == asking.txn_id
        and request.granted
        and request.lock_id < asking.lock_id
        and kinds.index(held.type) >= kinds.index(wanted.type)
        and (
            path(held) == path(wanted) or (len(path(held)) == 2 and path(wanted)[:2] == path(held))
        )
        for request in queue
        for held in request.components
    )


def blockers(queue: list[ModelRequest], asking: ModelRequest) -> dict[int, set[int]]:
    """The owners that each component, counted from 1, has to wait for."""
    waits = {
        part: {
            request.owner
            for request in queue
            if request.lock_id < asking.lock_id
            and request.owner != asking.owner
            and any(stands_in_the_way(wanted, other) for other in request.components)
        }
        for part, wanted in enumerate(asking.components, start=1)
        if not has_already(queue, asking, wanted)
    }
    return {part: owners for part, owners in waits.items() if owners}


def reachable(queue: list[ModelRequest], start: int, newest: int) -> set[int]:
    """The owners that ``start`` waits for, in the end, looking at requests up to ``newest``."""
    reached: set[int] = set()
    ahead = {start}
    while ahead:
        owner = ahead.pop()
        for request in queue:
            if request.owner == owner and not request.granted and request.lock_id <= newest:
                for owners in blockers(queue, request).values():
                    ahead |= owners - reached
                    reached |= owners
    return reached
