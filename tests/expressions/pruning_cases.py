"""Conditions over partition columns and the values to ask them of."""

from __future__ import annotations

from itertools import cycle, islice

from acidsql.catalog.model import DEFAULT_PARTITION, Column
from acidsql.catalog.types import parse_type

TYPES = {
    "s": "string",
    "i": "int",
    "b": "bigint",
    "y": "tinyint",
    "n": "decimal(10,2)",
    "f": "double",
    "d": "date",
    "t": "timestamp",
    "x": "boolean",
    "v": "varchar(10)",
}
COLUMNS = tuple(Column(name=name, type=parse_type(text)) for name, text in TYPES.items())

_TEXTS = {
    "s": [
        "2024-01-01", "2024-01-02", "2023-12-31", "20240101", "20231231", "a", "A", "abc", "b", "1", "01", "-1", " 1 ", "1.5", "1e3", "5", "10",
        "9", "true", "yes", "x_y", "x%y", "Zürich", "日本", "2024", "2024-1-2", "2024-13-01", "2024-02-30", "2024-01-01 10:00:00", "99999999999",
        "2147483648", "NaN", "Infinity", "0x10", "1d", "1.", ".5", "-0", "+7", "t", "no", "1-", "12:30", "a b", "2024/01/01", "", "today", "0000-01-01",
        "123456789012345678901234567890", "1.005", "12345678901.5", "1,5", "1_000", "10000-01-01", "2024-01", "2024-01-01T", "202401",
    ],
    "i": ["0", "1", "5", "-7", "20240101", "2147483647", "-2147483648", "10", "31", "99"],
    "b": ["0", "5", "-3", "20240101", "9223372036854775807", "3000000000", "10"],
    "y": ["0", "5", "-128", "127", "1"],
    "n": ["0.00", "1.50", "-2.25", "5", "5.00", "99999999.99", "0.05", "10"],
    "f": ["0.5", "5", "-1.5", "1e10", "0.1", "10"],
    "d": ["2024-01-01", "2024-01-31", "2023-12-31", "2024-02-29", "1999-06-15", "2026-11-20", "0001-01-01", "9999-12-31", "1582-10-10"],
    "t": ["2024-01-01 00:00:00", "2024-01-01 10:00:00", "2023-12-31 23:59:59.5", "2020-06-01 12:00:00", "2024-03-31 02:30:00", "2030-01-01 00:00:00"],
    "x": ["true", "false"],
    "v": ["a", "abc", "2024-01-01", "5"],
}  # fmt: skip

ROWS = tuple(
    zip(*(islice(cycle([*texts, DEFAULT_PARTITION]), 58) for texts in _TEXTS.values()), strict=True)
)
"""Texts of the values, one row for each partition; NULL comes at another place in each column."""

