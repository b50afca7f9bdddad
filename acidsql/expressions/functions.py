"""Functions of Spark over values of partitions: those whose result is certain, and those that give
the same result every time.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from typing import Any

from acidsql.catalog.types import HiveType, PrimitiveType
from acidsql.expressions.values import BOOLEAN, DATE, INT, STRING, TIMESTAMP, UNKNOWN
from acidsql.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """``run`` gets values that are neither NULL nor UNKNOWN, cast to ``parameters``; the last
    ``optional`` of them may be missing.

    ``repeats``: any number of arguments, each of the type of the only parameter.
    """

    parameters: tuple[HiveType, ...]
    result: HiveType
    run: Callable[..., Any]
    optional: int = 0
    repeats: bool = False

    def accepts(self, count: int) -> bool:
        return self.repeats or len(self.parameters) - self.optional <= count <= len(self.parameters)

    def parameter(self, index: int) -> HiveType:
        return self.parameters[0 if self.repeats else index]


# ---- text


_SAME_CASES = re.compile(
    "[\0-\x7f\xa0-\xb4\xb6-\xde\xe0-\xfe"  # Latin, but for letters whose other case is elsewhere
    "\u0410-\u044f"  # Cyrillic
    "\u3041-\u30ff\u4e00-\u9fa5\uac00-\ud7a3\U0001f600-\U0001f64f]*"  # scripts without case
)
"""Texts of which every Unicode has the same capital and small letters."""


def _upper(text: str) -> Any:
    return text.upper() if _SAME_CASES.fullmatch(text) else UNKNOWN


def _lower(text: str) -> Any:
    return text.lower() if _SAME_CASES.fullmatch(text) else UNKNOWN


_LONGEST = (1 << 31) - 1


def _substring(text: str, position: int, length: int = _LONGEST) -> str:
    """Positions count from 1, from the end if negative; what lies outside the text counts, too:
    from position -2147483648 on the last character is too far away.
    """
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _replace(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _left_pad(text: str, length: int, pad: str = " ") -> Any:
    padding = _padding(text, length, pad)
    return UNKNOWN if padding is None else padding + text[: max(length, 0)]


def _right_pad(text: str, length: int, pad: str = " ") -> Any:
    padding = _padding(text, length, pad)
    return UNKNOWN if padding is None else text[: max(length, 0)] + padding


_MOST_PADDING = 100_000
"""More is left to Spark, which has the memory for it or not."""


def _padding(text: str, length: int, pad: str) -> str | None:
    missing = max(length - len(text), 0)
    if missing > _MOST_PADDING:
        return None
    return (pad * missing)[:missing]


def _position(text: str, search: str) -> int:
    return text.find(search) + 1


# ---- days


def _last_day(day: datetime.date) -> datetime.date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _add_months(day: datetime.date, count: int) -> Any:
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        return UNKNOWN
    return datetime.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _add_days(day: datetime.date, count: int) -> Any:
    ordinal = day.toordinal() + count
    return (
        datetime.date.fromordinal(ordinal)
        if 1 <= ordinal <= datetime.date.max.toordinal()
        else UNKNOWN
    )


def _truncated(day: datetime.date, unit: str) -> Any:
    match unit.upper():
        case "YEAR" | "YYYY" | "YY":
            return day.replace(month=1, day=1)
        case "QUARTER":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH" | "MM" | "MON":
            return day.replace(day=1)
        case "WEEK":
            return _add_days(day, -day.weekday())
    return UNKNOWN


_PATTERN = re.compile(r"(?:yyyy|MM|dd|[-/._ ])+")


def _formatted(moment: datetime.datetime, pattern: str) -> Any:
    day = moment.date()
    if (
        not _PATTERN.fullmatch(pattern)
        or moment.time() != datetime.time()
        or not _is_in_every_zone(day)
    ):
        return UNKNOWN
    text = {"yyyy": f"{day.year:04}", "MM": f"{day.month:02}", "dd": f"{day.day:02}"}
    return re.sub("yyyy|MM|dd", lambda part: text[part.group()], pattern)


def _parsed(text: str, pattern: str) -> Any:
    """The day of a text that has the digits the pattern asks for."""
    if not _PATTERN.fullmatch(pattern) or sorted(re.findall("yyyy|MM|dd", pattern)) != [
        "MM",
        "dd",
        "yyyy",
    ]:
        return UNKNOWN
    expression = (
        re.escape(pattern)
        .replace("yyyy", r"(?P<y>\d{4})")
        .replace("MM", r"(?P<m>\d\d)")
        .replace("dd", r"(?P<d>\d\d)")
    )
    match = re.fullmatch(expression, text, re.ASCII)
    if match is None:
        return UNKNOWN
    try:
        day = datetime.date(int(match["y"]), int(match["m"]), int(match["d"]))
    except ValueError:
        return UNKNOWN
    return day if _is_in_every_zone(day) else UNKNOWN


def _is_in_every_zone(day: datetime.date) -> bool:
    """A day is formatted and parsed by way of its midnight, and islands skipped a day to change
    sides of the date line.
    """
    return day.year > 1995 and day != datetime.date(2011, 12, 30)


def _pmod(dividend: int, divisor: int) -> Any:
    return dividend % divisor if divisor > 0 else UNKNOWN


FUNCTIONS: dict[str, Function] = {
    "ADD_MONTHS": Function((DATE, INT), DATE, _add_months),
    "CHAR_LENGTH": Function((STRING,), INT, len),
    "CHARACTER_LENGTH": Function((STRING,), INT, len),
    "CONCAT": Function((STRING,), STRING, lambda *texts: "".join(texts), repeats=True),
    "CONTAINS": Function((STRING, STRING), BOOLEAN, lambda text, part: part in text),
    "DATE_ADD": Function((DATE, INT), DATE, _add_days),
    "DATE_FORMAT": Function((TIMESTAMP, STRING), STRING, _formatted),
    "DATE_SUB": Function((DATE, INT), DATE, lambda day, count: _add_days(day, -count)),
    "DATEDIFF": Function((DATE, DATE), INT, lambda end, start: (end - start).days),
    "DAY": Function((DATE,), INT, lambda day: day.day),
    "DAYOFMONTH": Function((DATE,), INT, lambda day: day.day),
    "DAYOFWEEK": Function((DATE,), INT, lambda day: day.isoweekday() % 7 + 1),
    "DAYOFYEAR": Function((DATE,), INT, lambda day: day.timetuple().tm_yday),
    "ENDSWITH": Function((STRING, STRING), BOOLEAN, str.endswith),
    "INSTR": Function((STRING, STRING), INT, _position),
    "LAST_DAY": Function((DATE,), DATE, _last_day),
    "LCASE": Function((STRING,), STRING, _lower),
    "LEFT": Function((STRING, INT), STRING, lambda text, length: _substring(text, 1, length)),
    "LEN": Function((STRING,), INT, len),
    "LENGTH": Function((STRING,), INT, len),
    "LOWER": Function((STRING,), STRING, _lower),
    "LPAD": Function((STRING, INT, STRING), STRING, _left_pad, optional=1),
    "LTRIM": Function((STRING,), STRING, lambda text: text.lstrip(" ")),
    "MONTH": Function((DATE,), INT, lambda day: day.month),
    "PMOD": Function((INT, INT), INT, _pmod),
    "QUARTER": Function((DATE,), INT, lambda day: (day.month + 2) // 3),
    "REPLACE": Function((STRING, STRING, STRING), STRING, _replace, optional=1),
    "RIGHT": Function((STRING, INT), STRING, _right),
    "RPAD": Function((STRING, INT, STRING), STRING, _right_pad, optional=1),
    "RTRIM": Function((STRING,), STRING, lambda text: text.rstrip(" ")),
    "STARTSWITH": Function((STRING, STRING), BOOLEAN, str.startswith),
    "SUBSTR": Function((STRING, INT, INT), STRING, _substring, optional=1),
    "SUBSTRING": Function((STRING, INT, INT), STRING, _substring, optional=1),
    "TRIM": Function((STRING,), STRING, lambda text: text.strip(" ")),
    "TRUNC": Function((DATE, STRING), DATE, _truncated),
    "UCASE": Function((STRING,), STRING, _upper),
    "UPPER": Function((STRING,), STRING, _upper),
    "WEEKOFYEAR": Function((DATE,), INT, lambda day: day.isocalendar()[1]),
    "YEAR": Function((DATE,), INT, lambda day: day.year),
}
PARSE_DAY = Function((STRING, STRING), DATE, _parsed)
"""TO_DATE with a pattern."""

CASTS: dict[str, HiveType] = {
    name.upper(): PrimitiveType(name)
    for name in (
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "double",
        "string",
        "date",
        "timestamp",
    )
}
"""``INT(x)`` is a cast."""

_OPERATORS = (
    "AND OR NOT = <> <=> < <= > >= + - * / % || DIV NEGATIVE [] IN BETWEEN LIKE RLIKE CASE IF"
    " COALESCE NVL IFNULL NULLIF NVL2 MOD ISNULL ISNOTNULL EQUAL_NULL TO_DATE"
)
CANNOT_FAIL = frozenset(
    [
        *CASTS,
        *("IS NULL", "IS TRUE", "IS FALSE"),
        *"AND OR NOT = <> <=> < <= > >= + - * / % || DIV NEGATIVE IN BETWEEN CASE IF COALESCE NVL"
        " IFNULL NULLIF NVL2".split(),
        *"CONCAT LENGTH LOWER LTRIM RTRIM SUBSTR SUBSTRING TRIM UPPER".split(),
    ]
)
"""Operators and functions that have a result for all arguments, the same one every time, unless
acidsql.ansi is on.
"""
_ONLY_SPARK = (
    "ABS ASCII BASE64 BIN BIT_COUNT BROUND CEIL CEILING CHR CONCAT_WS CONV CRC32"
    " DATE_FROM_UNIX_DATE DATE_PART DATE_TRUNC ELT FIELD FIND_IN_SET FLOAT FLOOR FORMAT_NUMBER"
    " FORMAT_STRING FROM_UNIXTIME GREATEST HASH HEX HOUR INITCAP LEAST LEVENSHTEIN LOCATE MAKE_DATE"
    " MD5 MINUTE MONTHS_BETWEEN NEXT_DAY OVERLAY POSITION POW POWER PRINTF REGEXP_COUNT"
    " REGEXP_EXTRACT REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REPEAT REVERSE ROUND"
    " SECOND SHA SHA1 SHA2 SIGN SIGNUM SOUNDEX SPLIT SPLIT_PART SQRT SUBSTRING_INDEX TO_TIMESTAMP"
    " TO_UNIX_TIMESTAMP TRANSLATE TRY_TO_DATE UNIX_DATE UNHEX WEEKDAY XXHASH64"
)
DETERMINISTIC = frozenset(
    [
        *FUNCTIONS,
        *CASTS,
        "IS NULL",
        "IS TRUE",
        "IS FALSE",
        *_OPERATORS.split(),
        *_ONLY_SPARK.split(),
    ]
)
"""Operators and functions that give the same result whenever they are asked."""

# ---- patterns: LIKE and RLIKE, as far as Python and Java mean the same by them


def like(pattern: str) -> Callable[[str], Any] | None:
    if "\\" in pattern:
        return None
    expression = "".join({"%": ".*", "_": "."}.get(c) or re.escape(c) for c in pattern)
    matches = re.compile(expression, re.DOTALL).fullmatch
    return lambda text: matches(text) is not None


_PLAIN_EXPRESSION = re.compile(r"(?:[A-Za-z0-9_ /=:,^$.|()\[\]*+?-]|\{\d{1,3}\})*")
_DIFFERENT = re.compile(r"\(\?|\[[^\]]*\[|\[\^?\]")
"""Python means something else by it than Java, or may do so."""


def regular(pattern: str) -> Callable[[str], Any] | None:
    if not _PLAIN_EXPRESSION.fullmatch(pattern) or _DIFFERENT.search(pattern):
        return None
    try:
        finds = re.compile(pattern, re.ASCII).search
    except (re.error, OverflowError):
        return None
    return lambda text: (
        finds(text) is not None if text.isascii() and text.isprintable() else UNKNOWN
    )
