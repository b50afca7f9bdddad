"""``Session.register``: DataFrames under names that a session's statements read them by."""

from __future__ import annotations

from typing import Any

from acidsql.catalog.model import TableName
from acidsql.errors import AlreadyExistsError, InterfaceError
from acidsql.frames.matching import by_lower_name
from acidsql.session.spine import Spine
from acidsql.utf8 import check_text


def is_sparks(frame: Any) -> bool:
    """Whether it is one of Spark's DataFrames, classic or of Spark Connect."""
    kinds = type(frame).__mro__
    return any(k.__module__.startswith("pyspark.sql") and k.__name__ == "DataFrame" for k in kinds)


def register(spine: Spine, name: str, frame: Any) -> None:
    """See ``Session.register``."""
    check_text(name, of="the name of a frame")
    key = name.lower()
    if not (key.isascii() and key.replace("_", "a").isalnum()):
        raise InterfaceError(
            f'a frame cannot be called "{name}"', hint="Use letters, digits and underscores."
        )
    with spine.turn.taken():
        _check_free(spine, key)
        if is_sparks(frame):
            by_lower_name(frame.columns)
            spine.engine.add_view(frame, key)
            spine.frames.add(key, None)
            return
    from acidsql.frames.spooling import Frame

    directory = spine.settings.text("acidsql.frames.directory")
    spine.frames.add(key, Frame.of(key, frame, directory))


def unregister(spine: Spine, name: str) -> None:
    """See ``Session.unregister``."""
    spine.turn.check_process()
    check_text(name, of="the name of a frame")
    if spine.frames.remove(name.lower()):
        spine.engine.drop_view(name.lower())


def _check_free(spine: Spine, name: str) -> None:
    spine.frames.check_free(name)
    table = TableName(spine.database, name)
    if spine.store.find_table(table) is not None:
        raise AlreadyExistsError(
            f"table {table} exists already", hint="Register the frame under another name."
        )
    if spine.engine.has_view(name):
        raise AlreadyExistsError(
            f'Spark\'s session has a view "{name}" already',
            hint="Register the frame under another name.",
        )
