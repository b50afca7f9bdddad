"""What conditions say of partitions: Spark's answers, or none."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.catalog.model import DEFAULT_PARTITION, Column, Partition
from acidsql.catalog.partitions import partition_name
from acidsql.catalog.types import parse_type
from acidsql.expressions import pruning
from acidsql.expressions.pruning import Pruning, Wanted, rejects_nulls
from acidsql.expressions.reader import read_condition
from acidsql.expressions.spark_words import spark_type, text_literal
from acidsql.expressions.tree import PartitionCondition
from acidsql.expressions.values import INT, STRING, UNKNOWN
from acidsql.expressions.vectors.functions import FUNCTIONS, Function, of
from acidsql.parser.tokens import tokenize
from tests.expressions.pruning_cases import ASKED, COLUMNS, DECIDED, ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def condition(sql: str) -> PartitionCondition:
    tree = read_condition(sql, tokenize(sql))
    assert tree is not None
    return PartitionCondition(sql=sql, tree=tree)


_ANSWERS = {
    pruning.TRUE: True,
    pruning.FALSE: False,
    pruning.NULL: None,
    pruning.IN_DOUBT: UNKNOWN,
}


def answers(
    sql: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, ansi: bool = False
) -> list[Any]:
    """True, False, None or UNKNOWN for each row of texts."""
    found = pruning.answers(columns, rows, condition(sql).tree, ansi=ansi)
    return [_ANSWERS[one] for one in found]


def answer(sql: str, hive_type: str, text: str, *, ansi: bool = False) -> Any:
    """Of a condition over one column ``c``."""
    return answers(sql, [Column(name="c", type=parse_type(hive_type))], [[text]], ansi=ansi)[0]


# ---- single answers


@pytest.mark.parametrize(
    ("sql", "hive_type", "text", "expected"),
    [
        ("c = 'a'", "string", "a", True),
        ("c = 'a'", "string", "b", False),
        ("c = 'a'", "string", DEFAULT_PARTITION, None),
        ("c <=> NULL", "string", DEFAULT_PARTITION, True),
        ("c IS NULL", "int", DEFAULT_PARTITION, True),
        ("c <> 'a'", "string", DEFAULT_PARTITION, None),
        ("NOT c = 'a'", "string", DEFAULT_PARTITION, None),
        ("c NOT IN ('a', NULL)", "string", "b", None),
        ("c IN ('a', NULL)", "string", "a", True),
        ("c = 'a' OR NULL", "string", "a", True),
        ("c = 'a' AND NULL", "string", "a", None),
        # text and numbers: a number in a comparison, text in a list
        ("c = 5", "string", "05", True),
        ("c = 5", "string", "5.9", True),
        ("c = 5", "string", "five", None),
        ("c IN (5)", "string", "05", False),
        ("c = '05'", "int", "5", True),
        ("c IN ('05')", "int", "5", False),
        ("c > '9'", "string", "10", False),
        ("c > '9'", "int", "10", True),
        ("c = '2024-1-1'", "date", "2024-01-01", True),
        ("c IN ('2024-1-1')", "date", "2024-01-01", False),
        # values
        ("c = 5", "int", "05", True),
        ("c = 1.5", "decimal(10,2)", "1.5", True),
        ("c = 1.505", "decimal(10,2)", "1.5", False),
        ("c = 300", "tinyint", "44", False),
        ("c", "boolean", "true", True),
        ("CAST(c AS TINYINT) = 44", "int", "300", True),
        ("c % 3 = -1", "int", "-7", True),
        ("c DIV 2 = -3", "int", "-7", True),
        ("c / 0 = 1", "int", "5", None),
        ("c + 1 > 0", "int", "2147483647", False),
        ("substr(c, -2, 1) = '0'", "string", "2024-01-01", True),
        ("last_day(c) = '2024-02-29'", "date", "2024-02-01", True),
        ("date_format(c, 'yyyyMM') = '202402'", "date", "2024-02-01", True),
        ("to_date(c, 'yyyyMMdd') = DATE '2024-02-01'", "string", "20240201", True),
    ],
)
def test_an_answer(sql: str, hive_type: str, text: str, expected: object) -> None:
    """True, False or NULL, as Spark says without ANSI semantics."""
    assert answer(sql, hive_type, text) is expected


@pytest.mark.parametrize(
    ("sql", "hive_type", "text"),
    [
        ("c = 5", "int", "five"),
        ("c = 5", "int", ""),
        ("c = DATE '2024-01-01'", "date", "2024-13-01"),
        ("c = 1.5", "decimal(10,2)", "1.505"),
        ("c = true", "boolean", "yes"),
        ("c = 'a '", "char(3)", "a "),
        ("c = 0.1", "float", "0.1"),
        # the clocks of a time zone may show a moment twice or leave it out
        ("c = TIMESTAMP '2024-03-31 02:30:00'", "timestamp", "2024-03-31 03:30:00"),
        ("year(c) = 2024", "timestamp", "2024-01-01 00:00:00"),
        ("date_format(c, 'yyyyMMdd') = '20111230'", "date", "2011-12-30"),
        # other alphabets, other days tomorrow, other engines of regular expressions
        ("upper(c) = 'STRASSE'", "string", "straße"),
        ("c = 'today'", "date", "2024-01-01"),
        (r"c RLIKE '(?i)a'", "string", "A"),
        ("c < 99999999999999999999", "int", DEFAULT_PARTITION),
        ("regexp_replace(c, '-', '') = '1'", "string", "-1"),
        ("CAST(c AS DECIMAL(5, 0)) = 5", "string", "५"),
    ],
)
def test_no_answer(sql: str, hive_type: str, text: str) -> None:
    """Nothing is said where Spark's answer is not certain, or the text is no value of its type."""
    assert answer(sql, hive_type, text) is UNKNOWN


