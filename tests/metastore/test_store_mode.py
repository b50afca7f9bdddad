"""Who may open the store's files, on whatever umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import MetastoreError, ProgrammingError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.session import Session

FILES = ("metastore.db", "metastore.db-shm", "metastore.db-wal")


@pytest.fixture(params=[0o022, 0o077, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(warehouse: Path) -> tuple[int, set[int]]:
    """Of the store's directory, and of the files in it."""
    directory = warehouse / "_acidsql"
    return mode(directory), {mode(directory / file) for file in FILES}


@pytest.mark.usefixtures("umask")
def test_a_new_store_is_its_owners(tmp_path: Path) -> None:
    """The file, SQLite's log beside it, and their directory."""
    with Session(tmp_path / "warehouse") as session:
        session.sql("CREATE TABLE t (id INT)")
        assert modes(tmp_path / "warehouse") == (0o700, {0o600})


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("text", "directory", "file"), [("0660", 0o770, 0o660), ("0666", 0o777, 0o666)]
)
def test_a_setting_lets_others_in(tmp_path: Path, text: str, directory: int, file: int) -> None:
    """The group, or all: as it says, not as the umask does."""
    with Session(tmp_path / "warehouse", settings={"acidsql.store.mode": text}) as session:
        session.sql("CREATE TABLE t (id INT)")
        assert modes(tmp_path / "warehouse") == (directory, {file})


def test_a_store_keeps_its_mode(tmp_path: Path) -> None:
    """Whoever opened it to others did so on purpose."""
    warehouse = tmp_path / "warehouse"
    EmbeddedMetastore(str(warehouse)).close()
    (warehouse / "_acidsql").chmod(0o755)
    (warehouse / "_acidsql" / "metastore.db").chmod(0o644)
    with Session(warehouse) as session:
        session.sql("CREATE TABLE t (id INT)")
        assert modes(warehouse) == (0o755, {0o644})


def test_a_store_that_is_parted_from_another_keeps_its_mode(tmp_path: Path) -> None:
    """The file of its own is as closed as the one it was linked to."""
    EmbeddedMetastore(str(tmp_path / "one")).close()
    (tmp_path / "two" / "_acidsql").mkdir(parents=True)
    linked = tmp_path / "two" / "_acidsql" / "metastore.db"
    os.link(tmp_path / "one" / "_acidsql" / "metastore.db", linked)
    EmbeddedMetastore(str(tmp_path / "two")).close()
    assert (linked.stat().st_nlink, mode(linked)) == (1, 0o600)


def test_the_group_of_the_warehouse_is_handed_on(tmp_path: Path) -> None:
    """A directory that gives its group to what is made in it does so still."""
    tmp_path.chmod(0o2770)
    EmbeddedMetastore(str(tmp_path), mode=0o660).close()
    assert mode(tmp_path / "_acidsql") == 0o2770


@pytest.mark.parametrize("text", ["600", "0640", "rw"])
def test_other_modes_are_refused(tmp_path: Path, text: str) -> None:
    """Who can read the store must be able to write to it."""
    with pytest.raises(ProgrammingError, match=r"acidsql\.store\.mode"):
        Session(tmp_path / "warehouse", settings={"acidsql.store.mode": text})


def test_a_warehouse_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it is closed to this one, and how it is opened."""
    warehouse = tmp_path / "warehouse"
    EmbeddedMetastore(str(warehouse)).close()

    def refused(*_: object, **__: object) -> str:  # the superuser may read anything
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(MetastoreError, match="is not open to this user") as caught:
        EmbeddedMetastore(str(warehouse))
    assert "acidsql.store.mode" in str(caught.value)
