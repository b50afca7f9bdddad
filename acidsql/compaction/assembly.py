"""The parts that compact, put together for a daemon."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acidsql.commit.recovery import Recovery
from acidsql.compaction.cleaner import Cleaner
from acidsql.compaction.daemon import Journal, Roles, Turn
from acidsql.compaction.housekeeper import Housekeeper, HouseStore
from acidsql.compaction.initiator import Initiator, name_of_role
from acidsql.compaction.worker import Worker
from acidsql.files.fileio import FileIO
from acidsql.run.engine import Engine
from acidsql.settings import Settings


def assemble(
    store: HouseStore,
    files: FileIO,
    settings: Settings,
    journal: Journal,
    *,
    clock: Callable[[], float],
    engines: Sequence[Engine],
    pools: Sequence[str],
    initiator: bool,
    cleaner: bool,
) -> Roles:
    """What a daemon does. ``engines``: one for each worker; ``pools``: those that the workers serve
    in turn, none for the entries of no pool.
    """
    names = [name_of_role(number) for number in range(len(engines))]
    workers = {
        name: Worker(
            store, files, engine, settings, name, pool=pools[n % len(pools)] if pools else None
        ).run_once
        for n, (name, engine) in enumerate(zip(names, engines, strict=True))
    }

    def cancel() -> None:
        for engine in engines:
            engine.cancel()

    return Roles(
        initiator=_initiator(store, files, settings, journal, clock) if initiator else None,
        workers=workers,
        cleaner=_cleaner(store, files, settings, clock).run_once if cleaner else None,
        housekeeper=_housekeeper(store, files, settings, clock),
        cancel=cancel,
        pools=tuple(pools) or ("",),
    )


def _initiator(
    store: HouseStore,
    files: FileIO,
    settings: Settings,
    journal: Journal,
    clock: Callable[[], float],
) -> Turn:
    return Initiator(
        store=store,
        files=files,
        settings=settings,
        clock=clock,
        name=name_of_role(),
        say=lambda where, what: journal.say("initiator", what, where),
    ).run_once


def _cleaner(
    store: HouseStore, files: FileIO, settings: Settings, clock: Callable[[], float]
) -> Cleaner:
    return Cleaner(store=store, files=files, settings=settings, clock=clock)


def _housekeeper(
    store: HouseStore, files: FileIO, settings: Settings, clock: Callable[[], float]
) -> Turn:
    housekeeper = Housekeeper(store=store, settings=settings, clock=clock)
    recovery = Recovery(
        open_store=lambda: store,
        files=files,
        pause=lambda: settings.number("metastore.acid.housekeeper.interval"),
    )

    def keep_house() -> bool:
        housekeeper.run_once()
        recovery.before()
        recovery.after()
        return False

    return keep_house
