"""The one table of operators and functions: what the driver computes them by, and what else is
known of them. What stands in no entry is Spark's, and may be different whenever it is asked.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acidsql.catalog.types import DecimalType, HiveType, PrimitiveType
from acidsql.expressions import single_values
from acidsql.expressions.not_here import NotHere
from acidsql.expressions.tree import NOW, TODAY, VOID
from acidsql.expressions.values import BIGINT, BOOLEAN, DATE, INT, STRING, TIMESTAMP, bits_of
from acidsql.expressions.vectors import arithmetic, operators
from acidsql.expressions.vectors.operators import BINARY, Kernels, Vector, applied
from acidsql.lazy import dataclass

if TYPE_CHECKING:
    from acidsql.expressions.kernels import days, rowwise, texts
    from acidsql.expressions.vectors.compiler import Compiler
else:
    days, rowwise, texts = Kernels("days"), Kernels("rowwise"), Kernels("texts")

Compile = Callable[["Compiler", str, Sequence[Vector]], Vector | None]
"""A call of this name with these arguments; None for a number of arguments that is not understood,
NotHere for types and values that are not.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """``vector``: how the driver computes it; without one only Spark does.

    ``total``: it has a result for all arguments, unless acidsql.ansi is on, and is cheap: it may be
    asked of rows that the statement does not ask it of. ``deterministic``: it gives the same result
    whenever it is asked.

    ``column``: how Spark calls the column of a call that has no name; None where only Spark can
    tell (operators: ``spark_names``). ``added``: the argument that Spark shows behind so many.
    """

    vector: Compile | None = None
    total: bool = False
    deterministic: bool = True
    column: str | None = None
    added: Mapping[int, str] | None = None


# ---- functions of fixed parameters


