"""Statements printed: one canonical text each, and parsing it gives the statement again."""

from __future__ import annotations

import doctest
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from acidsql.errors import Error, Span
from acidsql.parser import statements as ast
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from tests.parser.generated import made_up_statements
from tests.parser.printing import print_statement
from tests.parser.texts import any_text, golden_statements, settings_text

README = Path(__file__).resolve().parents[2] / "grammar" / "README.md"


def without_spans(value: Any) -> Any:
    """What a statement says, in tuples; the tokens of a fragment are its text, with places."""
    if isinstance(value, tuple):
        return tuple(without_spans(item) for item in value)
    if not is_dataclass(value):
        return value
    found = ((field.name, getattr(value, field.name)) for field in fields(value))
    return type(value), *(
        (name, without_spans(item))
        for name, item in found
        if not isinstance(item, Span) and name != "tokens"
    )


def assert_comes_back(statement: ast.Statement) -> None:
    printed = print_statement(statement)
    assert without_spans(parse(printed)) == without_spans(statement), printed
    assert print_statement(parse(printed)) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("select  1", "select  1"),
        ("insert into db.t values (1,'a') , (2, default)", "INSERT INTO TABLE db.t VALUES (1, 'a'), (2, default)"),
        ("INSERT OVERWRITE t (a,b) PARTITION(ds='x',hr) SELECT 1", "INSERT OVERWRITE TABLE t PARTITION (ds = 'x', hr) (a, b) SELECT 1"),
        ("FROM s INSERT INTO t SELECT a INSERT INTO u SELECT b", "FROM s\nINSERT INTO TABLE t SELECT a\nINSERT INTO TABLE u SELECT b"),
        ("UPDATE t x SET a=1,b=default WHERE c", "UPDATE t AS x SET a = 1, b = default WHERE c"),
        ("delete from t where `a` = 1", "DELETE FROM t WHERE `a` = 1"),
        (
            "MERGE INTO t USING s y ON t.a=y.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY TARGET THEN INSERT (a) VALUES (y.a)",
            "MERGE INTO t\nUSING s AS y\nON t.a=y.a\nWHEN MATCHED THEN DELETE\nWHEN NOT MATCHED THEN INSERT (a) VALUES (y.a)",
        ),
        ("explain formatted delete from t", "EXPLAIN FORMATTED DELETE FROM t"),
        (
            "create table t(a int comment 'x' not null, unique(a)) location '/x' stored as orc",
            "CREATE TABLE t (a int NOT NULL COMMENT 'x', UNIQUE (a)) STORED AS orc LOCATION '/x'",
        ),
        ("create external table t like s location '/x'", "CREATE EXTERNAL TABLE t LIKE s LOCATION '/x'"),
        ("drop schema if exists `a b` cascade", "DROP DATABASE IF EXISTS `a b` CASCADE"),
        ("truncate t partition(ds='x')", "TRUNCATE TABLE t PARTITION (ds = 'x')"),
        ("show tables from db 'a*'", "SHOW TABLES IN db LIKE 'a*'"),
        ("desc extended t c", "DESCRIBE EXTENDED t c"),
        ("msck table t", "MSCK TABLE t"),
        ("alter table t change a b int first", "ALTER TABLE t CHANGE COLUMN a b int FIRST"),
        (
            "alter table t compact 'major' order by a desc pool 'p' and wait",
            "ALTER TABLE t COMPACT 'major' AND WAIT POOL 'p' ORDER BY a DESC",
        ),
        ("begin", "START TRANSACTION"),
        ("show locks database d extended", "SHOW LOCKS DATABASE d EXTENDED"),
        ("show transaction 07", "SHOW TRANSACTION 7"),
        ("abort transactions 1 2", "ABORT TRANSACTIONS 1 2"),
        ("set a.b = 'c;d' ;", "SET a.b='c;d'"),
        ("SET a =\n it's; ", "SET a=\nit's;"),
        ("reset", "RESET"),
    ],
)  # fmt: skip
def test_each_statement_has_one_text(text: str, printed: str) -> None:
    """Keywords in upper case, clauses in Hive's order, slices of the source as they are."""
    assert print_statement(parse(text)) == printed


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("Ab_1", "Ab_1"),
        ("date", "`date`"),
        ("compact", "`compact`"),
        ("1a", "`1a`"),
        ("a`b", "`a``b`"),
    ],
)
def test_names_are_quoted_where_they_must(name: str, printed: str) -> None:
    """A name that is a word of Hive's or ours, or no plain word, stands in backticks."""
    quoted = name.replace("`", "``")
    assert print_statement(parse(f"USE `{quoted}`")) == f"USE {printed}"


def test_strings_are_escaped() -> None:
    """Control characters, quotes, and what would be a variable are written as escapes, so that a
    string stays on its line.
    """
    text = r"""CREATE DATABASE d COMMENT "it's\n\t\\${x}" """
    assert print_statement(parse(text)) == r"CREATE DATABASE d COMMENT 'it\'s\n\t\\\u0024{x}'"


def test_a_long_statement_is_printed_a_clause_a_line() -> None:
    """Short ones stay on one line; in a long one the columns stand in lines of their own too."""
    column = "a_rather_long_name_for_a_column decimal(10,2) COMMENT 'more of it'"
    printed = print_statement(parse(f"CREATE TABLE t ({column}, {column}) STORED AS ORC"))
    assert printed == f"CREATE TABLE t (\n  {column},\n  {column}\n)\nSTORED AS ORC"


@pytest.mark.parametrize("text", golden_statements())
def test_a_parsed_statement_comes_back(text: str) -> None:
    """Printing a statement of the goldens and parsing it again is the identity, and printing
    settles at once.
    """
    assert_comes_back(parse(text))


@settings(max_examples=300)
@given(made_up_statements())
def test_a_made_up_statement_comes_back(statement: ast.Statement) -> None:
    """The same for whatever the dataclasses can hold: any names, any strings, every clause there or
    not.
    """
    assert_comes_back(statement)


@given(any_text() | settings_text())
def test_whatever_parses_comes_back(text: str) -> None:
    """The same for every text that happens to be a statement."""
    try:
        statement = parse(text)
    except Error:
        return
    assert_comes_back(statement)


def test_printed_statements_make_a_script() -> None:
    """Printed statements, each closed by a semicolon, come apart as they were."""
    printed = [print_statement(parse(text)) for text in golden_statements()]
    assert [found.text for found in split("".join(f"{text};\n" for text in printed))] == printed


def test_the_examples_of_the_readme_are_true() -> None:
    """What grammar/README.md prints is what is printed."""
    found = doctest.testfile(str(README), module_relative=False)
    assert (found.failed, found.attempted) == (0, 3)
