"""A literal means one thing: VALUES stores what SELECT stores, and where docs/semantics.md says
nothing else, what Hive stores.

hive_literals.json is what Hive 4.0.1 gave for each literal as each type: the text of the value,
NULL, or ERROR where it refused it. INSERT .. VALUES and CAST agreed there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acidsql.catalog.types import parse_type
from acidsql.errors import Error
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.spark_words import store_cast
from acidsql.expressions.stores import stored
from acidsql.parser.parameters import literal
from acidsql.session import Session

pytestmark = pytest.mark.spark

HIVE: Mapping[str, Mapping[str, str | None]] = json.loads(
    (Path(__file__).parent / "hive_literals.json").read_text("utf-8")
)
TYPES = tuple(HIVE["0"])
SOME = ("smallint", "double", "decimal(10,2)", "date", "timestamp", "varchar(5)")
"""Those that every run tries; the slow group has the others."""
REFUSED = "ERROR"


def is_plain(text: str, hive_type: str) -> bool:
    """Whether VALUES takes it without Spark."""
    try:
        stored(text, parse_type(hive_type))
    except NotHere:
        return False
    return True


def taken(session: Session, literals: Sequence[str], hive_type: str) -> list[str]:
    """Those that Spark stores as the type: it refuses some."""
    casts = ["".join(store_cast((text,), parse_type(hive_type))) for text in literals]
    try:
        session.sql(f"SELECT {', '.join(casts)}").to_arrow()
    except Error:
        if len(literals) <= 1:
            return []
        half = len(literals) // 2
        return [
            *taken(session, literals[:half], hive_type),
            *taken(session, literals[half:], hive_type),
        ]
    return list(literals)


def by_select(session: Session, literals: Sequence[str], hive_type: str) -> dict[str, str | None]:
    """What INSERT .. SELECT stores, as text."""
    return _inserted(session, literals, hive_type, "SELECT {}")


def by_values(session: Session, literals: Sequence[str], hive_type: str) -> dict[str, str | None]:
    """What INSERT .. VALUES stores, as text."""
    return _inserted(session, literals, hive_type, "VALUES ({})")


def _inserted(
    session: Session, literals: Sequence[str], hive_type: str, source: str
) -> dict[str, str | None]:
    """Each literal has a column of its own, so that few statements do for many."""
    if not literals:
        return {}
    columns = [f"c{i}" for i in range(len(literals))]
    session.sql("DROP TABLE IF EXISTS t")
    session.sql(f"CREATE TABLE t ({', '.join(f'{c} {hive_type}' for c in columns)}) STORED AS ORC")
    session.sql(f"INSERT INTO t {source.format(', '.join(literals))}")
    texts = "hex({})" if hive_type == "binary" else "CAST({} AS STRING)"
    (row,) = session.sql(f"SELECT {', '.join(texts.format(c) for c in columns)} FROM t").rows()
    return dict(zip(literals, row, strict=True))


# ---- Hive

NUMBER = re.compile(r"[+-]?[0-9.]+(?P<exponent>e[+-]?[0-9]+)?(?P<suffix>[A-Z]+)?", re.IGNORECASE)
INTEGERS = ("tinyint", "smallint", "int", "bigint")
TEXTS = ("string", "varchar(5)", "char(5)")


def _is_text(text: str) -> bool:
    return text[0] == "'"


def _is_decimal(text: str) -> bool:
    found = NUMBER.fullmatch(text)
    if found is None or found["exponent"] or found["suffix"] not in (None, "BD"):
        return False
    return "." in text or abs(int(text.removesuffix("BD"))) >= 1 << 63 or bool(found["suffix"])


Different = Callable[[str, str], bool]
DOCUMENTED: dict[str, Different] = {
    "text to BOOLEAN": lambda text, kind: _is_text(text) and kind == "boolean",
    "a truth value as text": lambda text, kind: text in ("TRUE", "FALSE") and kind in TEXTS,
    "a DECIMAL as text": lambda text, kind: _is_decimal(text) and kind in TEXTS,
    "a DECIMAL too large for an integer column": lambda text, kind: (
        _is_decimal(text) and kind in INTEGERS
    ),
    "a literal of more than 28 digits": lambda text, kind: (
        _is_decimal(text) and len(text) > 29 and kind in ("boolean", "float", "double")
    ),
    "minus zero": lambda text, kind: text in ("-0e0", "-0.0D"),
    "blanks around a number in a text": lambda text, kind: (
        re.fullmatch(r"'(\\u00..)?1(\\n)?'", text) is not None
    ),
    "digits of other scripts": lambda text, kind: (
        re.search(r"\\u(06|ff)", text) is not None and "decimal" in kind
    ),
    "a point alone": lambda text, kind: text == "'.'" and kind in INTEGERS,
    "names of numbers": lambda text, kind: (
        text.lower() in ("'nan'", "'inf'", "'-inf'") and kind in ("float", "double")
    ),
    "text to DECIMAL": lambda text, kind: text == "'1e-400'" and "decimal" in kind,
    "text to DATE and TIMESTAMP": lambda text, kind: (
        _is_text(text) and kind in ("date", "timestamp")
    ),
    "TRUE as TIMESTAMP": lambda text, kind: text == "TRUE" and kind == "timestamp",
}


def agrees(ours: str | None, hive: str | None, kind: str) -> bool:
    if ours is None or hive is None or "decimal" not in kind:
        return ours == hive
    try:
        return Decimal(ours) == Decimal(hive)
    except InvalidOperation:
        return False


@pytest.mark.parametrize(
    "hive_type",
    [one if one in SOME else pytest.param(one, marks=pytest.mark.slow) for one in TYPES],
)
def test_values_select_and_hive(session: Session, hive_type: str) -> None:
    """Every literal is stored alike by both ways, and as Hive does but for what docs/semantics.md
    says.
    """
    candidates = [text for text, row in HIVE.items() if row.get(hive_type, "") != REFUSED]
    # in two parts: what is refused is in the second, and looked for among fewer
    parts = [
        [text for text in candidates if is_plain(text, hive_type) is how] for how in (True, False)
    ]
    plain, others = (taken(session, part, hive_type) for part in parts)
    literals = [*plain, *others]
    assert len(literals) > 100
    assert len(plain) > 50
    values = by_values(session, plain, hive_type)
    selected = by_select(session, literals, hive_type)
    assert values == {text: selected[text] for text in plain}
    for text, ours in selected.items():
        hive = HIVE[text].get(hive_type, ours)
        if not agrees(ours, hive, hive_type):
            reasons = [name for name, holds in DOCUMENTED.items() if holds(text, hive_type)]
            assert reasons, f"{text} as {hive_type}: Hive has {hive}, we have {ours}"


def test_every_difference_is_there() -> None:
    """No excuse of this test is idle: each is for something in Hive's table."""
    for name, holds in DOCUMENTED.items():
        assert any(holds(text, kind) for text, row in HIVE.items() for kind in row), name


