"""TBLPROPERTIES: the rules of the transactional ones (Hive: TransactionalValidationListener,
AcidUtils.isToInsertOnlyTable).

A table becomes transactional once and stays what it became, full ACID (``default``) or
``insert_only``. Keys are found in any case and kept in lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acidsql.catalog.attached import ATTACHED
from acidsql.catalog.model import STORAGES, FileFormat, Table, TableKind, TableName, storage_of
from acidsql.catalog.statistics import RAW_BYTES, ROWS
from acidsql.errors import BindError, Span
from acidsql.parser import statements as ast

TRANSACTIONAL = "transactional"
MODE = "transactional_properties"
MODES = ("default", "insert_only")
EXTERNAL = "EXTERNAL"
BUCKETING_VERSION = "bucketing_version"
CODECS = ("ZLIB", "SNAPPY", "LZ4", "NONE")


class Given:
    """The properties of a statement, under the names Hive stores them by, and where each stands."""

    def __init__(self, properties: Iterable[ast.Property], otherwise: Span) -> None:
        self.values: dict[str, str] = {}
        self._spans: dict[str, Span] = {}
        self._otherwise = otherwise
        for one in properties:
            key = one.key.lower() if one.key.lower() in (TRANSACTIONAL, MODE) else one.key
            self.values[key] = one.value
            self._spans[key] = one.span

    def span(self, key: str) -> Span:
        return self._spans.get(key, self._otherwise)

    def flag(self, key: str) -> bool | None:
        """None where it is not given; anything but ``true`` is False."""
        value = self.values.get(key)
        return None if value is None else value.lower() == "true"


def of_new_table(
    statement: ast.CreateTable | ast.CreateTableLike, name: TableName
) -> tuple[dict[str, str], Given]:
    """What CREATE TABLE stores, its defaults filled in. BindError for a value Hive refuses."""
    given = Given(statement.properties, statement.name.span)
    properties = dict(given.values)
    if statement.transactional_word:
        properties.setdefault(TRANSACTIONAL, "true")
    value = properties.pop(TRANSACTIONAL, "false").lower()
    if value not in ("true", "false"):
        message = f"'transactional' property of TBLPROPERTIES may only have value 'true': {name}"
        raise BindError(message, span=given.span(TRANSACTIONAL))
    if value == "true":
        properties[TRANSACTIONAL] = "true"
        properties[MODE] = _mode(properties.get(MODE, "default"), name, given)
    check_values(given)
    properties.setdefault(BUCKETING_VERSION, "2")
    return properties, given


def check_new_table(table: Table, given: Given, format_span: Span | None) -> None:
    """BindError where a table of this kind and format cannot be transactional."""
    if not table.is_transactional:
        return
    if table.is_full_acid:
        check_acid_format(table, format_span or given.span(TRANSACTIONAL))
    if table.kind is TableKind.EXTERNAL:
        message = f"{table.name} cannot be declared transactional because it's an external table"
        raise BindError(message, span=given.span(TRANSACTIONAL))
    check_not_sorted(table, given.span(TRANSACTIONAL))


def check_acid_format(table: Table, span: Span) -> None:
    storage, orc = storage_of(table), STORAGES[FileFormat.ORC]
    if (storage.input_format, storage.output_format) != (orc.input_format, orc.output_format):
        raise BindError(
            f"The table must be stored using an ACID compliant format (such as ORC): {table.name}",
            span=span,
        )


def check_not_sorted(table: Table, span: Span) -> None:
    if table.is_full_acid and table.bucketing is not None and table.bucketing.sorted_by:
        raise BindError(
            f"Table {table.name} cannot support full ACID functionality since it is sorted.",
            span=span,
        )


def check_values(given: Given) -> None:
    """BindError for values that a reader or writer would stumble over later."""
    codec = given.values.get("orc.compress")
    if codec is not None and codec.upper() not in CODECS:
        hint = f"Hive 3.1 reads {', '.join(CODECS)}."
        raise BindError(
            f'orc.compress "{codec}" is not supported', hint=hint, span=given.span("orc.compress")
        )
    reserved = next((key for key in given.values if key.startswith(ATTACHED)), None)
    if reserved is not None:
        hint = "ATTACH TABLE sets it."
        raise BindError(
            f'property "{reserved}" is not for users', hint=hint, span=given.span(reserved)
        )
    version = given.values.get(BUCKETING_VERSION)
    if version not in (None, "1", "2"):
        raise BindError(
            f'bucketing_version "{version}" is not supported',
            hint="It is 1 or 2.",
            span=given.span(BUCKETING_VERSION),
        )


def check_statistics(given: Given) -> None:
    """BindError for a number of rows that is none. Hive: AlterTableSetPropertiesAnalyzer."""
    for key in (ROWS, RAW_BYTES):
        value = given.values.get(key)
        if value is not None and not (value.isascii() and value.isdigit()):
            raise BindError(f"AlterTable {key} failed with value {value}", span=given.span(key))


def check_changes(table: Table, given: Given) -> None:
    """BindError if SET TBLPROPERTIES would change what cannot change, or make transactional what
    cannot be.
    """
    asked, mode = given.flag(TRANSACTIONAL), given.values.get(MODE)
    _check_insert_only(table, given)
    if asked is False and table.is_insert_only:
        raise _not_back(given.span(TRANSACTIONAL))
    if asked is False and (table.is_full_acid or given.values[TRANSACTIONAL].lower() != "false"):
        raise _cannot_be_unset(table, given.span(TRANSACTIONAL))
    if (
        table.is_transactional
        and mode is not None
        and mode.lower() != table.properties.get(MODE, "").lower()
    ):
        message = (
            "TBLPROPERTIES with 'transactional_properties' cannot be altered after the table is"
            " created"
        )
        raise BindError(message, span=given.span(MODE))
    if mode is not None:
        _mode(mode, table.name, given)
    after = altered(table, given.values)
    if asked and not table.is_transactional:
        check_new_table(after, given, None)
        _check_no_directories(after, given)
    if table.is_transactional and after.kind is TableKind.EXTERNAL:
        message = (
            f"{table.name} cannot be converted to external table as it is transactional table."
        )
        raise BindError(message, span=given.span(EXTERNAL))


def check_unset(table: Table, keys: Mapping[str, Span]) -> None:
    """BindError if one of the keys is what makes the table transactional, or tells what others have
    written of it.
    """
    for key, span in keys.items():
        if key.startswith(ATTACHED):
            raise BindError(f'property "{key}" is not for users', span=span)
        if table.is_full_acid and key.lower() == TRANSACTIONAL:
            raise _cannot_be_unset(table, span)
        if table.is_insert_only and key.lower() in (TRANSACTIONAL, MODE):
            raise _not_back(span)


def stamped(table: Table, now: int) -> Table:
    """With the time its definition last changed, in epoch seconds."""
    return replace(table, properties={**table.properties, "transient_lastDdlTime": str(now)})


def transactions_of(table: Table) -> str:
    """In words."""
    return (
        "full ACID"
        if table.is_full_acid
        else "insert-only"
        if table.is_insert_only
        else "not transactional"
    )


def altered(table: Table, values: Mapping[str, str]) -> Table:
    """The table with these properties set: some are more than properties, and ``transactional`` =
    ``false`` means without it.
    """
    properties = {**table.properties, **values}
    if properties.get(TRANSACTIONAL, "").lower() == "true":
        properties[MODE] = properties.get(MODE, "default").lower()
    else:
        properties.pop(TRANSACTIONAL, None)
    comment = properties.pop("comment", table.comment)
    external = values.get(EXTERNAL)
    kind = table.kind
    if external is not None:
        kind = TableKind.EXTERNAL if external.lower() == "true" else TableKind.MANAGED
    return replace(table, properties=properties, comment=comment, kind=kind)


def _check_insert_only(table: Table, given: Given) -> None:
    """Hive's checks before it asks the metastore; they know only what the statement says."""
    asked, mode = given.flag(TRANSACTIONAL), given.values.get(MODE)
    if asked is False and mode is None:
        raise BindError(
            "Cannot change 'transactional' without 'transactional_properties'",
            span=given.span(TRANSACTIONAL),
        )
    transactional = table.is_transactional if asked is None else asked
    if mode is not None and mode.lower() == "insert_only" and not transactional:
        message = (
            "Cannot set 'transactional_properties' to 'insert_only' without setting 'transactional'"
            " to 'true'"
        )
        raise BindError(message, span=given.span(MODE))


def _check_no_directories(table: Table, given: Given) -> None:
    """Hive: AlterTableSetPropertiesOperation.checkMmLb."""
    if table.is_insert_only and table.skew is not None and table.skew.directories:
        message = "Converting list bucketed tables stored as subdirectories to MM is not supported"
        raise BindError(
            message, hint="Make a table anew in the desired format.", span=given.span(MODE)
        )


def _mode(value: str, name: TableName, given: Given) -> str:
    if value.lower() not in MODES:
        reason = f"unknown value {value.lower()} for transactional_properties"
        message = f"Invalid transactional properties specified for {name} with the error {reason}"
        raise BindError(message, span=given.span(MODE))
    return value.lower()


def _cannot_be_unset(table: Table, span: Span) -> BindError:
    return BindError(
        f"TBLPROPERTIES with 'transactional'='true' cannot be unset: {table.name}", span=span
    )


def _not_back(span: Span) -> BindError:
    return BindError("Cannot convert an ACID table to non-ACID", span=span)