DECIDED = """
s = '2024-01-01'
s = "2024-01-01"
'2024-01-01' = s
s == 'a'
s <> 'a'
s != 'a'
s < 'b'
s <= 'abc'
s > '2024-01-01'
s >= '2024'
NOT s = 'a'
! s = 'a'
s <=> 'a'
s <=> NULL
NOT s <=> 'a'
s = NULL
s IS NULL
s IS NOT NULL
s IS DISTINCT FROM 'a'
s IS NOT DISTINCT FROM 'a'
s IN ('a', 'b', '2024-01-01')
s IN ('a', NULL)
s NOT IN ('a', 'b')
s NOT IN ('a', NULL)
s IN ('a')
s BETWEEN '2024-01-01' AND '2024-12-31'
s NOT BETWEEN '2024-01-01' AND '2024-12-31'
s BETWEEN 'b' AND 'a'
s BETWEEN NULL AND 'b'
s LIKE '2024%'
s LIKE '2024-__-01'
s NOT LIKE '%1'
s LIKE 'x_y'
s LIKE '%'
s LIKE ''
i LIKE '2%'
d LIKE '2024-%'
s RLIKE '^2024'
s RLIKE '01$'
s RLIKE '^[0-9]+$'
s NOT RLIKE '[a-z]'
s REGEXP '2024-0(1|2)-[0-9]{2}'
s RLIKE 'a|b'
s = 20240101
s > 20230101
s = 1
1 = s
s <> 5
s < 10
s = 5L
s = 99999999999
s = 1.5
s > 0.5
s <=> 1
s BETWEEN 1 AND 10
s BETWEEN '1' AND 10
s IN (1, 5, 20240101)
s IN ('a', 5)
s NOT IN (1, 2)
s = DATE '2024-01-01'
s >= DATE '2024-01-01'
s <> DATE '2024-01-02'
s = true
s = false
i = 5
i = '5'
i = '05'
i = 'abc'
i = ' 5 '
i = '5.7'
i > '3'
i <> '5'
i IN (1, 5, 10)
i IN ('1', '5')
i IN ('05', 5)
i NOT IN (5, NULL)
i = 5.0
i = 5.5
i >= 4.99
i = 5e0
i > 1.5D
i = 3000000000
i < 3000000000
i BETWEEN -10 AND 10
i BETWEEN '1' AND '9'
i = -7
i = - 7
-i = 7
i + 1 = 6
i - 1 = 4
i * 2 = 10
i % 2 = 1
i % 0 = 1
i % 3 = -1
MOD(i, 2) = 0
i DIV 2 = 2
i DIV -2 = 3
i DIV 0 = 1
i / 2 = 2.5
i / 0 = 1
i / 4 > 1
PMOD(i, 4) = 1
i + b > 10
i + y = 10
i + n = 6.5
n * 2 = 3
n * n = 2.25
n - 1.5 = 0
n % 1 = 0.5
n + i > 3
1 + 2 * 3 - i = 2
(1 + 2) * 3 - i = 4
i * 2 + 1 > 5 AND i - 1 - 1 < 10
b = 5
b = '5'
b > i
b = 20240101
b IN (5, 10, 3000000000)
b >= 9223372036854775807
y = 5
y = 500
y < i
y IN (5, 500)
n = 5
n = 5.00
n = 1.5
n > 1
n = '1.5'
n = '1.50'
n >= '0'
n IN (1.5, 5)
n IN ('1.50', '5.00')
n IN ('1.5')
n BETWEEN 1 AND 2
n = 1.505
n < 100000000000
n > b
f = 0.5
f > 1
f = 5
f = '5'
f <= 0.1
f <> 0.1D
f > n
f BETWEEN 0 AND 1e2
d = DATE '2024-01-01'
d = '2024-01-01'
d = '2024-1-1'
d = '2024'
d = '2024-01'
d = 'abc'
d = '2024-01-01 12:00:00'
d > '2023-12-31'
d IN ('2024-01-01', '2024-1-1')
d IN (DATE '2024-01-01', DATE '2024-02-29')
d NOT IN ('2024-01-01')
d BETWEEN '2024-01-01' AND '2024-12-31'
d BETWEEN DATE '2024-01-01' AND '2024-02-01'
d <=> '2024-01-01'
d < s
d = s
t >= TIMESTAMP '2025-01-01 00:00:00'
t = TIMESTAMP '2024-01-01 10:00:00'
t > DATE '2022-01-01'
t < '2021-01-01'
t BETWEEN '2020-01-01' AND '2022-12-31'
d = TIMESTAMP '2024-01-01 00:00:00'
x
NOT x
x = true
x <> false
x = 'true'
x IS TRUE
x IS NOT TRUE
x IS FALSE
x IS NOT FALSE
(s = 'a') IS NULL
(i = 5) = x
v = 'abc'
v = 5
v LIKE 'a%'
v IN ('a', 'b')
s = 'a' AND i = 5
s = 'a' OR i = 5
s = 'a' OR i = 5 AND d IS NULL
(s = 'a' OR i = 5) AND d IS NOT NULL
NOT (s = 'a' OR i = 5)
NOT (s = 'a' AND i = NULL)
s = 'a' AND NULL
s = 'a' OR NULL
s = 'a' OR TRUE
s = 'a' AND FALSE
CAST(s AS INT) = 5
CAST(s AS INT) IS NULL
CAST(s AS BIGINT) > 100
CAST(s AS TINYINT) = 1
CAST(s AS DOUBLE) = 1.5
CAST(s AS DECIMAL(10,2)) = 1.5
CAST(s AS DECIMAL(3,1)) > 1
CAST(s AS DECIMAL) = 2
CAST(s AS DATE) = DATE '2024-01-01'
CAST(s AS DATE) IS NULL
CAST(s AS BOOLEAN)
CAST(s AS BOOLEAN) IS NULL
CAST(s AS STRING) = 'a'
CAST(i AS STRING) = '5'
CAST(i AS STRING) > '3'
CAST(i AS TINYINT) = -27
CAST(i AS SMALLINT) > 0
CAST(i AS BIGINT) = 5
CAST(i AS DOUBLE) > 4.5
CAST(i AS DECIMAL(5,2)) = 5
CAST(i AS DECIMAL(5,2)) IS NULL
CAST(i AS BOOLEAN)
CAST(b AS INT) = -1294967296
CAST(n AS INT) = 1
CAST(n AS STRING) = '1.50'
CAST(n AS DECIMAL(10,1)) = 1.5
CAST(n AS DECIMAL(3,1)) IS NULL
CAST(n AS DOUBLE) = 1.5
CAST(f AS INT) = -1
CAST(d AS STRING) = '2024-01-01'
CAST(d AS STRING) < '2'
CAST(x AS INT) = 1
CAST(x AS STRING) = 'true'
CAST('5' AS INT) = i
CAST(NULL AS INT) = i
s::int = 5
i::string = '5'
INT(s) = 5
STRING(i) = '5'
DATE(s) = DATE '2024-01-01'
SUBSTR(s, 1, 4) = '2024'
SUBSTRING(s, 1, 4) = '2024'
SUBSTR(s, 6, 2) = '01'
SUBSTR(s, 6) = '01-01'
SUBSTR(s, -2) = '01'
SUBSTR(s, -2, 1) = '0'
SUBSTR(s, -20, 12) = '20'
SUBSTR(s, 0, 2) = '20'
SUBSTR(s, 2, 0) = ''
SUBSTR(s, 2, -1) = ''
SUBSTR(i, 1, 4) = '2024'
SUBSTR(d, 1, 7) = '2024-01'
LEFT(s, 4) = '2024'
RIGHT(s, 2) = '01'
RIGHT(s, 0) = ''
RIGHT(s, 100) = 'abc'
LEFT(s, -1) = ''
CONCAT(s, '-', i) = 'a-5'
CONCAT(s, NULL) IS NULL
s || '-x' = 'a-x'
s || i > 'a'
CONCAT(YEAR(d), LPAD(MONTH(d), 2, '0')) = '202401'
UPPER(s) = 'A'
UCASE(s) = 'ABC'
LOWER(s) = 'a'
LCASE(s) = 'a'
TRIM(s) = '1'
LTRIM(s) = '1 '
RTRIM(s) = ' 1'
LENGTH(s) = 10
LENGTH(i) = 8
CHAR_LENGTH(s) = 3
REPLACE(s, '-', '') = '20240101'
REPLACE(s, '-') = '20240101'
REPLACE(s, '', 'x') = 'a'
LPAD(s, 3, '0') = '001'
LPAD(s, 2) = ' 1'
LPAD(s, 3, '') = 'a'
LPAD(s, 2, 'xyz') = 'ab'
RPAD(s, 3, '0') = '100'
RPAD(s, 0, '0') = ''
LPAD(i, 10, '0') = '0020240101'
STARTSWITH(s, '2024')
ENDSWITH(s, '-01')
CONTAINS(s, '-01-')
INSTR(s, '-') = 5
INSTR(s, '') = 1
YEAR(d) = 2024
YEAR(s) = 2024
MONTH(d) = 1
MONTH(s) IN (1, 2)
DAY(d) = 31
DAYOFMONTH(d) = 29
QUARTER(d) = 4
DAYOFWEEK(d) = 2
DAYOFYEAR(d) = 60
WEEKOFYEAR(d) = 52
YEAR(d) * 100 + MONTH(d) = 202401
TO_DATE(s) = DATE '2024-01-01'
TO_DATE(d) > '2024-01-01'
TO_DATE(s, 'yyyy-MM-dd') = DATE '2024-01-01' OR s NOT LIKE '____-__-__' OR s LIKE '%13%' OR s LIKE '%30' OR s < '1'
DATE_ADD(d, 1) = '2024-01-01'
DATE_ADD(s, 1) = DATE '2024-01-02'
DATE_SUB(d, 31) = DATE '2023-12-31'
DATE_SUB(d, -1) = DATE '2024-03-01'
DATEDIFF(d, '2024-01-01') > 0
DATEDIFF('2024-01-31', d) <= 30
ADD_MONTHS(d, 1) = DATE '2024-02-29'
ADD_MONTHS(d, -1) = DATE '2023-11-30'
LAST_DAY(d) = DATE '2024-02-29'
LAST_DAY(s) = '2024-01-31'
TRUNC(d, 'MM') = DATE '2024-01-01'
TRUNC(d, 'year') = DATE '2024-01-01'
TRUNC(d, 'QUARTER') = '2024-01-01'
TRUNC(d, 'WEEK') = '2024-01-01'
DATE_FORMAT(d, 'yyyyMM') = '202401'
DATE_FORMAT(d, 'yyyy-MM-dd') >= '2024'
DATE_FORMAT(d, 'dd/MM/yyyy') = '01/01/2024'
DATE_FORMAT(s, 'yyyyMM') = '202401'
IF(s = 'a', 1, 2) = 1
IF(i > 3, 'x', s) = 'x'
IF(NULL, 1, 2) = 2
CASE WHEN s = 'a' THEN 1 WHEN s = 'b' THEN 2 END = 2
CASE WHEN s < '3' THEN i ELSE 0 END > 0
CASE s WHEN 'a' THEN true WHEN 'b' THEN false END
CASE i WHEN 5 THEN 'five' ELSE 'other' END = 'five'
CASE WHEN i > 3 THEN 1.5 ELSE 2 END = 1.5
COALESCE(s, 'none') = 'none'
NVL(s, 'none') = 'none'
IFNULL(i, 0) = 0
COALESCE(NULL, s, v) = 'a'
COALESCE(i, b) = 5
NULLIF(s, 'a') IS NULL
NVL2(s, 1, 0) = 0
ISNULL(s)
ISNOTNULL(i)
EQUAL_NULL(s, 'a')
s = v
i = y
s <= v
i IN (y, b)
s IN (v, 'a')
i = '2147483648'
CONCAT(x, d) = 'true2024-01-01'
LENGTH(x) = 4
x > false
f IN (0.5, 5)
""".strip().split("\n")
"""Those that are answered here for some of the values."""

