"""How the directory of a dropped table is deleted where nothing can be renamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acidsql.commit import recovery
from acidsql.files.local_files import LocalFileIO
from acidsql.session import Session


class ObjectsIO(LocalFileIO):
    """A file system that cannot rename, as object stores cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.deleted: list[tuple[str, bool]] = []
        self.is_alone = False

    def renames(self, path: str) -> bool:
        return False

    def delete_file(self, path: str) -> None:
        self.deleted.append((path, self.is_alone))
        super().delete_file(path)

    def delete_tree(self, path: str) -> None:
        if self.exists(path):
            self.deleted.append((path, self.is_alone))
        super().delete_tree(path)


class Watched:
    """A store that tells the files when nobody else can change it. ``meanwhile``: what others do
    as soon as they can.
    """

    def __init__(self, session: Session, io: ObjectsIO) -> None:
        self._session, self._io = session, io
        self.meanwhile: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.store, name)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._session.store.alone():
            self._io.is_alone = True
            yield
            self._io.is_alone = False
        if self.meanwhile:
            self._session.sql(self.meanwhile.pop())


def test_what_a_killed_drop_has_left_goes_while_nobody_makes_a_table_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is deleted but under the store's lock, which is given up between some files and the
    next; a table that is made there then keeps what is left.
    """
    monkeypatch.setattr(recovery, "FILES_AT_ONCE", 2)
    io = ObjectsIO()
    with Session(tmp_path / "warehouse") as session:
        session.sql("CREATE TABLE other (a INT) STORED AS ORC")
        for made_there in (False, True):
            left = tmp_path / "warehouse" / f"left{made_there:d}"
            for number in range(5):
                (left / "d").mkdir(parents=True, exist_ok=True)
                (left / "d" / f"file{number}").write_bytes(b"x")
            store = Watched(session, io)
            if made_there:
                store.meanwhile.append(f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{left}'")
            recovery.delete_dropped(store, io, str(left))  # type: ignore[arg-type]
            assert all(alone for _, alone in io.deleted)
            names = sorted(path.name for path in left.rglob("file*"))
            assert names == (["file2", "file3", "file4"] if made_there else [])
