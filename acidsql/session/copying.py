"""What COPY INTO asks of its session: files as they are, which of them were taken, and their rows
as relations of the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acidsql.catalog.model import Table
from acidsql.catalog.path_relation import CopiedFiles, FileSource, FileStamp
from acidsql.frames.registry import Frames
from acidsql.lazy_dataclass import dataclass
from acidsql.txn.manager import TxnManager
from acidsql.txn.taken import Taken, TakenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCopies:
    """See ``Copies``. ``own``: what the open transaction has taken; ``directory``: where rows
    wait.
    """

    manager: Callable[[], TxnManager]
    frames: Frames
    own: Callable[[], Sequence[Taken]]
    directory: Callable[[], str]

    def stamps(self, source: FileSource) -> tuple[FileStamp, ...]:
        from acidsql.frames.file_sources import stamps_of

        return stamps_of(source)

    def taken(self, table: Table, files: Sequence[FileStamp]) -> frozenset[FileStamp]:
        by_identity = {TakenFile.of(file): file for file in files}
        known = set(self.manager().find_taken(table.table_id, tuple(by_identity)))
        for taken in self.own():
            if taken.table_id == table.table_id:
                known |= by_identity.keys() & set(taken.files)
        return frozenset(by_identity[one] for one in known)

    def columns(self, source: FileSource, file: FileStamp) -> tuple[str, ...] | None:
        return self.frames.copied_columns(source, file)

    def relations(self, files: CopiedFiles) -> tuple[Table, Table]:
        return self.frames.of_copied(files, self.directory())
