"""Whose directories may be deleted: those of processes that have surely ended, on any store."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.processes import Process
from tests.metastore.conftest import Clock

pytestmark = pytest.mark.skipif(
    not Process.current().boot, reason="this system does not name its boots"
)

A_DAY = 86_400


def note_as(
    process: Process, metastore: EmbeddedMetastore, warehouse: Path, patch: pytest.MonkeyPatch
) -> str:
    """The location of a directory that a process has noted."""
    location = f"{warehouse}/left"
    with patch.context() as patched:
        patched.setattr(Process, "current", classmethod(lambda _: process))
        metastore.note_directory(location)
    return location


def noted(metastore: EmbeddedMetastore) -> list[str]:
    return [one.location for one in metastore.noted_directories()]


def test_a_living_process_keeps_its_directories(
    metastore: EmbeddedMetastore, warehouse: Path, clock: Clock
) -> None:
    """However long it takes."""
    metastore.note_directory(f"{warehouse}/mine")
    clock.now += 10 * A_DAY
    assert noted(metastore) == []
    assert metastore.is_noted(f"{warehouse}/mine")
    metastore.forget_directories([f"{warehouse}/mine"])
    assert not metastore.is_noted(f"{warehouse}/mine")


def test_what_an_ended_process_noted_is_nobodys(
    metastore: EmbeddedMetastore, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, where it can be seen that it has ended."""
    ended = replace(Process.current(), pid=os.getpid(), start=1)
    assert noted(metastore) == []
    location = note_as(ended, metastore, warehouse, monkeypatch)
    assert noted(metastore) == [location]


def test_another_machines_process_may_be_alive(
    metastore: EmbeddedMetastore,
    metastore_url: str | None,
    warehouse: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store for several hosts leaves its directories alone for a day; in a file on one host it
    was another boot of the same machine, and is over.
    """
    elsewhere = replace(Process.current(), machine="0123456789abcdef.4026531836")
    location = note_as(elsewhere, metastore, warehouse, monkeypatch)
    assert noted(metastore) == ([location] if metastore_url is None else [])
    clock.now += A_DAY + 1
    assert noted(metastore) == [location]