@pytest.mark.parametrize(
    ("sql", "hive_type", "text"),
    [
        ("c = 5", "string", "five"),
        ("CAST(c AS INT) = 5", "string", "five"),
        ("c % 0 = 1", "int", "5"),
        ("c + 1 > 0", "int", "2147483647"),
        ("c = 'today'", "int", "2024"),
    ],
)
def test_no_answer_with_ansi_semantics(sql: str, hive_type: str, text: str) -> None:
    """With acidsql.ansi what may be an error is left to Spark."""
    assert answer(sql, hive_type, text) is not UNKNOWN
    assert answer(sql, hive_type, text, ansi=True) is UNKNOWN


# ---- partitions

_KEYS = (Column(name="ds", type=parse_type("string")), Column(name="hr", type=parse_type("int")))


def partitions(*values: tuple[str, str]) -> tuple[Partition, ...]:
    return tuple(Partition(values=v, location="/".join(v)) for v in values)


def pruned(given: Sequence[Partition], *conditions: str) -> Pruning:
    wanted = Wanted(columns=_KEYS, conditions=tuple(condition(sql) for sql in conditions))
    return wanted.prune(given)


def test_partitions_that_cannot_hold_rows_are_dropped() -> None:
    """A partition stays only if no condition is false or NULL for it; the order stays."""
    first, second, third, nothing = given = partitions(
        ("b", "1"), ("a", "1"), ("a", "2"), (DEFAULT_PARTITION, "1")
    )
    assert pruned(given) == Pruning(kept=given)
    assert pruned(given, "ds = 'a'").kept == (second, third)
    assert pruned(given, "ds <> 'a'").kept == (first,)
    assert pruned(given, "ds = 'a'", "hr = 1").kept == (second,)
    assert pruned(given, "ds = 'b' OR hr = 2").kept == (first, third)
    assert pruned(given, "ds IS NULL").kept == (nothing,)
    assert pruned((), "ds = 'a'") == Pruning(kept=())


def test_what_is_undecided_is_left_to_spark() -> None:
    """The text of a condition is handed on if it is in doubt for a partition that stays, and only
    then.
    """
    given = partitions(("a1", "1"), ("b", "2"), ("b", "two"))
    doubtful = "regexp_extract(ds, '[0-9]', 0) = '1'"
    assert pruned(given, doubtful) == Pruning(kept=given, undecided=(doubtful,))
    assert pruned(given, doubtful, "ds = 'c'") == Pruning(kept=())
    assert pruned(given, "hr = 2") == Pruning(kept=given[1:], undecided=("hr = 2",))
    assert pruned(given, "hr = 2", "ds = 'a1'") == Pruning(kept=())
    assert pruned(given, f"ds = 'b' OR {doubtful}").undecided == (f"ds = 'b' OR {doubtful}",)


def test_rows_of_nulls() -> None:
    """A condition rejects NULLs only if it is certainly not true for them."""
    types = {c.name: c.type for c in _KEYS}
    rejecting = ("ds = 'a'", "hr > 1 AND ds IS NULL", "NOT ds <=> hr", "coalesce(ds, 'b') = 'a'")
    assert all(rejects_nulls(types, condition(sql).tree) for sql in rejecting)
    others = (
        "ds IS NULL",
        "ds = 'a' OR hr IS NULL",
        "coalesce(ds, 'a') = 'a'",
        "soundex(ds) = 'A'",
    )
    assert not any(rejects_nulls(types, condition(sql).tree) for sql in others)


