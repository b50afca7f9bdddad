"""Values of text tables as Spark SQL, read and written as Hive's LazySimpleSerDe does. (Where Hive
3 and Hive 4 differ, as Hive 4.)

A line is cut at its separators and each cell parsed by the type of its column; what cannot be
parsed is NULL. Spark's own casts take more than Hive's: they trim, know more words and more forms
of dates. So each is asked only of text that Hive takes.

Where a table escapes, escaped characters are set aside before a line is cut: each becomes a
character that no text has, and comes back in the value. A line that is not UTF-8 is cut as if its
bytes were characters, and the strings from it are made bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acidsql.catalog.model import Column
from acidsql.catalog.text import TextFormat
from acidsql.catalog.types import (
    ArrayType,
    CharType,
    DecimalType,
    HiveType,
    MapType,
    PrimitiveType,
    StructType,
    VarcharType,
)
from acidsql.expressions.spark_words import identifier, spark_type, text_literal
from acidsql.spark import jvm

LINE = "value"
"""The column of lines."""
CELLS, IS_UTF8 = "acidsql_cells", "acidsql_utf8"

_BYTES = "ISO-8859-1"
"""The encoding whose characters are bytes."""

_NONCHARACTERS = 0xFDD0
"""32 code points from here on are not characters and stand in no text (Unicode, section 23.7)."""

_BINARY = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$"
_DATE = r"^\s*(-?[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2})(?![0-9])"
_SHORTEST_DATE = 8
_DECIMAL = r"^\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?0*[0-9]{1,2})?\s*$"
_TIMESTAMP = (
    r"^\s*-?[0-9]{1,6}-[0-9]{1,2}-[0-9]{1,2}["
    r" Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]{1,9})?\s*$"
)
_SHORT_YEAR = r"^(\s*-?)([0-9]{1,3}-)"
_FRACTION = r"^([-+]?)([0-9]*)\.[0-9]*$"
_PLAIN_SCALE = 6
"""Up to this scale Spark writes decimals without an exponent."""

_HOLDS_NONCHARACTERS = "acidsql: a line holds code points that are not characters"


# ---- reading


def cells(columns: Sequence[Column], text: TextFormat) -> list[str]:
    """The texts of a LINE, as an array CELLS, and whether it IS_UTF8; if it is not, each character
    stands for a byte.
    """
    line = f"IF({jvm.is_utf8(LINE)}, {LINE}, decode(CAST({LINE} AS binary), '{_BYTES}'))"
    cut = (
        f"split({_set_aside(line, text)}, {text_literal(_pattern(text.separators[0]))},"
        f" {len(columns) + 1})"
    )
    return [f"{cut} AS {CELLS}", f"{jvm.is_utf8(LINE)} AS {IS_UTF8}"]


def texts(columns: Sequence[Column], text: TextFormat) -> list[str]:
    """SQL of each column's text in ``cells``, as ``c0``, ``c1`` ..; NULL where it stands for NULL
    or the line is too short.
    """
    null = text_literal(_null_mark(text))
    return [
        *(
            f"nullif(get({CELLS}, {ordinal}), {null}) AS c{ordinal}"
            for ordinal in range(len(columns))
        ),
        IS_UTF8,
    ]


def values(columns: Sequence[Column], text: TextFormat) -> list[str]:
    """The values of ``texts``, named as the columns."""
    return [
        f"{_Parser(text).value(f'c{ordinal}', c.type, 1)} AS {identifier(c.name)}"
        for ordinal, c in enumerate(columns)
    ]


def _null_mark(text: TextFormat) -> str:
    """The mark of NULL as it stands in a line whose escapes are set aside."""
    mark = text.null
    for written, aside, _ in _escapes(text):
        mark = mark.replace(written, aside)
    return mark


def _escapes(text: TextFormat) -> list[tuple[str, str, str]]:
    """What is escaped: as it is written, what stands for it meanwhile, and what it means. The
    escape itself comes first.
    """
    if text.escape is None:
        return []
    marks = dict.fromkeys(text.escape + text.separators)
    return [
        (text.escape + mark, chr(_NONCHARACTERS + number), mark)
        for number, mark in enumerate(marks)
    ]


def _set_aside(line: str, text: TextFormat) -> str:
    if text.escape is None:
        return line
    marked = (
        f"IF({line} RLIKE '[\\uFDD0-\\uFDEF]', CAST(raise_error('{_HOLDS_NONCHARACTERS}') AS"
        f" string), {line})"
    )
    for written, aside, _ in _escapes(text):
        marked = f"replace({marked}, {text_literal(written)}, {text_literal(aside)})"
    return marked


class _Parser:
    """Makes the SQL of a value from the SQL of its text, which is repeated in the result: a mere
    column or variable.
    """

    def __init__(self, text: TextFormat) -> None:
        self.text = text
        self.null = text_literal(_null_mark(text))
        self.variables = 0

    def variable(self) -> str:
        self.variables += 1
        return f"v{self.variables}"

    def value(self, cell: str, hive_type: HiveType, level: int) -> str:
        """SQL for the value that a text stands for. ``cell``: text that is NULL where the value is;
        ``level``: of the separator between the value's own parts.
        """
        match hive_type:
            case ArrayType(element):
                part = self.variable()
                parsed = (
                    f"transform({self.parts(cell, level)}, {part} ->"
                    f" {self.part(part, element, level + 1)})"
                )
                return f"IF({cell} = '', CAST(array() AS {spark_type(hive_type)}), {parsed})"
            case MapType(key, value):
                return self.map(cell, key, value, level)
            case StructType(fields):
                parts = self.variable()
                given = [
                    f"{text_literal(f.name)}, {self.part(f'get({parts}, {i})', f.type, level + 1)}"
                    for i, f in enumerate(fields)
                ]
                return (
                    f"transform(array({self.parts(cell, level)}), {parts} -> IF({parts} IS NULL,"
                    f" NULL, named_struct({', '.join(given)})))[0]"
                )
            case _:
                return self.primitive(cell, hive_type)

    def part(self, cell: str, hive_type: HiveType, level: int) -> str:
        """A part of a value, NULL where it is written so."""
        one = self.variable()
        return (
            f"transform(array(nullif({cell}, {self.null})), {one} ->"
            f" {self.value(one, hive_type, level)})[0]"
        )

    def parts(self, cell: str, level: int) -> str:
        return f"split({cell}, {text_literal(_pattern(self.text.separators[level]))}, -1)"

    def map(self, cell: str, key: HiveType, value: HiveType, level: int) -> str:
        """SQL for a map. Entries without a key count for nothing; of entries with equal keys the
        first one's value is taken. Hive: LazyMap.
        """
        entry, pair, entries, wanted, other = (self.variable() for _ in range(5))
        between = text_literal(_pattern(self.text.separators[level + 1]))
        parsed = (
            f"named_struct('k', {self.part(f'{pair}[0]', key, level + 2)}, 'v',"
            f" {self.part(f'get({pair}, 1)', value, level + 2)})"
        )
        all_entries = (
            f"transform({self.parts(cell, level)}, {entry} -> transform(array(split({entry},"
            f" {between}, 2)), {pair} -> {parsed})[0])"
        )
        keys = f"array_distinct({entries}.k)"
        first = f"filter({entries}, {other} -> {other}.k <=> {wanted})[0].v"
        as_map = f"map_from_arrays({keys}, transform({keys}, {wanted} -> {first}))"
        with_keys = f"filter({all_entries}, {entry} -> {entry}.k IS NOT NULL)"
        whole = (
            f"transform(array({with_keys}), {entries} -> IF({entries} IS NULL, NULL, {as_map}))[0]"
        )
        return (
            f"IF({cell} = '', CAST(map() AS map<{spark_type(key)},{spark_type(value)}>), {whole})"
        )

    def primitive(self, cell: str, hive_type: HiveType) -> str:
        match hive_type:
            case PrimitiveType("string"):
                return self.string(cell)
            case VarcharType(length):
                return f"substring({self.string(cell)}, 1, {length})"
            case CharType(length):
                return f"rtrim(substring({self.string(cell)}, 1, {length}))"
            case PrimitiveType("binary"):
                stored = self.restored(cell)
                as_it_is = f"IF({IS_UTF8}, CAST({stored} AS binary), encode({stored}, '{_BYTES}'))"
                return f"IF({cell} RLIKE {text_literal(_BINARY)}, unbase64({cell}), {as_it_is})"
            case PrimitiveType("boolean"):
                return f"CASE lower({cell}) WHEN 'true' THEN true WHEN 'false' THEN false END"
            case _:
                return _parsed(cell, hive_type)

    def string(self, cell: str) -> str:
        text = self.unescaped(cell)
        return f"IF({IS_UTF8}, {text}, CAST(encode({text}, '{_BYTES}') AS string))"

    def unescaped(self, cell: str) -> str:
        """SQL for a text without its escapes: ``\\n`` and ``\\r`` are line breaks; before anything
        else the escape is dropped, but at the end of the line.
        """
        if self.text.escape is None:
            return cell
        escape = text_literal(self.text.escape)
        text = (
            f"replace(replace({cell}, {text_literal(self.text.escape + 'n')}, '\\n'),"
            f" {text_literal(self.text.escape + 'r')}, '\\r')"
        )
        text = (
            f"concat(replace({text}, {escape}, ''), IF(endswith({cell}, {escape}), {escape}, ''))"
        )
        for _, aside, meant in _escapes(self.text):
            text = f"replace({text}, {text_literal(aside)}, {text_literal(meant)})"
        return text

    def restored(self, cell: str) -> str:
        """The text as it stands in the file."""
        for written, aside, _ in _escapes(self.text):
            cell = f"replace({cell}, {text_literal(aside)}, {text_literal(written)})"
        return cell


def _parsed(cell: str, hive_type: HiveType) -> str:
    cast = f"try_cast({cell} AS {spark_type(hive_type)})"
    match hive_type:
        case PrimitiveType("float" | "double"):
            # Of words with an "n" Hive knows these two only.
            word = f"contains({cell}, 'n') OR contains({cell}, 'N')"
            return (
                f"IF(({word}) AND NOT (contains({cell}, 'NaN') OR contains({cell}, 'Infinity')),"
                f" NULL, {cast})"
            )
        case DecimalType():
            return f"IF({cell} RLIKE {text_literal(_DECIMAL)}, {cast}, NULL)"
        case PrimitiveType("date"):
            long_date = _with_long_year(f"regexp_extract({cell}, {text_literal(_DATE)}, 1)")
            other = f"IF(length({cell}) >= {_SHORTEST_DATE}, try_cast({long_date} AS date), NULL)"
            return f"coalesce({_if_regular(cell, 10, {5: '-', 8: '-'}, cast)}, {other})"
        case PrimitiveType("timestamp"):
            other = (
                f"IF({cell} RLIKE {text_literal(_TIMESTAMP)},"
                f" try_cast({_with_long_year(f'upper({cell})')} AS timestamp), NULL)"
            )
            regular = _if_regular(cell, 19, {5: "-", 8: "-", 11: " ", 14: ":", 17: ":"}, cast)
            return f"coalesce({regular}, {other})"
        case _:  # whole numbers, of which a fraction is dropped; Spark trims
            last = f"substring({cell}, -1)"
            tight = (
                f"{cell} >= '+' AND {cell} < ':' AND {last} >= '.' AND {last} < ':' AND {cell} NOT"
                " IN ('.', '-.', '+.')"
            )
            whole = f"regexp_replace({cell}, {text_literal(_FRACTION)}, '$10$2')"
            return (
                f"IF({tight}, coalesce({cast}, IF(contains({cell}, '.'), try_cast({whole} AS"
                f" {spark_type(hive_type)}), NULL)), NULL)"
            )


def _if_regular(cell: str, length: int, marks: Mapping[int, str], cast: str) -> str:
    """``cast`` of text that has these marks at their positions and a digit at the end, which spares
    most texts the regular expressions.
    """
    tests = [f"substring({cell}, {position}, 1) = '{mark}'" for position, mark in marks.items()]
    return (
        f"IF(length({cell}) = {length} AND {' AND '.join(tests)} AND substring({cell}, -1) BETWEEN"
        f" '0' AND '9', {cast}, NULL)"
    )


def _with_long_year(text: str) -> str:
    """SQL for a date or time whose year has the four digits that Spark wants."""
    return f"regexp_replace({text}, {text_literal(_SHORT_YEAR)}, '$1000$2')"


def _pattern(character: str) -> str:
    """The character as a regular expression, in a form that Java splits by without compiling it."""
    return f"\\{character}" if character in ".$|()[]{}^?*+\\" else character


# ---- writing


def line(names: Sequence[str], columns: Sequence[Column], text: TextFormat) -> str:
    """The line of a row, whose values are the columns ``names``."""
    cells = [
        _Printer(text).cell(name, column.type, 1)
        for name, column in zip(names, columns, strict=True)
    ]
    return f"concat_ws({text_literal(text.separators[0])}, {', '.join(cells)})"


class _Printer:
    """Makes the SQL of a text from the SQL of a value, which is repeated in the result."""

    def __init__(self, text: TextFormat) -> None:
        self.text = text
        self.variables = 0

    def variable(self) -> str:
        self.variables += 1
        return f"v{self.variables}"

    def cell(self, value: str, hive_type: HiveType, level: int) -> str:
        """SQL for the text of a value, never NULL. ``level``: of the separator between the value's
        own parts.
        """
        return f"coalesce({self.printed(value, hive_type, level)}, {text_literal(self.text.null)})"

    def printed(self, value: str, hive_type: HiveType, level: int) -> str:
        between = text_literal(self.text.separators[min(level, len(self.text.separators) - 1)])
        match hive_type:
            case ArrayType(element):
                part = self.variable()
                return (
                    f"array_join(transform({value}, {part} ->"
                    f" {self.cell(part, element, level + 1)}), {between})"
                )
            case MapType(key, item):
                part = self.variable()
                pair = (
                    self.cell(f"{part}.key", key, level + 2),
                    self.cell(f"{part}.value", item, level + 2),
                )
                entry = (
                    f"concat({pair[0]}, {text_literal(self.text.separators[level + 1])}, {pair[1]})"
                )
                return f"array_join(transform(map_entries({value}), {part} -> {entry}), {between})"
            case StructType(fields):
                cells = [
                    self.cell(f"{value}.{identifier(f.name)}", f.type, level + 1) for f in fields
                ]
                return f"IF({value} IS NULL, NULL, concat_ws({between}, {', '.join(cells)}))"
            case CharType(length):
                return self.escaped(f"rpad({value}, {length}, ' ')")
            case PrimitiveType("string") | VarcharType():
                return self.escaped(value)
            case PrimitiveType("binary"):
                return f"translate(base64({value}), '=\\r\\n', '')"
            case DecimalType(_, scale) if scale > _PLAIN_SCALE:
                return f"replace(format_number({value}, {scale}), ',', '')"
            case _:
                return f"CAST({value} AS string)"

    def escaped(self, value: str) -> str:
        for written, _, meant in _escapes(self.text):
            value = f"replace({value}, {text_literal(meant)}, {text_literal(written)})"
        return value
