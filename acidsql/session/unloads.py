"""A session's queries whose rows go into files that no table has: COPY .. TO and INSERT OVERWRITE
DIRECTORY. Files are no part of a transaction: they are there once the statement has ended.
"""

from __future__ import annotations

import os

from acidsql import interrupts
from acidsql.ddl.file_errors import file_errors
from acidsql.errors import BindError, ExecutionError
from acidsql.files.fileio import FileIO
from acidsql.files.urls import is_inside, real_entry, real_path
from acidsql.plan.facts import words_of
from acidsql.plan.plans import ReadPlan
from acidsql.result import Result, Stats
from acidsql.run.trace import Trace
from acidsql.storage.unload.destination import Destination


def unload(rows: Result, plan: ReadPlan, files: FileIO, root: str, trace: Trace) -> Result:
    """Writes the rows of a plan's query to where it wants them; what was done. ``root``: of the
    warehouse. ``trace`` noted how they were made.
    """
    from acidsql.storage.unload.unloading import Unloading

    into = plan.into
    assert into is not None
    _check_place(into, root)
    columns = [(column.name, column.type) for column in rows.columns]
    writing, putting = plan.ending
    with file_errors(words_of(plan)), Unloading(into, columns, files) as unloading:
        with trace.running(writing) as figures:
            for batch in rows.batches():
                interrupts.check()
                unloading.write(batch)
            figures.rows = unloading.rows
        interrupts.check()
        with trace.running(putting) as figures:
            try:
                unloading.put_in_place()
            except FileExistsError as error:
                raise ExecutionError(
                    f'{into.what} "{into.given}" has been made by another meanwhile',
                    hint="OVERWRITE true puts the rows in its place.",
                ) from error
            figures.files, figures.bytes = unloading.files, unloading.bytes
    stats = Stats(rows_copied=unloading.rows, steps=tuple(trace.ran))
    return Result((), stats, warnings=rows.warnings)


def _check_place(into: Destination, root: str) -> None:
    """BindError for a place inside of the warehouse, whose files are those of tables, and for a
    directory to be put in place of one that this program is in or the warehouse.
    """
    path, warehouse = real_entry(into.path), real_path(root)
    if is_inside(path, warehouse):
        raise BindError(
            f'"{into.given}" lies in the warehouse, whose files are those of tables',
            hint="Write to another directory.",
            span=into.span,
        )
    around = (warehouse, os.path.realpath(os.getcwd()))
    if into.in_directory and any(is_inside(one, path) for one in around):
        raise BindError(
            f'"{into.given}" would be replaced with all that is in it',
            hint="Name a directory of its own for the files.",
            span=into.span,
        )