# ---- against a naive evaluator

_TYPES = {"s": "string", "i": "int", "d": "date"}
_DAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.date(2024, 12, 31)]
_VALUES: dict[str, list[Any]] = {"s": ["A", "a", "ab", "b"], "i": [-1, 0, 1, 2], "d": _DAYS}
_NAIVE = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def literal(value: Any) -> str:
    return (
        "NULL"
        if value is None
        else f"DATE '{value}'"
        if isinstance(value, datetime.date)
        else repr(value)
    )


def constants(column: str) -> st.SearchStrategy[Any]:
    return st.sampled_from([*_VALUES[column], None])


Tree = tuple[Any, ...]
names = st.sampled_from(list(_TYPES))
leaves: st.SearchStrategy[Tree] = st.one_of(
    names.flatmap(lambda c: st.tuples(st.sampled_from(list(_NAIVE)), st.just(c), constants(c))),
    names.flatmap(lambda c: st.tuples(st.just("BETWEEN"), st.just(c), constants(c), constants(c))),
    names.flatmap(
        lambda c: st.tuples(
            st.just("IN"), st.just(c), st.lists(constants(c), min_size=1, max_size=3)
        )
    ),
    st.tuples(st.just("IS NULL"), names),
)
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.just("NOT"), inner), st.tuples(st.sampled_from(["AND", "OR"]), inner, inner)
    ),
    max_leaves=8,
)
rows = st.fixed_dictionaries({c: constants(c) for c in _TYPES})


def text_of(tree: Tree) -> str:
    """The tree as SQL with no more brackets than it needs."""
    match tree:
        case ("NOT", inner):
            return f"NOT {bracketed(inner, 'AND', 'OR')}"
        case ("AND", left, right):
            return f"{bracketed(left, 'OR')} AND {bracketed(right, 'OR')}"
        case ("OR", left, right):
            return f"{text_of(left)} OR {text_of(right)}"
        case ("BETWEEN", column, low, high):
            return f"{column} BETWEEN {literal(low)} AND {literal(high)}"
        case ("IN", column, values):
            return f"{column} IN ({', '.join(map(literal, values))})"
        case ("IS NULL", column):
            return f"{column} IS NULL"
        case (sign, column, value):
            return f"{column} {sign} {literal(value)}"
    raise AssertionError(tree)


def bracketed(tree: Tree, *weaker: str) -> str:
    return f"({text_of(tree)})" if tree[0] in weaker else text_of(tree)


def naive(tree: Tree, row: dict[str, Any]) -> bool | None:
    """Three-valued logic by the book: AND is the least and OR the greatest of false <
    NULL < true.
    """
    match tree:
        case ("NOT", inner):
            found = naive(inner, row)
            return None if found is None else not found
        case ("AND" | "OR" as name, left, right):
            choose = min if name == "AND" else max
            return choose((naive(left, row), naive(right, row)), key=[False, None, True].index)
        case ("BETWEEN", column, low, high):
            return naive(("AND", (">=", column, low), ("<=", column, high)), row)
        case ("IN", column, [first, *rest]):
            equal: Tree = ("=", column, first)
            return naive(("OR", equal, ("IN", column, rest)) if rest else equal, row)
        case ("IS NULL", column):
            return row[column] is None
        case (sign, column, value):
            return (
                None
                if row[column] is None or value is None
                else bool(_NAIVE[sign](row[column], value))
            )
    raise AssertionError(tree)


@given(tree=trees, row=rows)
def test_answers_equal_a_naive_evaluators(tree: Tree, row: dict[str, Any]) -> None:
    """Any combination of plain comparisons is read and answered by the rules of
    three-valued logic.
    """
    columns = [Column(name=name, type=parse_type(kind)) for name, kind in _TYPES.items()]
    texts = [DEFAULT_PARTITION if row[name] is None else str(row[name]) for name in _TYPES]
    assert answers(text_of(tree), columns, [texts]) == [naive(tree, row)]


# ---- against Spark


def spark_answers(spark: SparkSession, conditions: Sequence[str]) -> list[list[bool | None]]:
    """Of each condition for each of ROWS."""
    shown = ", ".join(f"({sql})" for sql in conditions)
    found = spark.sql(f"SELECT {shown} FROM partition_values ORDER BY place").collect()
    return [[row[i] for row in found] for i in range(len(conditions))]