ASKED = """
+i = 5
+s = '1.0'
s LIKE NULL
s = 'it\\'s'
s = 'a\\tb'
s LIKE 'x\\_y'
s LIKE 'x\\%%'
s RLIKE '^\\\\d+$'
s RLIKE '(?i)A'
f IN ('0.5')
t IN ('2024-01-01 10:00:00')
t = '2024-01-01 10:00:00'
t > '2024-01-01'
YEAR(t) = 2024
DATE(t) = '2024-01-01'
CAST(t AS DATE) = '2024-01-01'
CAST(f AS STRING) = '5.0'
CAST(t AS STRING) LIKE '2024%'
DATE_FORMAT(t, 'yyyyMM') = '202401'
DATE_FORMAT(d, 'yyyyMMdd HH') = '20240101 00'
TO_DATE(s, 'yyyyMMdd') = DATE '2024-01-01'
TO_DATE(s, 'yyyy/MM/dd') = DATE '2024-01-01'
CAST(s AS TIMESTAMP) = TIMESTAMP '2024-01-01 00:00:00'
SPLIT(s, '-')[0] = '2024'
REGEXP_EXTRACT(s, '([0-9]+)', 1) = '2024'
CAST(s AS VARCHAR(3)) = 'abc'
ABS(i) = 7
ROUND(n) = 2
s + 0 = 1
n / 2 = 0.75
n DIV 1 = 1
i + 2147483647 > 0
i * i > 5
y + y = 10
b * 10 > 0
UNIX_TIMESTAMP(d) > 0
GREATEST(i, 5) = 5
DATE_TRUNC('MONTH', d) = DATE '2024-01-01'
TRUNC(d, 'x') IS NULL
d + 1 = DATE '2024-01-02'
CAST(d AS TIMESTAMP) = '2024-01-01'
COALESCE(i, 'x') = '5'
CASE WHEN x THEN i ELSE s END = '5'
x = 1
CAST(x AS DOUBLE) = 1
s = TIMESTAMP '2024-01-01 10:00:00'
CONCAT(s, f) = 'a0.5'
PMOD(i, -3) = 1
i = '1e1'
CAST(s AS FLOAT) = 1.5
""".strip().split("\n")
"""Those that may be left to Spark."""
