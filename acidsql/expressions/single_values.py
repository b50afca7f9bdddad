"""Functions of Spark of single values, neither NULL nor of another type than their parameters:
UNKNOWN where only Spark is certain of the result.
"""

from __future__ import annotations

import datetime
import re
import zlib
from collections.abc import Callable
from typing import Any

from acidsql.expressions.values import UNKNOWN
from acidsql.lazy import pattern

# ---- text


_SAME_CASES = pattern(
    "[\0-\x7f\xa0-\xb4\xb6-\xde\xe0-\xfe"  # Latin, but for letters whose other case is elsewhere
    "\u0410-\u044f"  # Cyrillic
    "\u3041-\u30ff\u4e00-\u9fa5\uac00-\ud7a3\U0001f600-\U0001f64f]*"  # scripts without case
)
"""Texts of which every Unicode has the same capital and small letters."""


def upper(text: str) -> Any:
    return text.upper() if _SAME_CASES.fullmatch(text) else UNKNOWN


def lower(text: str) -> Any:
    return text.lower() if _SAME_CASES.fullmatch(text) else UNKNOWN


_LONGEST = (1 << 31) - 1


def substring(text: str, position: int, length: int = _LONGEST) -> str:
    """Positions count from 1, from the end if negative; what lies outside the text counts, too:
    from position -2147483648 on the last character is too far away.
    """
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def replace(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def left_pad(text: str, length: int, pad: str = " ") -> Any:
    padding = _padding(text, length, pad)
    return UNKNOWN if padding is None else padding + text[: max(length, 0)]


def right_pad(text: str, length: int, pad: str = " ") -> Any:
    padding = _padding(text, length, pad)
    return UNKNOWN if padding is None else text[: max(length, 0)] + padding


_MOST_PADDING = 100_000
"""More is left to Spark, which has the memory for it or not."""


def _padding(text: str, length: int, pad: str) -> str | None:
    missing = max(length - len(text), 0)
    if missing > _MOST_PADDING:
        return None
    return (pad * missing)[:missing]


def position(text: str, search: str) -> int:
    return text.find(search) + 1


def initcap(text: str) -> Any:
    """Words lie between blanks, and between nothing else."""
    if not _SAME_CASES.fullmatch(text):
        return UNKNOWN
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def repeated(text: str, times: int) -> Any:
    return text * max(times, 0) if len(text) * max(times, 0) <= _MOST_PADDING else UNKNOWN


def translated(text: str, letters: str, others: str) -> str:
    """The first of equal letters counts; one that has no other is left out, like one whose other is
    the character 0.
    """
    table: dict[int, str] = {}
    for number, letter in enumerate(letters):
        other = others[number] if number < len(others) else ""
        table.setdefault(ord(letter), "" if other == "\0" else other)
    return text.translate(table)


def part_by_delimiter(text: str, delimiter: str, count: int) -> Any:
    """What stands before the ``count``-th delimiter, behind it from the end if negative."""
    if not delimiter or not count:
        return ""
    if count == -1 << 31:
        return UNKNOWN  # Java has no such positive number
    found_at = -1 if count > 0 else len(text)
    for _ in range(min(abs(count), len(text) + 1)):
        if count > 0:
            found_at = text.find(delimiter, found_at + 1)
        else:
            found_at = text.rfind(delimiter, 0, max(found_at + len(delimiter) - 1, 0))
        if found_at < 0:
            return text
    return text[:found_at] if count > 0 else text[found_at + len(delimiter) :]


def first_code_point(text: str) -> int:
    return ord(text[0]) if text else 0


# ---- digests


def md5(data: bytes) -> str:
    import hashlib

    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def sha1(data: bytes) -> str:
    import hashlib

    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def sha2(data: bytes, bits: int) -> str | None:
    """NULL for other lengths than there are."""
    import hashlib

    match bits:
        case 0 | 256:
            return hashlib.sha256(data).hexdigest()
        case 224:
            return hashlib.sha224(data).hexdigest()
        case 384:
            return hashlib.sha384(data).hexdigest()
        case 512:
            return hashlib.sha512(data).hexdigest()
    return None


def crc32(data: bytes) -> int:
    return zlib.crc32(data)


# ---- days


def truncated(day: datetime.date, unit: str) -> Any:
    match unit.upper():
        case "YEAR" | "YYYY" | "YY":
            return day.replace(month=1, day=1)
        case "QUARTER":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH" | "MM" | "MON":
            return day.replace(day=1)
        case "WEEK":
            return _monday(day)
    return UNKNOWN


def _monday(day: datetime.date) -> Any:
    ordinal = day.toordinal() - day.weekday()
    return datetime.date.fromordinal(ordinal) if ordinal > 0 else UNKNOWN


_PATTERN = pattern(r"(?:yyyy|MM|dd|[-/._ ])+")


def formatted(moment: datetime.datetime, pattern: str) -> Any:
    day = moment.date()
    if (
        not _PATTERN.fullmatch(pattern)
        or moment.time() != datetime.time()
        or not _is_in_every_zone(day)
    ):
        return UNKNOWN
    text = {"yyyy": f"{day.year:04}", "MM": f"{day.month:02}", "dd": f"{day.day:02}"}
    return re.sub("yyyy|MM|dd", lambda part: text[part.group()], pattern)


def parsed(text: str, pattern: str) -> Any:
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


# ---- patterns: RLIKE, as far as Python and Java mean the same by it


_PLAIN_EXPRESSION = pattern(r"(?:[A-Za-z0-9_ /=:,^$.|()\[\]*+?-]|\{\d{1,3}\})*")
_DIFFERENT = pattern(r"\(\?|\[[^\]]*\[|\[\^?\]")
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