def values_view(spark: SparkSession) -> None:
    """``partition_values``: ROWS cast to the types of COLUMNS."""
    texts = (
        "NULL" if text == DEFAULT_PARTITION else text_literal(text) for row in ROWS for text in row
    )
    values = ", ".join(
        f"({place}, {', '.join(next(texts) for _ in COLUMNS)})" for place in range(len(ROWS))
    )
    casts = ", ".join(f"CAST({c.name} AS {spark_type(c.type)}) AS {c.name}" for c in COLUMNS)
    names = ", ".join(c.name for c in COLUMNS)
    spark.sql(
        f"SELECT place, {casts} FROM VALUES {values} AS given(place, {names})"
    ).createOrReplaceTempView("partition_values")


def test_every_decided_condition_is_decided_for_some_value() -> None:
    """The comparison with Spark is about something."""
    never = [sql for sql in DECIDED if all(a is UNKNOWN for a in answers(sql, COLUMNS, ROWS))]
    assert never == []


@pytest.mark.spark
@pytest.mark.parametrize("zone", ["UTC", "America/Sao_Paulo"])
def test_answers_are_sparks(spark: SparkSession, zone: str) -> None:
    """Wherever an answer is given, Spark gives the same, whatever the time zone."""
    from acidsql.spark.start.session import derive

    ours = derive(spark, {"spark.sql.session.timeZone": zone})
    values_view(ours)
    conditions = [*DECIDED, *ASKED]
    for begin in range(0, len(conditions), 40):
        some = conditions[begin : begin + 40]
        for sql, theirs in zip(some, spark_answers(ours, some), strict=True):
            mine = [
                t if a is UNKNOWN else a
                for a, t in zip(answers(sql, COLUMNS, ROWS), theirs, strict=True)
            ]
            assert mine == theirs, sql


def test_names_tell_what_values_tell() -> None:
    """A condition chooses the names of those partitions that it keeps, in their order, and names
    that do not tell: without a value, or none of the table's.
    """
    given = [Partition(values=tuple(row), location=str(at)) for at, row in enumerate(ROWS)]
    names = [partition_name([c.name for c in COLUMNS], row) for row in ROWS]
    for sql in DECIDED:
        wanted = Wanted(columns=tuple(COLUMNS), conditions=(condition(sql),))
        kept = {names[int(one.location)] for one in wanted.prune(given).kept}
        kept |= {name for name in names if DEFAULT_PARTITION in name}
        chosen = [name for name in names if name in kept]
        assert wanted.chosen(names) == chosen, sql
        assert wanted.chosen(["other=1", *names, "x"]) == ["other=1", *chosen, "x"], sql


# ---- chains of many terms

_TERMS = (
    *(f"c = '{i}'" for i in range(12)),
    *(f"c <> '{i}'" for i in range(12)),
    *("c = 3", "c <> 4", "d = 1", "d <> '2'", "c IS NULL", "c = NULL", "ascii(c) = 50", "c > '5'"),
    *(
        "(c = '1' AND d = 1)",
        "(d = 2 AND c = '1')",
        "(c <> '2' OR d = 1)",
        "(c = '3' AND hash(d) = 1)",
    ),
)


@given(
    st.lists(st.sampled_from(_TERMS), min_size=10, max_size=30), st.sampled_from([" OR ", " AND "])
)
def test_terms_that_are_looked_up_answer_as_asked(terms: list[str], joint: str) -> None:
    """A chain whose terms are found by the value they ask for says of every partition, NULL and
    unknown ones too, what all its terms say in turn.
    """
    columns = [
        Column(name="c", type=parse_type("string")),
        Column(name="d", type=parse_type("int")),
    ]
    rows = [
        (c, d)
        for c in (DEFAULT_PARTITION, "1", "2", "03", "11", "x", "")
        for d in (DEFAULT_PARTITION, "1", "2", "?")
    ]
    found = answers(joint.join(terms), columns, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "_LOOKED_UP", ())
        assert answers(joint.join(terms), columns, rows) == found


def test_a_value_is_asked_once() -> None:
    """What a hundred terms ask of the same value of a hundred partitions is computed once."""
    asked: list[tuple[str, ...]] = []
    columns = [
        Column(name="c", type=parse_type("string")),
        Column(name="d", type=parse_type("string")),
    ]
    terms = " OR ".join(f"(c = '{i}' AND instr(d, 'a') = 1)" for i in range(100))
    rows = [(str(i), "a") for i in range(100)]
    with pytest.MonkeyPatch.context() as patch:
        asks = of(STRING, STRING, gives=INT, value=lambda *texts: asked.append(texts) or 1)
        patch.setitem(FUNCTIONS, "INSTR", Function(vector=asks))
        assert answers(terms, columns, rows) == [True] * 100
    assert asked == [("a", "a")]
