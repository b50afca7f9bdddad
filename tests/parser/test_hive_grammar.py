"""Hive's own parser and ours, statement by statement: the jars of PySpark hold the grammar of Hive
2.3.

The statements lie in hive_statements.sql, under headings that say who accepts them; the table below
gives the reason for each heading under which the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from acidsql.errors import Error, ParseError, UnsupportedStatementError
from acidsql.parser.parse import parse
from tests.parser.printing import print_statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The second is what a MERGE without WHEN meets.
REFUSALS = ("ParseException", "RewriteEmptyStreamException")
STATEMENTS = Path(__file__).with_name("hive_statements.sql")


class Verdict(NamedTuple):
    """``ours``: None where acidsql accepts the statement, else the class of its error."""

    ours: type[Error] | None
    hive: bool
    reason: str = ""


VERDICTS: Mapping[str, Verdict] = {
    "both": Verdict(None, True),
    "neither": Verdict(ParseError, False),
    # what Hive 2.3 refuses
    "newer": Verdict(None, False, "Hive 3 or 4 has it"),
    "own": Verdict(None, False, "acidsql has it beyond Hive: aliases of UPDATE and DELETE, more arms of MERGE, BEGIN, TABLE left out"),
    "spark": Verdict(None, False, "a query is whatever Spark can run"),
    "order": Verdict(None, False, "clauses stand in any order, and optional words may be left out everywhere"),
    "later": Verdict(None, False, "expressions and types are slices here; the binder looks into them and refuses"),
    "names": Verdict(None, False, "a word that no clause begins with here is a name: DATABASE, the table"),
    "foreign": Verdict(UnsupportedStatementError, False, "other systems have it; the error says what is written instead"),
    # what Hive 2.3 accepts
    "unsupported": Verdict(UnsupportedStatementError, True, "known and not supported; the error says so"),
    "left out": Verdict(
        ParseError, True,
        "rare forms: SELECT or a directory among the branches of a multi-insert, ==, properties without or with a value too many, "
        "TRUNCATE .. COLUMNS, partitioned views, a pattern without quotes, a field of a column",
    ),
}  # fmt: skip

# Where the printed statement is another tree for Hive.
OTHER_TREES: Mapping[str, str] = {
    """CREATE TABLE t (id INT) TBLPROPERTIES ("a" = "b", 'c' = 'd')""": "Hive's tree holds strings with their quotes; single ones are printed",
    "DROP SCHEMA d RESTRICT": "RESTRICT is the default and not printed",
    "ALTER TABLE t ADD COLUMNS (a INT) RESTRICT": "RESTRICT is the default and not printed",
}


@cache
def statements() -> Mapping[str, tuple[str, ...]]:
    """Heading -> its statements."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in STATEMENTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- ["):
            heading = line[4:-1]
            found[heading] = []
        elif line and not line.startswith("--"):
            found[heading].append(line)
    return {key: tuple(texts) for key, texts in found.items()}


def error_of(text: str) -> type[Error] | None:
    try:
        parse(text)
    except Error as error:
        return type(error)
    return None


def test_the_corpus_is_large_and_every_heading_is_explained() -> None:
    """At least 300 statements, none twice, under the headings of the table; where the verdicts
    differ there is a reason.
    """
    texts = [text for found in statements().values() for text in found]
    assert len(texts) == len(set(texts)) >= 300
    assert set(statements()) == set(VERDICTS)
    assert all(
        verdict.reason for verdict in VERDICTS.values() if (verdict.ours is None) != verdict.hive
    )


@pytest.mark.parametrize("heading", VERDICTS)
def test_acidsql_judges_each_statement_as_its_heading_says(heading: str) -> None:
    """Accepted, wrong, or not supported."""
    expected = VERDICTS[heading].ours
    assert [
        (text, error_of(text)) for text in statements()[heading] if error_of(text) is not expected
    ] == []


HiveParser = Callable[[str], str | None]


@pytest.fixture(scope="module")
def hive(spark: SparkSession) -> HiveParser:
    """Hive's tree of a statement as text, or None where Hive refuses it."""
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark._jvm
    package = jvm.org.apache.hadoop.hive.ql
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    # a context wants them; parsing makes no use of them
    for key in (
        "_hive.hdfs.session.path",
        "_hive.local.session.path",
    ):
        conf.set(key, "/nowhere")
    context = package.Context(conf)

    def tree(text: str) -> str | None:
        try:
            return str(package.parse.ParseDriver().parse(text, context).toStringTree())
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() not in REFUSALS:
                raise
            return None

    return tree


@pytest.mark.spark
def test_hive_judges_each_statement_as_its_heading_says(hive: HiveParser) -> None:
    """Hive's verdict is the one of the table, so that every difference has its reason."""
    found = {text: heading for heading, texts in statements().items() for text in texts}
    assert {
        text: heading
        for text, heading in found.items()
        if (hive(text) is not None) != VERDICTS[heading].hive
    } == {}


@pytest.mark.spark
def test_what_is_printed_means_the_same_to_hive(hive: HiveParser) -> None:
    """The canonical text of a statement that both accept is the same tree to Hive, but for what the
    table excepts.
    """
    other = {
        text for text in statements()["both"] if hive(print_statement(parse(text))) != hive(text)
    }
    assert other == set(OTHER_TREES)


@pytest.mark.spark
def test_words_that_are_no_names_for_hive_are_printed_in_backticks(
    hive: HiveParser, spark: SparkSession
) -> None:
    """Of all the words of Hive's grammar, those it takes for no table's name are never printed
    bare.
    """
    names = spark._jvm.org.apache.hadoop.hive.ql.parse.HiveParser.tokenNames
    words = [name.removeprefix("KW_") for name in names if name.startswith("KW_")]
    assert len(words) > 200
    reserved = [word for word in words if hive(f"DROP TABLE {word}") is None]
    assert "SELECT" in reserved
    assert [
        word
        for word in reserved
        if print_statement(parse(f"DROP TABLE `{word}`")) != f"DROP TABLE `{word}`"
    ] == []
