"""Expressions over columns of every type, each under the line of docs/expressions.md it is about."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from acidsql.catalog.types import DecimalType, parse_type
from acidsql.spark_release import has_colon_casts

TYPES = {
    "x": "boolean", "x2": "boolean",
    "y": "tinyint", "y2": "tinyint", "h": "smallint", "h2": "smallint", "i": "int", "i2": "int", "b": "bigint", "b2": "bigint",
    "p": "int", "q": "int",
    "r": "float", "r2": "float", "f": "double", "f2": "double", "e": "double",
    "n": "decimal(10,2)", "n2": "decimal(10,2)", "m": "decimal(38,10)", "m2": "decimal(38,10)", "k": "decimal(38,0)", "w": "decimal(38,38)", "g": "decimal(5,5)",
    "s": "string", "s2": "string", "u": "string", "c": "char(4)", "v": "varchar(4)",
    "d": "date", "d2": "date", "t": "timestamp", "t2": "timestamp",
    "z": "binary", "z2": "binary",
}  # fmt: skip
COLUMNS = {name: parse_type(text) for name, text in TYPES.items()}
NOW = datetime.datetime(2026, 2, 28, 23, 59, 59, 123456)

_DAYS = [(1, 1, 1), (1582, 10, 4), (1582, 10, 10), (1582, 10, 15), (1900, 2, 28), (1969, 12, 31), (1970, 1, 1), (2000, 2, 29), (2024, 12, 31), (9999, 12, 31)]  # fmt: skip
_MARKS = "aAbBzZ019 .,%_-\t\n'\"\\éÉßİıſσςÄöжЖ日😀𐐷ŉ"


def _integers(bits: int) -> st.SearchStrategy[int]:
    half = 1 << bits - 1
    return st.one_of(
        st.integers(-3, 3),
        st.sampled_from([-half, -half + 1, half - 1]),
        st.integers(-half, half - 1),
    )


def _decimals(hive_type: DecimalType) -> st.SearchStrategy[Decimal]:
    top = 10**hive_type.precision - 1
    near = st.integers(-300, 300).map(lambda v: v * 10**hive_type.scale // 2)
    numbers = st.one_of(
        st.sampled_from([0, 1, -1, 5, -5, top, -top]),
        st.integers(-top, top),
        st.integers(-999, 999),
        near,
    )
    return numbers.filter(lambda v: abs(v) <= top).map(
        lambda v: (
            Decimal((v < 0, tuple(map(int, str(abs(v)))), -hive_type.scale))
            if v
            else Decimal((0, (0,), -hive_type.scale))
        )
    )


_SINGLES = st.binary(min_size=4, max_size=4).map(lambda four: struct.unpack("f", four)[0])


def _floats(width: int) -> st.SearchStrategy[float]:
    exact = st.sampled_from(
        [
            0.0,
            -0.0,
            0.5,
            1.5,
            -2.5,
            1.0,
            -1.0,
            3.0,
            2.0**31,
            2.0**63,
            -(2.0**63),
            math.inf,
            -math.inf,
            math.nan,
        ]
    )
    return st.one_of(
        exact, st.integers(-1000, 1000).map(float), st.floats() if width == 64 else _SINGLES
    )


_MOMENTS = st.one_of(
    st.sampled_from([datetime.datetime(*day, 23, 59, 59, 999_999) for day in _DAYS]),
    st.sampled_from([datetime.datetime(*day) for day in _DAYS]),
    st.datetimes(),
    st.datetimes(min_value=datetime.datetime(2020, 1, 1), max_value=datetime.datetime(2021, 1, 1)),
)
_TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "a",
            "a ",
            "A",
            "ab",
            "abc",
            " a",
            "1",
            "NaN",
            "2024-01-01",
            "a%b",
            "a_b",
            "Straße",
        ]
    ),
    st.text(alphabet="ab ", max_size=4),
    st.text(alphabet=_MARKS, max_size=8),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)
_NUMBER_TEXTS = st.one_of(
    st.sampled_from([
        "1", " 2 ", "-3", "+4", "1.5", "1e3", "abc", "", "true", "f", "128", "2147483648", "9223372036854775808", "2024-02-29", "2023-02-29",
        "2024-01-01 10:11:12", "2024-01-01T10:11:12.5", "NaN", "inf", "0x1", "1.", ".5", "99999999.999", "1-1-1", "2024", "no",
    ]),
    st.integers(-200, 200).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-10**8, max_value=10**8).map(str),
    st.dates().map(str),
)  # fmt: skip


def values_of(name: str) -> st.SearchStrategy[Any]:
    """Values of a column, NULL among them."""
    hive_type = COLUMNS[name]
    strategy: st.SearchStrategy[Any]
    match TYPES[name]:
        case "boolean":
            strategy = st.booleans()
        case "tinyint":
            strategy = _integers(8)
        case "smallint":
            strategy = _integers(16)
        case "int":
            strategy = st.integers(-9, 9) if name in "pq" else _integers(32)
        case "bigint":
            strategy = _integers(64)
        case "float":
            strategy = _floats(32)
        case "double":
            strategy = (
                st.floats(-1000, 1000).map(lambda v: round(v, 3)) if name == "e" else _floats(64)
            )
        case "string":
            strategy = _NUMBER_TEXTS if name == "u" else _TEXTS
        case "char(4)":
            strategy = _TEXTS.map(lambda text: text[:4].rstrip(" "))
        case "varchar(4)":
            strategy = _TEXTS.map(lambda text: text[:4])
        case "date":
            strategy = _MOMENTS.map(datetime.datetime.date)
        case "timestamp":
            strategy = _MOMENTS
        case "binary":
            strategy = st.one_of(st.binary(max_size=4), _TEXTS.map(str.encode))
        case _:
            assert isinstance(hive_type, DecimalType)
            strategy = _decimals(hive_type)
    return st.one_of(st.none(), *[strategy] * 6)


ROWS = st.fixed_dictionaries({name: values_of(name) for name in COLUMNS})

_COMPARED = [
    "x {} x2", "y {} y2", "y {} i", "h {} b", "i {} i2", "b {} i", "i {} 0", "b {} 9223372036854775807", "i {} 1.5", "i {} n", "y {} g", "n {} n2", "n {} b",
    "n {} 1", "n {} 1.50", "n {} g", "m {} n", "k {} i", "w {} w", "r {} r2", "r {} i", "r {} b", "r {} f", "r {} 0.1", "f {} f2", "f {} i", "f {} b", "f {} n", "f {} m",
    "f {} 0", "f {} 1e0", "e {} 1.5", "s {} s2", "s {} 'a'", "c {} s", "c {} v", "c {} 'a'", "c {} 'a '", "v {} 'ab'", "d {} d2", "d {} DATE '2000-02-29'", "d {} '2000-02-29'", "t {} t2",
    "t {} d", "t {} TIMESTAMP '1970-01-01 00:00:00'", "t {} '2000-02-29 23:59:59.999999'", "z {} z2", "i {} NULL", "NULL {} s", "NULL {} NULL", "'a' {} s", "1 {} 2",
    "i {} '1'", "u {} 5", "u {} y", "b {} u", "n {} '1.5'", "u {} n", "f {} '1e1'", "u {} e", "x {} 'true'", "d {} u", "d {} '2024'", "t {} u",
]  # fmt: skip

_NUMERIC_PAIRS = [
    "y {} y2", "y {} h", "h {} h2", "i {} i2", "i {} 1", "i {} -7", "y {} 1Y", "h {} 2S", "b {} b2", "b {} i", "r {} r2", "r {} i", "r {} b", "f {} f2", "f {} r", "f {} i", "f {} b", "f {} n",
    "f {} m", "r {} n", "n {} n2", "n {} i", "n {} 3", "n {} b", "i {} n", "7 {} n", "n {} 1.25", "n {} g", "g {} g", "m {} m2", "m {} n", "m {} 1", "k {} k", "k {} n", "w {} w", "w {} n", "m {} w", "k {} g",
    "u {} i", "u {} 2", "i {} '2'", "n {} u", "u {} e",
]  # fmt: skip

_OF_BITS = (
    "y {} y2",
    "h {} y",
    "i {} i2",
    "b {} b2",
    "b {} i",
    "i {} 4095",
    "p {} NULL",
    "7L {} h",
)

CASES: dict[str, list[str]] = {
    "column": list(COLUMNS),
    "literal": ["1", "-1", "127Y", "-5S", "7L", "1.50", "1e2", "2.5BD", "'a\\n'", "TRUE", "NULL", "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 01:02:03.5'", "12345678901", "99999999999999999999"],
    **{sign: [case.format(sign) for case in _COMPARED] for sign in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    "EQUAL_NULL": ["equal_null(i, i2)", "equal_null(s, NULL)"],
    "AND": ["x AND x2", "x AND NULL", "NULL AND NULL", "x AND i > 0 AND s = 'a'"],
    "OR": ["x OR x2", "x OR NULL", "i > 0 OR x OR f = 0"],
    "NOT": ["NOT x", "NOT NULL", "NOT (i > 0)", "! x"],
    "IS NULL": [f"{name} IS NULL" for name in COLUMNS] + ["isnull(s)", "NULL IS NULL"],
    "IS NOT NULL": [f"{name} IS NOT NULL" for name in ("i", "f", "s", "z")] + ["isnotnull(s)"],
    "IS TRUE": ["x IS TRUE", "(i > 0) IS NOT TRUE", "NULL IS TRUE"],
    "IS FALSE": ["x IS FALSE", "x IS NOT FALSE"],
    "decimals without digits behind the point beside texts": ["k = u", "k < u", "u >= k", "k <=> u", "k = '7.5'", "k BETWEEN u AND '2e1'", "n = u", "nullif(k, u)"],
    "BETWEEN": ["i BETWEEN i2 AND 5", "n BETWEEN 1 AND f", "s BETWEEN 'a' AND s2", "d BETWEEN '1582-10-15' AND d2", "f BETWEEN f2 AND 10", "t NOT BETWEEN t2 AND d", "i BETWEEN NULL AND 3"],
    "IN": [
        "i IN (1, 2, i2)", "i IN (1, 2, NULL)", "i IN (1, 2)", "i NOT IN (1, NULL)", "y IN (1, 300)", "n IN (1, 1.5, -2.25)", "n IN (i, 1)", "f IN (0, 1.5)", "f IN (f2, -0.0D)",
        "r IN (r2, 1)", "s IN ('a', 'A ', s2)", "s IN ('a', '', NULL)", "c IN ('a', 'ab')", "d IN (d2, DATE '1970-01-01')", "d IN (t, d2)", "t IN (t2, TIMESTAMP '1970-01-01 00:00:00')",
        "x IN (TRUE, x2)", "z IN (z2)", "NULL IN (1, i)", "i IN ('1', '2')", "i IN ('1', 2)", "u IN (1, 2)", "u IN (y, b)", "n IN ('1.50', NULL)", "d IN ('1970-01-01')", "d IN (d2, '2024-02-29')",
        "b IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1, -2, 9223372036854775807)", "1 IN (1, 2)",
    ],
    **{sign: [case.format(sign) for case in _NUMERIC_PAIRS] for sign in ("+", "-", "*", "/", "%")},
    "expressions of others": [
        "7Y * n", "5S * n", "n * -1", "n / -(1)", "n + (1 + 1)", "n / 7L", "(n / 3) * m", "round(m / 3, 2)", "(i + i2) / 2", "(y + h) * b", "CAST(n * 2.5 AS DECIMAL(6,1))",
        "f * r - n", "m / 3.00", "CAST(e / 7 AS DECIMAL(12,6))", "round(e * 1.1, 2)", "round(f / 7, 4)", "0.1 + 0.2", "1e308 * 10", "10 DIV 3", "1.0 / 3", "pmod(-7, 3)", "k - 0.5",
        "NOT (x AND x2) OR (i IS NULL)", "(i > 0) <=> x2", "replace(replace(s, 'a', 'b'), 'b', 'c')", "year(date_add(d, -30)) * 12 + month(d)", "trunc(add_months(d, p), 'MM')",
        "CASE WHEN s LIKE 'a%' THEN upper(s) WHEN i > 0 THEN 'pos' ELSE NULL END", "CAST(t AS DATE) = d", "coalesce(NULL, NULL)", "nullif(NULL, 1)",
    ],
    "DIV": [case.format("DIV") for case in ("y {} y2", "h {} y", "i {} i2", "i {} 0", "b {} b2", "b {} -1", "b {} i")],
    **{sign: [case.format(sign) for case in _OF_BITS] for sign in ("&", "|", "^")},
    "precedence of bits": ["i & i2 + 1 | p ^ q", "i | i2 & 4095 = p", "b ^ b2 ^ 7 & -1", "i BETWEEN p & 1 AND q | 3", "(i | 1) * 2", "-i & 255"],
    "MOD": ["mod(i, i2)", "mod(n, 3)"],
    "PMOD": ["pmod(y, y2)", "pmod(i, 7)", "pmod(b, b2)", "pmod(i, i2)"],
    "unary -": ["-y", "-h", "-i", "-b", "-r", "-f", "-n", "-k", "-w"],
    "day + number": ["d + p", "d - p", "d + 1", "d - y"],
    "ABS": ["abs(y)", "abs(i)", "abs(b)", "abs(r)", "abs(f)", "abs(n)", "abs(w)"],
    "CEIL": ["ceil(i)", "ceil(b)", "ceil(r)", "ceil(f)", "ceil(n)", "ceil(k)", "ceil(w)", "ceiling(m)"],
    "FLOOR": ["floor(y)", "floor(b)", "floor(r)", "floor(f)", "floor(n)", "floor(k)", "floor(w)", "floor(m)"],
    "ROUND": ["round(i)", "round(b, 2)", "round(n)", "round(n, 1)", "round(n, 5)", "round(n, -1)", "round(n, -9)", "round(m, 3)", "round(k, -3)", "round(w, 2)", "round(f)", "round(e, 1)", "round(e, 2)", "round(f, 3)", "round(e, -2)"],
    "SIGN": ["sign(i)", "sign(f)", "sign(n)", "signum(r)", "sign(b)"],
    "GREATEST": ["greatest(i, i2)", "greatest(i, n, 5)", "greatest(f, f2, 0)", "greatest(s, s2, 'a')", "greatest(d, d2)", "greatest(t, d)", "greatest(r, i)", "greatest(x, x2)", "greatest(i, NULL)"],
    "LEAST": ["least(i, i2)", "least(i, n, 5)", "least(f, f2, 0)", "least(s, s2, 'a')", "least(t, t2)", "least(r, r2)", "least(b, y)"],
    "CASE": [
        "CASE WHEN i > 0 THEN i ELSE b END", "CASE WHEN x THEN 'a' WHEN x2 THEN s END", "CASE i WHEN 1 THEN n WHEN i2 THEN 2 ELSE f END", "CASE WHEN i2 <> 0 THEN i / i2 ELSE 0 END",
        "CASE WHEN p <> 0 THEN i % p END", "CASE s WHEN 'a' THEN 1 ELSE 0 END", "CASE WHEN x THEN d ELSE t END", "CASE WHEN x THEN r ELSE i END", "CASE WHEN x THEN c ELSE v END",
    ],
    "IF": ["if(x, i, b)", "if(i > 0, s, 'n')", "if(NULL, 1, 2)", "if(x, NULL, n)", "if(x, z, z2)"],
    "COALESCE": ["coalesce(i, i2, 0)", "coalesce(s, s2)", "coalesce(n, i)", "coalesce(f, r)", "coalesce(NULL, d)", "coalesce(d, t)", "coalesce(i, 1 / 0)"],
    "NVL": ["nvl(i, 0)", "nvl(s, '')", "nvl(n, 0)", "ifnull(f, 0.5)", "nvl(x, FALSE)"],
    "NVL2": ["nvl2(i, s, s2)", "nvl2(s, i, n)"],
    "NULLIF": ["nullif(i, i2)", "nullif(n, 1)", "nullif(s, '')", "nullif(f, 0)", "nullif(d, d2)"],
    "CAST": [
        f"CAST({name} AS {target})"
        for name, targets in {
            "x": "boolean tinyint int bigint float double decimal(10,2) decimal(2,2) string",
            **dict.fromkeys(("y", "h", "i", "b"), "boolean tinyint smallint int bigint float double decimal(10,2) decimal(38,20) decimal(3,0) string"),
            **dict.fromkeys(("r", "f"), "boolean tinyint smallint int bigint float double"),
            "e": "decimal(10,2) decimal(4,1) decimal(38,18)",
            **dict.fromkeys(("n", "m", "k", "w", "g"), "boolean tinyint smallint int bigint float double decimal(10,2) decimal(38,20) decimal(3,0) decimal(12,4) string"),
            "s": "string binary int boolean",
            "u": "boolean tinyint int bigint double decimal(10,2) decimal(38,10) date timestamp",
            "c": "string int", "v": "string",
            "d": "date string timestamp",
            "t": "timestamp date string bigint double",
            "z": "binary string",
            "NULL": "int string decimal(3,1) date",
        }.items()
        for target in targets.split()
    ] + ["int(f)", "float(i)", "boolean(i)", "tinyint(i)", "smallint(b)", "bigint(n)", "timestamp(d)", "string(d)", "double(n)", "date(t)"] + ["i::bigint"] * has_colon_casts(),
    "UPPER": ["upper(s)", "ucase(c)", "upper('grün жук 日本')", "upper(i)"],
    "LOWER": ["lower(s)", "lcase(v)"],
    "LENGTH": ["length(s)", "length(c)", "length(z)", "char_length(s)", "length(i)", "len(v)", "character_length(s)"],
    "SUBSTRING": ["substring(s, p)", "substring(s, p, q)", "substr(s, 2)", "substr(s, 1, 2)", "substr(s, 2, -1)", "substring(s, -2, 1)", "substr(s, i, i2)", "substr(c, 1, 3)", "substr(d, 1, 4)", "substr(s, 0, 2)"],
    "LEFT": ["left(s, 2)", "left(s, p)", "left(s, i)"],
    "RIGHT": ["right(s, 2)", "right(s, p)", "right(s, -1)"],
    "TRIM": ["trim(s)", "trim(c)"],
    "LTRIM": ["ltrim(s)"],
    "RTRIM": ["rtrim(s)"],
    "CONCAT": ["concat(s, s2)", "s || s2", "concat(s, 'x', i)", "concat(c, '|', v)", "s || NULL", "concat(s)", "concat(z, z2)", "d || ' ' || x", "concat(n, t)"],
    "CONCAT_WS": ["concat_ws('-', s, s2)", "concat_ws(s, s2, 'a', c)", "concat_ws(NULL, s)", "concat_ws('', s, i)", "concat_ws(',')"],
    "REPLACE": ["replace(s, 'a', 'bc')", "replace(s, s2, 'x')", "replace(s, 'a')", "replace(s, '', 'x')", "replace(s, ' ', '')"],
    "TRANSLATE": ["translate(s, 'abA', 'xy')", "translate(s, s2, 'x')", "translate(s, 'aa', 'xy')", "translate(i, '1', '')"],
    "REVERSE": ["reverse(s)", "reverse(i)"],
    "REPEAT": ["repeat(s, 2)", "repeat(s, p)", "repeat(i, 3)", "repeat(s, -1)"],
    "INITCAP": ["initcap(s)", "initcap(c)", "initcap('aB cD-eF  g')"],
    "SUBSTRING_INDEX": ["substring_index(s, ' ', 1)", "substring_index(s, 'a', p)", "substring_index(s, s2, -1)", "substring_index(s, 'aa', -2)", "substring_index(s, '', 1)"],
    "LPAD": ["lpad(s, 5, 'x')", "lpad(s, p, 'ab')", "lpad(s, 3)", "lpad(s, 4, s2)", "lpad(i, 5, '0')"],
    "RPAD": ["rpad(s, 5, 'x')", "rpad(s, p, 'ab')", "rpad(s, 3)", "rpad(c, 4)", "rpad(s, 5, '')"],
    "INSTR": ["instr(s, 'a')", "instr(s, s2)", "instr(s, '')"],
    "LOCATE": ["locate('a', s)", "locate(s2, s)", "position('b', s)"],
    "ASCII": ["ascii(s)", "ascii(i)", "ascii('日')"],
    "MD5": ["md5(s)", "md5(z)", "md5(concat_ws('|', s, i))"],
    "SHA1": ["sha1(s)", "sha(z)"],
    "SHA2": ["sha2(s, 256)", "sha2(z, p)", "sha2(s, 0)", "sha2(s, 512)", "sha2(s, 384)", "sha2(s, 224)"],
    "CRC32": ["crc32(s)", "crc32(z)"],
    "CONTAINS": ["contains(s, 'a')", "contains(s, s2)"],
    "STARTSWITH": ["startswith(s, 'a')", "startswith(s, s2)", "startswith(s, '')"],
    "ENDSWITH": ["endswith(s, ' ')", "endswith(s, s2)"],
    "LIKE": ["s LIKE 'a%'", "s LIKE '%a%'", "s LIKE '_'", "s LIKE '%_b'", "s NOT LIKE ''", "s LIKE 'a.%'", "c LIKE 'a%'", "s LIKE '%\\n%'", "s LIKE '日%'", "i LIKE '1%'", "s LIKE 'a'"],
    "RLIKE": ["s RLIKE '^a'", "s RLIKE 'b+$'", "s REGEXP '[a-b]{2}'", "s RLIKE ''"],
    "YEAR": ["year(d)", "year(t)", "year('2024-02-29')"],
    "QUARTER": ["quarter(d)"],
    "MONTH": ["month(d)", "month(t)"],
    "DAY": ["day(d)", "dayofmonth(t)"],
    "DAYOFWEEK": ["dayofweek(d)"],
    "DAYOFYEAR": ["dayofyear(d)"],
    "WEEKDAY": ["weekday(d)"],
    "WEEKOFYEAR": ["weekofyear(d)"],
    "HOUR": ["hour(t)", "hour(d)"],
    "MINUTE": ["minute(t)"],
    "SECOND": ["second(t)"],
    "DATE_ADD": ["date_add(d, p)", "date_add(d, 1)", "date_add(t, y)", "date_add(d, i)", "date_add('2024-02-28', p)"],
    "DATE_SUB": ["date_sub(d, p)", "date_sub(d, h)", "date_sub(d, i)"],
    "DATEDIFF": ["datediff(d, d2)", "datediff(t, d)", "datediff(d, '2024-01-01')"],
    "ADD_MONTHS": ["add_months(d, p)", "add_months(d, 1)", "add_months(t, -12)", "add_months(d, i)"],
    "LAST_DAY": ["last_day(d)", "last_day(t)"],
    "TO_DATE": ["to_date(t)", "to_date(d)", "to_date(u)"],
    "TRUNC": [f"trunc(d, '{unit}')" for unit in ("YEAR", "yyyy", "quarter", "MM", "mon", "week")] + ["trunc(t, 'MONTH')"],
    "DATE_FORMAT": ["date_format(d, 'yyyy-MM-dd')"],
    "CURRENT_DATE": ["current_date", "current_date()", "d < current_date"],
    "CURRENT_TIMESTAMP": ["current_timestamp", "now()", "t < current_timestamp()"],
}  # fmt: skip
"""By the lines of docs/expressions.md."""

STORES = [
    (name, target)
    for name, targets in {
        "i": "tinyint bigint string decimal(5,2) varchar(3) char(3) boolean double",
        "b": "int smallint decimal(10,0) float",
        "f": "int bigint float",
        "e": "decimal(6,2)",
        "n": "decimal(8,1) int double decimal(38,10) string char(4)",
        "m": "decimal(10,2) bigint",
        "s": "string varchar(2) char(3) binary",
        "c": "char(2) string",
        "u": "int decimal(5,1) date timestamp double boolean",
        "d": "string timestamp varchar(7)",
        "t": "date string char(10)",
        "x": "int string",
    }.items()
    for target in targets.split()
]
"""Columns, and types that they are assigned to."""
