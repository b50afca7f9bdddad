"""The journeys in acidsql/README.md are the files that statements really pass, in their order."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import acidsql
from acidsql.commit.unit_of_work import UnitOfWork
from acidsql.session import Session

PACKAGE = Path(acidsql.__file__).parent
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
SETUP = (
    "DROP TABLE IF EXISTS {0}",
    "DROP TABLE IF EXISTS {0}_s",
    "CREATE TABLE {0} (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "INSERT INTO {0} VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "CREATE TABLE {0}_s (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    "INSERT INTO {0}_s VALUES (1, 'x'), (7, 'y')",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """Modules: ``down`` to the files that a statement writes, ``back`` those first met from the
    commit on.
    """

    down: list[str]
    back: list[str]

    def without(self, rooms: tuple[str, ...]) -> Journey:
        down, back = (
            [module for module in way if not module.startswith(rooms)]
            for way in (self.down, self.back)
        )
        return Journey(down=down, back=back)


def journeys() -> dict[str, str]:
    """What the map says of each journey, by its statement."""
    found = re.findall(r"^`([^`]+)`\n\n```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return dict(found)


def rooms_of_no_statement() -> tuple[str, ...]:
    """The files and folders that the map leaves out of the journeys."""
    line = re.search(r"Left out are (.*?):", README, re.DOTALL)
    assert line is not None
    return tuple(re.findall(r"`([^`]+)`", line[1]))


def modules_entered(run: Callable[[], object]) -> Journey:
    """The modules of the package whose functions this thread calls, in the order of their first
    calls.
    """
    down: dict[str, None] = {}
    back: dict[str, None] = {}
    root, turn = f"{PACKAGE}/", UnitOfWork.commit.__code__
    ways = [down]

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
            if code is turn:
                ways.append(back)
            module = code.co_filename.removeprefix(root)
            if module not in down:
                ways[-1][module] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return Journey(down=list(down), back=list(back))


def functions_entered(run: Callable[[], object]) -> tuple[int, int]:
    """How many modules of the package this thread enters, and how many of their functions."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        is_ours = code.co_filename.startswith(f"{PACKAGE}/") and code.co_name != "<module>"
        if event == "call" and is_ours:
            codes.add(code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return len({code.co_filename for code in codes}), len(codes)


def lengths() -> dict[str, tuple[int, int]]:
    """What the map says of how far statements walk: files and functions by the statement's word."""
    found = re.findall(
        r"^\| (UPDATE|MERGE|SELECT) \| ([\d,]+) \| ([\d,]+) \|$", README, re.MULTILINE
    )
    return {word: (int(files), int(functions.replace(",", ""))) for word, files, functions in found}


def as_text(passed: Journey) -> str:
    """A journey as the map has it: the files on the way down, then those first met from the commit
    on.
    """
    text = _listed(passed.down, "files on the way down")
    return text + (_listed(passed.back, "more from the commit on") if passed.back else "")


def _listed(modules: list[str], title: str) -> str:
    """A line for each room, as often as one comes into it."""
    lines = [f"{len(modules)} {title}"]
    for room, group in groupby(modules, key=lambda module: module.rpartition("/")[0]):
        names = ", ".join(Path(module).stem for module in group)
        lines.append(f"{room}/: {names}" if room else names)
    return "\n".join(lines) + "\n"


def carry_out(session: Session, statement: str) -> None:
    result = session.sql(statement)
    if result.columns:
        result.to_arrow()


def prepare(session: Session, table: str) -> None:
    for statement in SETUP:
        session.sql(statement.format(table))


def prepare_others(session: Session, statement: str) -> None:
    """Table ``t``, after the statement was carried out on another one: all is imported."""
    prepare(session, "warm")
    carry_out(session, re.sub(r"\bt\b", "warm", statement).replace("t_s", "warm_s"))
    prepare(session, "t")


def journey(session: Session, statement: str) -> Journey:
    """The modules a statement on table ``t`` passes when everything is imported and Spark is up."""
    prepare_others(session, statement)
    # a text that no other test has: what is remembered by text would leave out the files that read it
    return modules_entered(lambda: carry_out(session, f"{statement} -- journey"))


def test_the_map_has_the_journeys() -> None:
    """UPDATE, MERGE and SELECT have theirs."""
    assert [statement.split()[0] for statement in journeys()] == ["UPDATE", "MERGE", "SELECT"]


def test_statements_walk_no_farther_than_the_map_says(tmp_path: Path) -> None:
    """All files and functions count, those of every room."""
    assert list(lengths()) == ["UPDATE", "MERGE", "SELECT"]
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        session.sql("CREATE DATABASE d")
        for statement in journeys():
            prepare_others(session, statement)
            files, functions = functions_entered(
                lambda text=f"{statement} -- walk": carry_out(session, text)  # type: ignore[misc]
            )
            most_files, most_functions = lengths()[statement.split()[0]]
            assert files <= most_files, statement
            assert functions <= most_functions, statement


@pytest.mark.spark
@pytest.mark.classic
def test_journeys_are_those_of_the_map(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a list is passed, in that order; what is passed besides lies in the rooms left out,
    of which none is left out for nothing.
    """
    # a slow machine would have looks at files done by other threads, which nobody follows
    monkeypatch.setattr("acidsql.files.parallel._GRACE_SECONDS", 3600.0)
    session.sql("SET acidsql.write.path=small")
    left_out = rooms_of_no_statement()
    needed: set[str] = set()
    found: dict[str, str] = {}
    for statement in journeys():
        engine = "spark" if statement.startswith("MERGE") else "auto"
        session.sql(f"SET acidsql.engine={engine}")
        passed = journey(session, statement)
        modules = (*passed.down, *passed.back)
        needed |= {room for room in left_out if any(module.startswith(room) for module in modules)}
        found[statement] = as_text(passed.without(left_out))
    assert found == journeys()
    assert needed == set(left_out)
