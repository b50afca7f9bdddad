"""What acidsql.spark.jvm does where there is no Java process, and that each of its functions
has a test.

No server is needed: a session of Spark Connect is known by its class. tests/session/test_connect.py
runs statements on a real one.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.spark import jvm
from acidsql.spark.jvm import (
    arriving,
    arrow_rows,
    java,
    jobs,
    object_filters,
    observing,
    placing,
    plans,
    process,
    scans,
    sessions,
    words,
    zones,
)

MODULES = (
    arriving,
    arrow_rows,
    java,
    jobs,
    object_filters,
    observing,
    placing,
    plans,
    process,
    scans,
    sessions,
    words,
    zones,
)
NUMBERS = np.array([1, 2], np.int64)


class Frame:
    """A DataFrame of Spark Connect, as far as anybody looks."""

    def __init__(self, spark: Any) -> None:
        self.sparkSession = spark


@pytest.fixture
def remote() -> Any:
    """A session of Spark Connect, as far as anybody looks."""
    return type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()


def test_there_is_no_door(remote: Any) -> None:
    """Who needs one is refused, in words of the caller's."""
    assert jvm.jvm(remote) is None
    with pytest.raises(
        UnsupportedStatementError,
        match="rows cannot be counted over Spark Connect\nhint: Count them here",
    ):
        jvm.need_java(remote, "rows cannot be counted", "Count them here.")


def test_plans_tell_nothing(remote: Any) -> None:
    """Each answer is the one that makes the caller take the way that is right for any plan."""
    frame: Any = Frame(remote)
    assert jvm.estimated_bytes(frame) is None
    assert jvm.row_bytes(frame) is None
    assert jvm.task_count(frame) is None
    assert not jvm.keeps_all_rows(frame)
    assert not jvm.reads_the_same(frame)
    assert not jvm.is_one_aggregate(frame)
    assert jvm.mixed_marks(frame, "mark") is None
    assert not jvm.is_literal(frame)
    assert jvm.collect_arriving(frame, lambda batch: None) is None


def test_tasks_are_left_to_the_server(remote: Any) -> None:
    """Nothing is sent to executors, and nothing is known of running jobs."""
    assert not jvm.has_executors(remote)
    assert not jobs.has_own_processes(remote)
    assert jvm.running_tasks(remote, "tag") is None
    assert jvm.tasks_at_once(remote) is None


def test_settings_are_asked_for_as_they_are() -> None:
    """The client's way is one call already."""
    conf = type("RuntimeConf", (), {"getAll": {"a": "1"}})()
    kind = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session", "conf": conf})
    assert jvm.settings_of(kind()) == {"a": "1"}


def test_a_server_is_never_lost_for_good(remote: Any) -> None:
    """Whether it is gone shows in what it is asked; a view of one that is gone is gone."""
    assert not jvm.is_lost(remote)
    jvm.drop_view(remote, "gone")


def test_frames_are_of_their_session(remote: Any) -> None:
    """One of another session of the server stays what it is."""
    frame: Any = Frame(remote)
    assert jvm.in_session(remote, frame) is frame


def test_zones_of_one_name_are_the_same(remote: Any) -> None:
    """Of others nobody can be asked, but for the names of UTC."""
    assert jvm.same_time_zone(remote, "UTC", "Etc/UTC")
    assert not jvm.same_time_zone(remote, "Europe/Vaduz", "Europe/Zurich")
    assert jvm.zone_facts(remote, "Europe/Zurich") is None


def test_paths_are_of_no_file_system_that_is_known(remote: Any) -> None:
    """They are the server's."""
    assert jvm.root_of_paths(remote) is None
    assert jvm.working_directory(remote) is None


def test_files_are_listed_by_the_server(remote: Any) -> None:
    """There is no scan without listing."""
    assert jvm.read_listed_orc(remote, ["file:/f"], [1], "v bigint", {}, identity="f") is None


REFUSED: list[Callable[[Any], Any]] = [
    lambda remote: jvm.longs(remote, NUMBERS),
    lambda remote: java.java_strings(remote, ["a"]),
    lambda remote: jvm.java_objects(remote, [1]),
    lambda remote: jvm.java_date(remote, "2024-01-01"),
    lambda remote: jvm.expression(remote, "1"),
    lambda remote: jvm.position(remote, None, None),
    lambda remote: jvm.position_in(remote, None, None),  # type: ignore[arg-type]
    lambda remote: jvm.bit(remote, None, None),
    lambda remote: jvm.bits(remote, NUMBERS),
    lambda remote: jvm.with_objects(remote, "k", lambda: None, {}),
    lambda remote: jvm.is_member(remote, jvm.NumberSet.BITS, None, None),
    lambda remote: jvm.first_in_task(remote, None, None),  # type: ignore[arg-type]
    lambda remote: jvm.sum_before(remote, None),  # type: ignore[arg-type]
    lambda remote: jvm.limit_each_task(Frame(remote), 1),  # type: ignore[arg-type]
    lambda remote: jvm.search_argument_options(remote, "a int", ["a"], []),
    lambda remote: jvm.hadoop_configuration(remote),
    lambda remote: jvm.map_in_tasks(remote, abs, [1]),
    *(partial(lambda how, remote: jvm.held(remote, NUMBERS, how), how) for how in jvm.NumberSet),
]


@pytest.mark.parametrize("call", REFUSED)
def test_what_needs_java_is_refused(remote: Any, call: Callable[[Any], Any]) -> None:
    """It says so itself: who forgot to ask for a door makes no rows of nothing."""
    with pytest.raises(UnsupportedStatementError, match="cannot be done over Spark Connect"):
        call(remote)


# ---- each function of the package


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in MODULES:
        for name, value in vars(module).items():
            if (
                inspect.isfunction(value)
                and value.__module__ == module.__name__
                and not name.startswith("_")
            ):
                yield name, value


def test_a_client_that_cannot_clone(remote: Any) -> None:
    """Those before 4.0 have no session of their own either, which is told."""
    remote.conf = object()
    with pytest.raises(UnsupportedStatementError, match="too old"):
        jvm.clone_session(remote)


def named_in_tests() -> set[str]:
    """What tests of this and its neighbour files take from the package by name."""
    known = {"jvm", *(module.__name__.rpartition(".")[2] for module in MODULES)}
    names = set()
    for path in Path(__file__).parent.glob("test_j*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in known
            ):
                names.add(node.attr)
    return names


def test_every_module_of_the_package_is_looked_at() -> None:
    """A new one is to be listed here; Hadoop's file systems are tested with the others."""
    folder = Path(jvm.__file__).parent
    assert {Path(module.__file__ or "") for module in MODULES} == set(folder.glob("*.py")) - {
        folder / "__init__.py",
        folder / "functions.py",
        folder / "hadoop_files.py",
    }


def test_every_function_has_a_test() -> None:
    """By its name: a change of Spark's shows there first."""
    assert sorted({name for name, _ in public_functions()} - named_in_tests()) == []


def test_every_function_says_what_it_does_without_java() -> None:
    """Whoever is given a session or a frame may be given one of Spark Connect."""
    given = [
        (name, f)
        for name, f in public_functions()
        if {"spark", "ours", "frame"} & set(inspect.signature(f).parameters)
    ]
    assert [
        name for name, f in given if "Spark Connect" not in " ".join((f.__doc__ or "").split())
    ] == []
