"""What SQLAlchemy's own tests may ask of acidsql: what is closed, each with its reason."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

_OPEN = """
    boolean_col_expressions
    comment_reflection
    comment_reflection_full_unicode
    create_or_replace_view
    create_table_as
    ctes
    ctes_with_values
    cross_schema_fk_reflection
    date_historic
    datetime_historic
    datetime_literals
    except_
    fetch_expression
    fetch_first
    fetch_no_order_by
    foreign_key_constraint_name_reflection
    implicit_default_schema
    infinity_floats
    inline_check_constraint_reflection
    intersect
    isolation_level
    autocommit
    check_constraint_reflection
    mod_operator_as_percent_sign
    nullsordering
    order_by_label_with_expression
    precision_numerics_enotation_small
    precision_numerics_many_significant_digits
    precision_numerics_retains_significant_digits
    reflect_table_options
    reflects_pk_names
    regexp_match
    regexp_replace
    schema_create_delete
    server_defaults
    supports_bitwise_and
    supports_bitwise_not
    supports_bitwise_or
    supports_bitwise_shift
    supports_bitwise_xor
    supports_is_distinct_from
    table_ddl_if_exists
    table_value_constructor
    timestamp_microseconds
    tuple_in
    tuple_in_w_empty
    views
    window_functions
    window_range
    window_range_numeric
"""

_CLOSED = """
    autoincrement_without_sequence  Hive has no autoincrement: the client gives the keys
    autoincrement_insert        Hive has no autoincrement: the client gives the keys
    duplicate_key_raises_integrity_error  keys are not enforced, as in Hive
    expression_server_defaults  Hive has literals and a few functions for a DEFAULT alone
    implements_get_lastrowid    the client gives the keys
    self_referential_foreign_keys  the parent of a foreign key is to exist before it
    unicode_ddl                 Hive's names are letters, digits and underscores
    unusual_column_name_characters  Hive's names are letters, digits and underscores
    uuid_data_type              Hive has no type UUID: Uuid is text
    identity_columns            Hive has none
    index_reflection            Hive has no indexes
    indexes_with_ascdesc        Hive has no indexes
    reflect_indexes_with_ascdesc  Hive has no indexes
    on_update_cascade           foreign keys are not enforced
    temp_table_reflection       acidsql has no temporary tables
    temporary_tables            acidsql has no temporary tables
    time                        Hive has no type for a time of day
    time_implicit_bound         Hive has no type for a time of day
    time_microseconds           Hive has no type for a time of day
"""


_LOWER = "Hive keeps names of columns and constraints in lower case"
_IN_TRANSACTION = "catalog statements are refused in a transaction that has changed rows"
_NO_INDEX = "Hive has no indexes"

SKIPPED = {
    "CTETest::test_select_recursive_round_trip": "Hive's SQL has no WITH RECURSIVE",
    "ComponentReflectionTest::test_get_foreign_keys_quoted_name": _LOWER,
    "ComponentReflectionTest::test_get_pk_constraint_quoted_name": _LOWER,
    "ComponentReflectionTest::test_get_unique_constraints_quoted_name": _LOWER,
    "ComponentReflectionTestExtra::test_check_constraint_inline": _LOWER,
    "ComponentReflectionTestExtra::test_check_constraint_standalone": _LOWER,
    "InsertBehaviorTest::test_insert_from_select_autoinc": "Hive has no autoincrement",
    "InsertBehaviorTest::test_insert_from_select_autoinc_no_rows": "Hive has no autoincrement",
    "InsertBehaviorTest::test_autoclose_on_insert_implicit_returning": "Hive has no autoincrement",
    "IsolationLevelTest::test_dialect_user_setting_is_restored": "there is one isolation level",
    "LongNameBlowoutTest::test_long_convention_name[ix": _NO_INDEX,
    "NameDenormalizeTest::test_cols_driver_cols": _LOWER,
    "TableViaSelectTest::test_view_dependencies_with_metadata": _IN_TRANSACTION,
}
"""Tests for which SQLAlchemy has no flag, with or without their parameters, and why."""


def _flag(*, is_open: bool) -> Any:
    return property(lambda self: exclusions.open() if is_open else exclusions.closed())


class Requirements(SuiteRequirements):
    """SQLAlchemy's flags; those which are not named are as its suite has them."""


for _name in _OPEN.split():
    setattr(Requirements, _name, _flag(is_open=True))
for _line in _CLOSED.strip().splitlines():
    setattr(Requirements, _line.split()[0], _flag(is_open=False))