@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "2e308", "1e400D", "128Y", "9" * 39, "9" * 28 + "." + "9" * 11]
)
def test_what_no_type_holds(session: Session, text: str) -> None:
    """A number that no literal can be is refused by both ways, as Hive refuses most of them."""
    session.sql("CREATE TABLE n (d DOUBLE, s STRING)")
    for source in (f"VALUES ({text}, {text})", f"SELECT {text}, {text}"):
        with pytest.raises(Error):
            session.sql(f"INSERT INTO n {source}")
    assert session.sql("SELECT * FROM n").to_arrow().num_rows == 0


def test_rows_do_not_change_each_other(session: Session) -> None:
    """Each value is stored by itself, though Spark computes one of the rows.

    No common type of the rows is looked for.
    """
    session.sql("CREATE TABLE n (id INT, d DOUBLE, s STRING)")
    session.sql(
        "INSERT INTO n VALUES (1, 0.5, 1.5), (2, '2', 1.25), (3, 1 + 1, true), (4, NULL, 1e0)"
    )
    rows = session.sql("SELECT d, s FROM n ORDER BY id").rows()
    assert list(rows) == [(0.5, "1.5"), (2.0, "1.25"), (2.0, "true"), (None, "1.0")]


# ---- any literal

DIGITS = st.text("0123456789", min_size=1, max_size=20)
SIGNS = st.sampled_from(["", "-", "+"])
EXPONENTS = st.sampled_from(["", "", "", "e0", "E3", "e-3", "e10", "e-12", "e30", "e-40", "e300"])
WHOLE = st.one_of(
    DIGITS,
    st.sampled_from(
        [str(2**n + d) for n in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for d in (-1, 0, 1)]
    ),
)
NUMBERS = st.builds("{}{}{}{}{}".format, SIGNS, WHOLE, st.one_of(st.just(""), DIGITS.map(".{}".format)), EXPONENTS, st.sampled_from(["", "", "", "D", "L", "BD", "S"]))  # fmt: skip
ARABIC_YEAR = "\u0662\u0660\u0662\u0664"
BLANKS = st.text(" \t\n\x01\x1f\x7f\x85\u00a0\u2003\u3000", max_size=2)
NUMBER_TEXTS = st.builds("{}{}{}".format, BLANKS, st.one_of(NUMBERS, st.sampled_from([".", "+", "inf", "nan", "Infinity", "0x1p3", "1e", ARABIC_YEAR, "1\u0663", "\uff11.5"])), BLANKS)  # fmt: skip
TWO = st.integers(0, 61).flatmap(lambda n: st.sampled_from([str(n), f"{n:02}"]))
DAYS = st.builds(
    "{}{}-{}-{}{}".format,
    BLANKS,
    st.sampled_from(["2024", "1582", "1600", "9999", "0001", "12024", ARABIC_YEAR]),
    TWO,
    TWO,
    BLANKS,
)
TIMES = st.builds("{}{}{}:{}:{}{}".format, DAYS, st.sampled_from([" ", "T", "  "]), TWO, TWO, TWO, st.one_of(st.just(""), DIGITS.map(".{}".format)))  # fmt: skip
WORDS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["true", "T", "Yes", "n", "off", "abc", "2024", "2024-02", "epochs", "ab   "]),
    BLANKS,
)
PYTHON = st.one_of(
    st.booleans(),
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False, places=10).filter(lambda d: abs(d) < 10**27),
    st.text(max_size=8),
    st.datetimes(),
    st.dates(),
)


LITERALS = st.one_of(
    NUMBERS,
    st.one_of(NUMBER_TEXTS, DAYS, TIMES, WORDS).filter(lambda text: "\0" not in text).map(literal),
    PYTHON.map(literal),
    st.sampled_from(
        ["NULL", "TRUE", "false", "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 10:00:00.5'"]
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("hive_type", TYPES)
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(literals=st.lists(LITERALS, min_size=40, max_size=60, unique=True))
def test_any_literal_by_both_ways(session: Session, hive_type: str, literals: list[str]) -> None:
    """Whatever the literal and the type, VALUES (also of parameters) stores what SELECT stores."""
    plain = [text for text in literals if is_plain(text, hive_type)]
    known = taken(session, plain, hive_type)
    assert known == plain, "VALUES takes what Spark refuses"
    assert by_values(session, known, hive_type) == by_select(session, known, hive_type)