def of(
    *parameters: HiveType,
    gives: HiveType,
    kernel: Callable[..., Any] | None = None,
    value: Callable[..., Any] | None = None,
    constants: Callable[..., Callable[..., Any] | None] | None = None,
    optional: int = 0,
) -> Compile:
    """The arguments are cast to the parameters, of which the last ``optional`` may be missing.

    ``kernel`` gets all of them as Arrow values. ``constants`` makes a kernel of the first argument,
    if all others are written out and it takes them. Else ``value`` gets those of a row, none of
    them NULL.
    """

    def compiled(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
        if not len(parameters) - optional <= len(given) <= len(parameters):
            return None
        arguments = [
            passed(compiler, one, parameter)
            for one, parameter in zip(given, parameters[: len(given)], strict=True)
        ]
        written = [one.literal.value if one.literal else None for one in arguments[1:]]
        if constants is not None and written and None not in written:
            special = constants(*written)
            if special is not None:
                return Vector(gives, applied(special, arguments[0]))
        if kernel is not None:
            return Vector(gives, applied(kernel, *arguments))
        assert value is not None
        return Vector(gives, applied(partial(rowwise.each, value, gives), *arguments))

    return compiled


def passed(compiler: Compiler, argument: Vector, parameter: HiveType) -> Vector:
    """An argument as a function gets it."""
    given = argument.type
    if given == parameter:
        return argument
    if given == STRING and parameter in (DATE, TIMESTAMP):
        if compiler.partitions and not compiler.ansi and argument.literal is None:
            return compiler.cast(argument, parameter)
        return operators.written_day(compiler, argument, parameter)
    match parameter:
        case PrimitiveType("int"):
            understood = 0 < bits_of(given) <= 32
        case PrimitiveType("string"):
            understood = (
                bool(bits_of(given))
                or given in (BOOLEAN, DATE, TIMESTAMP)
                or isinstance(given, DecimalType)
            )
        case PrimitiveType("binary"):
            understood = given == STRING
        case _:
            understood = given in (DATE, TIMESTAMP) and parameter in (DATE, TIMESTAMP)
    if not understood and given != VOID:
        raise NotHere(f"a {given} in place of a {parameter}")
    return compiler.cast(argument, parameter)


# ---- days and moments

CASTS: dict[str, HiveType] = {
    name.upper(): PrimitiveType(name)
    for name in "boolean tinyint smallint int bigint float double string date timestamp".split()
}
"""``INT(x)`` is a cast."""


def _cast(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    return compiler.cast(given[0], CASTS[name]) if len(given) == 1 else None


_parsed = of(STRING, STRING, gives=DATE, value=single_values.parsed)


def _to_date(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    if len(given) == 2 and compiler.partitions:
        return _parsed(compiler, name, given)
    if len(given) != 1:
        return None
    if given[0].type not in (DATE, TIMESTAMP, STRING, VOID):
        raise NotHere(f"TO_DATE of {given[0].type}")
    return compiler.cast(given[0], DATE)


def _moment(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    """The statement's own moment."""
    if given:
        return None
    if compiler.now is None or not compiler.utc or name.lower() in compiler.columns:
        raise NotHere("the moment of the statement")
    now = compiler.now
    if now.tzinfo is not None:
        now = now.astimezone(datetime.UTC).replace(tzinfo=None)
    hive_type = DATE if name == TODAY else TIMESTAMP
    return compiler.constant(now.date() if name == TODAY else now, hive_type)


def _part(parameter: HiveType, part: str) -> Compile:
    return of(parameter, gives=INT, kernel=partial(days.part, part))


_UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("MONTH", "MM", "MON"), "MONTH"),
    "QUARTER": "QUARTER",
    "WEEK": "WEEK",
}


def _truncated(unit: str) -> Callable[..., Any] | None:
    known = _UNITS.get(unit.upper())
    return None if known is None else partial(days.truncated, known)


# ---- text


def _length(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    if len(given) != 1:
        return None
    if given[0].type == BINARY:
        return Vector(INT, applied(texts.byte_length, given[0]))
    return Vector(INT, applied(texts.length, passed(compiler, given[0], STRING)))


def _concatenated(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    if not given:
        return None
    if all(one.type == BINARY for one in given):
        return Vector(BINARY, applied(texts.concat, *given))
    return _joined(texts.concat, compiler, given)


def _with_separator(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    return _joined(texts.concat_with, compiler, given) if given else None


def _joined(kernel: Callable[..., Any], compiler: Compiler, given: Sequence[Vector]) -> Vector:
    return Vector(STRING, applied(kernel, *(passed(compiler, one, STRING) for one in given)))


def _substring(position: int, count: int | None = None) -> Callable[..., Any] | None:
    return partial(texts.slice_from, position, count) if position > 0 else None


_MOST_PADDED = 10_000
"""Longer texts are padded one by one."""


def _padded(left: bool) -> Compile:
    def constants(count: int, pad: str = " ") -> Callable[..., Any] | None:
        quick = 0 <= count <= _MOST_PADDED and len(pad) == 1
        return partial(texts.padded, left, count, pad) if quick else None

    value = single_values.left_pad if left else single_values.right_pad
    return of(STRING, INT, STRING, gives=STRING, value=value, constants=constants, optional=1)


def _replaced(search: str, replacement: str = "") -> Callable[..., Any] | None:
    return partial(texts.replace, search, replacement) if search else None


def _search(kernel: Callable[..., Any], value: Callable[[str, str], bool]) -> Compile:
    quick = partial(partial, kernel)
    return of(STRING, STRING, gives=BOOLEAN, value=value, constants=quick)


_in_text = of(STRING, STRING, gives=INT, value=single_values.position)


def _located(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    return _in_text(compiler, name, given[::-1])


def _pattern(compiler: Compiler, name: str, given: Sequence[Vector]) -> Vector | None:
    if len(given) != 2:
        return None
    value, pattern = given
    if pattern.literal is None or pattern.type != STRING:
        raise NotHere(f"{name} with a pattern that is not written out")
    text = pattern.literal.value
    kernel: Callable[..., Any]
    if name == "LIKE" and "\\" not in text:
        kernel = partial(texts.like, text)
    elif name == "RLIKE" and (test := single_values.regular(text)) is not None:
        kernel = partial(rowwise.each, test, BOOLEAN)
    else:
        raise NotHere(f"this pattern of {name}")
    return Vector(BOOLEAN, applied(kernel, passed(compiler, value, STRING)))


# ---- the table


FUNCTIONS: dict[str, Function] = {}
"""By the name in capitals, as ``tree.Call`` has it."""


def _enter(names: str, function: Function) -> None:
    FUNCTIONS.update(dict.fromkeys(names.split(), function))


def _operators() -> None:
    for names, vector in (
        ("AND OR", operators.connective),
        ("NOT", operators.negated),
        ("= <> < <= > >=", operators.compared),
        ("<=>", operators.same),
        ("BETWEEN", operators.between),
        ("IN", operators.listed),
        ("+ - * / % DIV", arithmetic.binary),
        ("NEGATIVE", arithmetic.single),
        ("||", _concatenated),
        ("CASE IF", operators.case),
    ):
        _enter(names, Function(vector=vector, total=True))
    # of two words
    FUNCTIONS["IS NULL"] = Function(vector=operators.is_null, total=True)
    FUNCTIONS["IS TRUE"] = FUNCTIONS["IS FALSE"] = Function(vector=operators.truth_test, total=True)
    _enter("& | ^", Function(vector=arithmetic.binary))
    _enter("LIKE RLIKE", Function(vector=_pattern))
    _enter("[]", Function())


def _named(
    names: str, vector: Compile, *, total: bool = False, added: Mapping[int, str] | None = None
) -> None:
    """Enters functions whose columns have the name that they are called by."""
    for name in names.split():
        column = name if name in ("CEIL", "FLOOR", "SIGNUM") else name.lower()
        FUNCTIONS[name] = Function(vector=vector, total=total, column=column, added=added)


def _of_numbers_and_choices() -> None:
    _named("COALESCE NVL IFNULL", operators.first_value, total=True)
    _named("NVL2", operators.by_null, total=True)
    _named("NULLIF", operators.null_if, total=True)
    _named("MOD PMOD", arithmetic.binary)
    _named("ABS CEIL CEILING FLOOR SIGN SIGNUM", arithmetic.single)
    _named("ROUND", arithmetic.rounded, added={1: "0"})
    _named("GREATEST LEAST", arithmetic.greatest)


def _of_text() -> None:
    of_text = partial(of, STRING, gives=STRING)
    upper = of_text(kernel=partial(texts.upper, single_values.upper))
    lower = of_text(kernel=partial(texts.lower, single_values.lower))
    _named("UPPER UCASE", upper, total=True)
    _named("LOWER LCASE", lower, total=True)
    _named("LENGTH LEN CHAR_LENGTH CHARACTER_LENGTH", _length, total=True)
    _named("TRIM", of_text(kernel=texts.trim), total=True)
    _named("LTRIM", of_text(kernel=texts.left_trim), total=True)
    _named("RTRIM", of_text(kernel=texts.right_trim), total=True)
    _named("REVERSE", of_text(kernel=texts.reverse))
    _named("INITCAP", of_text(value=single_values.initcap))
    _named("CONCAT", _concatenated, total=True)
    _named("CONCAT_WS", _with_separator)
    substring = of(
        *(STRING, INT, INT),
        gives=STRING,
        value=single_values.substring,
        constants=_substring,
        optional=1,
    )
    _named("SUBSTR SUBSTRING", substring, total=True, added={2: "2147483647"})
    left = of(
        *(STRING, INT),
        gives=STRING,
        value=lambda text, length: single_values.substring(text, 1, length),
        constants=lambda count: partial(texts.slice_from, 1, count),
    )
    _named("LEFT", left)
    _named("RIGHT", of(STRING, INT, gives=STRING, value=single_values.right))
    replace = of(
        *(STRING, STRING, STRING),
        gives=STRING,
        value=single_values.replace,
        constants=_replaced,
        optional=1,
    )
    _named("REPLACE", replace, added={2: ""})
    _named("TRANSLATE", of(STRING, STRING, STRING, gives=STRING, value=single_values.translated))
    _named("LPAD", _padded(left=True), added={2: " "})
    _named("RPAD", _padded(left=False), added={2: " "})
    _named("REPEAT", of(STRING, INT, gives=STRING, value=single_values.repeated))
    part = single_values.part_by_delimiter
    _named("SUBSTRING_INDEX", of(STRING, STRING, INT, gives=STRING, value=part))
    _named("INSTR", _in_text)
    _named("LOCATE POSITION", _located, added={2: "1"})
    _named("CONTAINS", _search(texts.contains, lambda text, part: part in text))
    _named("STARTSWITH", _search(texts.starts_with, str.startswith))
    _named("ENDSWITH", _search(texts.ends_with, str.endswith))
    _named("ASCII", of(STRING, gives=INT, value=single_values.first_code_point))


def _of_bytes() -> None:
    _named("MD5", of(BINARY, gives=STRING, value=single_values.md5))
    _named("SHA SHA1", of(BINARY, gives=STRING, value=single_values.sha1))
    _named("SHA2", of(BINARY, INT, gives=STRING, value=single_values.sha2))
    _named("CRC32", of(BINARY, gives=BIGINT, value=single_values.crc32))


def _of_days() -> None:
    for name in "YEAR QUARTER MONTH DAY DAYOFYEAR DAYOFWEEK WEEKDAY WEEKOFYEAR".split():
        _named(name, _part(DATE, name))
    _named("DAYOFMONTH", _part(DATE, "DAY"))
    for name in ("HOUR", "MINUTE", "SECOND"):
        _named(name, _part(TIMESTAMP, name))
    _named("DATE_ADD", of(DATE, INT, gives=DATE, kernel=days.add_days))
    _named("DATE_SUB", of(DATE, INT, gives=DATE, kernel=days.subtract_days))
    _named("DATEDIFF", of(DATE, DATE, gives=INT, kernel=days.days_between))
    _named("ADD_MONTHS", of(DATE, INT, gives=DATE, kernel=days.add_months))
    _named("LAST_DAY", of(DATE, gives=DATE, kernel=days.last_day))
    _named("TO_DATE", _to_date)
    value = single_values.truncated
    _named("TRUNC", of(DATE, STRING, gives=DATE, value=value, constants=_truncated))
    _named("DATE_FORMAT", of(TIMESTAMP, STRING, gives=STRING, value=single_values.formatted))


def _others() -> None:
    _enter("EQUAL_NULL", Function(vector=operators.same))
    _enter("ISNULL", Function(vector=operators.is_null))
    _enter("ISNOTNULL", Function(vector=operators.is_not_null))
    _enter(" ".join(CASTS), Function(vector=_cast, total=True))
    for name in (TODAY, NOW, "NOW"):
        moment = Function(vector=_moment, deterministic=False, column=name.lower())
        FUNCTIONS[name] = moment
    only_spark = (
        "BASE64 BIN BIT_COUNT BROUND CHR CONV DATE_FROM_UNIX_DATE DATE_PART DATE_TRUNC ELT"
        " FIND_IN_SET FORMAT_NUMBER FORMAT_STRING FROM_UNIXTIME HASH HEX LEVENSHTEIN MAKE_DATE"
        " MONTHS_BETWEEN NEXT_DAY OVERLAY POW POWER PRINTF REGEXP_COUNT REGEXP_EXTRACT REGEXP_INSTR"
        " REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR SOUNDEX SPLIT SPLIT_PART SQRT TO_TIMESTAMP"
        " TO_UNIX_TIMESTAMP TRY_TO_DATE UNIX_DATE UNHEX XXHASH64"
    )
    _enter(only_spark, Function())


_operators()
_of_numbers_and_choices()
_of_text()
_of_bytes()
_of_days()
_others()
DETERMINISTIC = frozenset(name for name, known in FUNCTIONS.items() if known.deterministic)
TOTAL = frozenset(name for name, known in FUNCTIONS.items() if known.total)
