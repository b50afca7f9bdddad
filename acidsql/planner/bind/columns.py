"""What names in queries and expressions mean: columns, functions, and what is the session's."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from acidsql.acid.ids import ROW_ID_COLUMN
from acidsql.catalog.model import FRAMES, Table
from acidsql.catalog.types import HiveType, PrimitiveType, StructType
from acidsql.errors import AmbiguousColumnError, BindError, ColumnNotFoundError, Span
from acidsql.expressions.shortening import FEWEST_TERMS, shortened
from acidsql.expressions.spark_words import Edit, identifier, text_literal
from acidsql.expressions.tree import Call, Cast, ColumnRef, Condition, Unread, parts_of
from acidsql.expressions.values import is_utc
from acidsql.lazy import dataclass, pattern
from acidsql.parser.tokens import Token, TokenKind, tokenize, tokens_in

if TYPE_CHECKING:
    from sqlglot import exp


# ---- current database
#
# What is the session's, and Spark does not know: ``current_database()`` and ``current_schema()``,
# in whose place the name stands in the text for Spark, and in trees for the driver a constant; and
# the clock of its time zone, which ``current_timestamp()`` and the like show, where Spark's shows
# that of UTC.


CALLS = frozenset({"CURRENT_DATABASE", "CURRENT_SCHEMA"})
_MENTIONED = re.compile("|".join(CALLS), re.IGNORECASE)
_NOW = "from_utc_timestamp(current_timestamp(), {zone})"
_MOMENTS = {
    "CURRENT_TIMESTAMP": _NOW,
    "NOW": _NOW,
    "LOCALTIMESTAMP": f"CAST({_NOW} AS timestamp_ntz)",
    "CURRENT_DATE": f"CAST({_NOW} AS date)",
    "CURDATE": f"CAST({_NOW} AS date)",
    "CURRENT_TIMEZONE": "{zone}",
}
_BARE = frozenset(("CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP"))
"""The words for now that need no brackets."""
_TOLD = re.compile("|".join(_MOMENTS), re.IGNORECASE)
_BEFORE_VALUES = frozenset(
    "SELECT DISTINCT ALL WHERE HAVING AND OR NOT ON BY BETWEEN IN LIKE CASE WHEN THEN ELSE IS DIV"
    " RETURN".split()
)
_BEHIND_ITEMS = frozenset(
    "FROM WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW QUALIFY LATERAL"
    " UNION EXCEPT MINUS INTERSECT".split()
)
"""Words that end a SELECT list."""


def database_edits(source: str, span: Span, database: str) -> list[Edit]:
    """What puts the name of ``database`` in the place of the calls in a text. A column that is
    such a call and nothing more keeps the name that it has of it.
    """
    if _MENTIONED.search(source, span.start, span.end) is None:
        return []
    tokens = tokens_in(source, span)
    starts = _item_starts(tokens)
    edits = []
    for at in range(len(tokens) - 2):
        if _is_call(tokens, at):
            is_item = at in starts and _ends_item(tokens, at + 3)
            named = f" AS {identifier(called(tokens[at].text))}" if is_item else ""
            call = Span(tokens[at].start, tokens[at + 2].end)
            edits.append(Edit(call, (text_literal(database) + named,)))
    return edits


def moment_edits(source: str, span: Span, zone: str, columns: Set[str] = frozenset()) -> list[Edit]:
    """What puts the clock of ``zone`` in the place of the words for now and today in a text.
    ``columns``: of the tables there, in lower case; a word that is one of them is a column.
    """
    if is_utc(zone) or _TOLD.search(source, span.start, span.end) is None:
        return []
    tokens = tokens_in(source, span)
    starts = _item_starts(tokens)
    edits = []
    for at, token in enumerate(tokens):
        width = _moment_width(tokens, at, columns)
        if width:
            word = token.text
            is_item = at in starts and _ends_item(tokens, at + width)
            named = f" AS {identifier(called(word))}" if is_item else ""
            shown = _MOMENTS[word.upper()].format(zone=text_literal(zone))
            call = Span(token.start, tokens[at + width - 1].end)
            edits.append(Edit(call, (shown + named,)))
    return edits


def moments_shown(text: str, zone: str) -> str:
    """A text of its own, such as a column's DEFAULT, with the clock of ``zone``."""
    for edit in reversed(moment_edits(text, Span(0, len(text)), zone)):
        text = f"{text[: edit.span.start]}{edit.pieces[0]}{text[edit.span.end :]}"
    return text


def _moment_width(tokens: Sequence[Token], at: int, columns: Set[str]) -> int:
    """How many tokens a word for now is of that stands there; 0 if there is none."""
    token = tokens[at]
    before = tokens[at - 1] if at else None
    if token.text.upper() not in _MOMENTS or (before is not None and before.is_mark(".")):
        return 0
    if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
        return 0
    if len(tokens) > at + 2 and tokens[at + 1].is_mark("(") and tokens[at + 2].is_mark(")"):
        return 3
    if token.kind is TokenKind.QUOTED or token.text.upper() not in _BARE:
        return 0
    if token.text.lower() in columns or _may_be_a_name(before, tokens[at + 1 : at + 2]):
        return 0
    return 1


def _may_be_a_name(before: Token | None, behind: Sequence[Token]) -> bool:
    if behind and (behind[0].is_mark(".") or behind[0].is_mark("(")):
        return True
    if before is None or before.word in _BEFORE_VALUES:
        return False
    names = (TokenKind.WORD, TokenKind.QUOTED)
    return before.kind in names or before.is_mark(")") or before.is_mark("]")


def called(function: str) -> str:
    """What a column that is a call of ``function`` is called."""
    return f"{function.lower()}()"


def _is_call(tokens: Sequence[Token], at: int) -> bool:
    token = tokens[at]
    return (
        token.kind in (TokenKind.WORD, TokenKind.QUOTED)
        and token.text.upper() in CALLS
        and tokens[at + 1].is_mark("(")
        and tokens[at + 2].is_mark(")")
        and not (at and tokens[at - 1].is_mark("."))
    )


def _item_starts(tokens: Sequence[Token]) -> set[int]:
    """The places of tokens with which an item of a SELECT list begins."""
    starts: set[int] = set()
    levels = [False]  # whether a SELECT list is open, for each bracket that is
    for at, token in enumerate(tokens):
        if token.is_mark("(") or token.is_mark("["):
            levels.append(False)
        elif token.is_mark(")") or token.is_mark("]"):
            levels = levels[:-1] or [False]
        elif token.word == "SELECT" or (levels[-1] and token.is_mark(",")):
            levels[-1] = True
            starts.add(at + 1)
        elif token.word in ("DISTINCT", "ALL") and at in starts:
            starts.add(at + 1)
        elif token.word in _BEHIND_ITEMS:
            levels[-1] = False
    return starts


def _ends_item(tokens: Sequence[Token], at: int) -> bool:
    if at == len(tokens):
        return True
    return tokens[at].is_mark(",") or tokens[at].is_mark(")") or tokens[at].word in _BEHIND_ITEMS


# ---- functions
#
# Functions that nobody knows: told at their place, with the one that is probably meant, before
# Spark is started for them.


KnowsFunction = Callable[[str], bool]
"""Whether a session may know a function that Spark has not by itself."""
_CALLED = re.compile(r"(\w+)\s*\(")


def unknown_function(name: str, span: Span | None = None) -> BindError:
    """The error for a function that is not there (Hive: ErrorMsg.INVALID_FUNCTION)."""
    from acidsql.expressions.spark_words import nearest_function

    near = nearest_function(name)
    hint = f'did you mean "{near}"?' if near else None
    return BindError(f'Invalid function "{name}"', code=10011, hint=hint, span=span)


def check_called(source: str, tree: Condition, knows: KnowsFunction) -> None:
    """BindError (10011) for a call in an expression of ours of a function that nobody knows."""
    for call in _calls(tree):
        match = _CALLED.match(source, call.span.start)
        if match is not None and match[1].upper() == call.name.upper():
            _check(source, match[1], Span(*match.span(1)), knows)


def check_nodes(source: str, base: int, nodes: Iterable[exp.Expr], knows: KnowsFunction) -> None:
    """BindError (10011) for such a call in a query; offset 0 of its text stands for ``base``."""
    from sqlglot import exp

    for node in nodes:
        if type(node) is not exp.Anonymous or not isinstance(node.this, str):
            continue
        if isinstance(node.parent, exp.Dot | exp.Table | exp.Lateral) or "start" not in node.meta:
            continue
        match = _CALLED.match(source, base + node.meta["start"])
        if match is not None and match[1].lower() == node.this.lower():
            _check(source, match[1], Span(*match.span(1)), knows)


def _check(source: str, name: str, span: Span, knows: KnowsFunction) -> None:
    from acidsql.expressions.spark_words import is_function

    if not is_function(name) and not knows(name):
        raise unknown_function(name, span).at(source)


def _calls(tree: Condition) -> Iterator[Call]:
    match tree:
        case Call(arguments=arguments):
            yield tree
            for argument in arguments:
                yield from _calls(argument)
        case Cast(argument=argument):
            yield from _calls(argument)


# ---- columns
#
# Which relation a column of a query or an expression belongs to, and the error where it belongs to
# none or to two.


ROW_ID = ROW_ID_COLUMN.lower()

_WORDS_FOR_SPARK = frozenset(
    "year yearofweek quarter month week day dayofweek dayofyear hour minute second millisecond"
    " microsecond nanosecond years months weeks days hours minutes seconds doy dow user"
    " current_user session_user localtimestamp current_time current_catalog current_database"
    " current_schema grouping__id spark_grouping_id _metadata input__file__name"
    " block__offset__inside__file".split()
)
"""Words that look like columns to a parser but are units or functions: Spark judges them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """A relation whose columns an expression may use. ``columns``: name to type; None when only
    Spark knows them. ``typed``: it has these types and no others, as a view may by now.
    """

    alias: str
    name: str
    database: str = ""
    columns: Mapping[str, HiveType | None] | None = None
    typed: bool = True

    @classmethod
    def of(cls, table: Table, alias: str) -> Visible:
        columns: dict[str, HiveType | None] = {
            c.name: c.type for c in (*table.columns, *table.partition_columns)
        }
        if table.is_full_acid:
            columns[ROW_ID] = None
        return cls(
            alias=alias,
            name=str(table.name),
            database=table.name.database,
            columns=columns,
            typed=table.view is None,
        )


def certain_type(parts: tuple[str, ...], visible: Sequence[Visible]) -> HiveType | None:
    """The type of the one column that these parts of a name, in lower case, can mean; None where
    that is in doubt.
    """
    match parts:
        case (name,):
            owners = [one for one in visible if one.columns is None or name in one.columns]
        case (alias, name):
            owners = [one for one in visible if one.alias == alias]
        case _:
            return None
    if len(owners) != 1 or not owners[0].typed:
        return None
    return (owners[0].columns or {}).get(name)


class Part(Protocol):
    """One name of a dotted column."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Word:
    """A Part that needed no parser."""

    name: str
    span: Span


_COLUMN = r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)?"
_ATOM = rf"(?:{_COLUMN}|\d+(?:\.\d+)?|'[^'\\]*')"
_OPERAND = rf"(?:[A-Za-z]\w*\(\s*{_ATOM}(?:\s*,\s*{_ATOM})*\s*\)|{_ATOM})"
_OPERATOR = r"(?:\s*(?:<=|>=|<>|!=|[-+*/%=<>])\s*|\s+(?:AND|OR)\s+)"
_SIMPLE = pattern(rf"\s*{_OPERAND}(?:{_OPERATOR}{_OPERAND})*\s*", re.ASCII | re.IGNORECASE)
_PART = pattern(r"'[^']*'|([A-Za-z]\w*)(?:\.([A-Za-z]\w*))?(\s*\()?", re.ASCII)
_VALUES = frozenset({"null", "true", "false", "current_date", "current_timestamp"})
_OPERATORS = frozenset({"and", "or"})
_NOT_SIMPLE = frozenset(
    {
        ROW_ID,
        "default",
        "case",
        "not",
        "date",
        "timestamp",
        "interval",
        "select",
        "exists",
        "distinct",
        "all",
        "any",
        "in",
        "is",
    }
)


@lru_cache(maxsize=256)
def simple_columns(source: str, span: Span) -> list[list[Word]] | None:
    """The columns of an expression that shows them without a parser: names, plain literals, calls
    of them and operators between.

    None for anything else. It is most of what DML holds, and each takes a fiftieth of the time.
    """
    if _SIMPLE.fullmatch(source, span.start, span.end) is None:
        return None
    columns = []
    for match in _PART.finditer(source, span.start, span.end):
        first = match[1]
        if (
            first is None
            or first.lower() in _OPERATORS
            or (match[2] is None and first.lower() in _VALUES)
        ):
            continue
        words = [Word(match[i], Span(*match.span(i))) for i in (1, 2) if match[i] is not None]
        if any(word.name.lower() in _NOT_SIMPLE for word in words):
            return None
        if match[3] is None:
            columns.append(words)
    return columns


def named_columns(source: str, condition: Condition) -> list[list[Word]] | None:
    """The columns of an expression of which every word is understood; None for one that asks for
    ROW__ID or names a database too.
    """
    columns = []
    for part in parts_of(condition):
        match part:
            case Unread():
                return None
            case ColumnRef(parts, span):
                if len(parts) > 2 or ROW_ID in parts:
                    return None
                columns.append(_words(source, span))
    return columns


def _words(source: str, span: Span) -> list[Word]:
    text = span.cut(source)
    if text.isidentifier():
        return [Word(text, span)]
    return [Word(t.text, t.moved(span.start).span) for t in tokenize(text) if not t.is_mark(".")]


def may_be_shortened(span: Span) -> bool:
    """Whether a text is long enough to hold a chain that is worth a second look."""
    return span.end - span.start >= FEWEST_TERMS * len("a=1 OR ")


def shorter(
    source: str,
    condition: Condition,
    visible: Sequence[Visible],
    edits: Sequence[Edit],
    *,
    filters: bool,
) -> list[Edit]:
    """``edits`` of a condition over ``visible`` and those that put it into fewer words."""
    type_of = cache(lambda parts: certain_type(parts, visible))
    return shortened(source, condition, type_of, edits, filters=filters)


P = TypeVar("P", bound=Part)


class ColumnFinder(Generic[P]):
    """``span`` gives the place of a part in ``source``."""

    def __init__(self, source: str, span: Callable[[P], Span]) -> None:
        self.source = source
        self.span = span

    def owner(self, parts: list[P], visible: Sequence[Visible]) -> Visible | None:
        """The relation a column belongs to; None for words Spark judges. ColumnNotFoundError,
        AmbiguousColumnError.
        """
        relation = self.find(parts, visible)
        if relation is not None:
            return relation
        unknown = next((one for one in visible if one.columns is None), None)
        if unknown is None and parts[0].name.lower() not in _WORDS_FOR_SPARK:
            raise self.not_found(parts, visible)
        return unknown

    def check(
        self,
        parts: list[P],
        levels: Sequence[Sequence[Visible]],
        names: Collection[str],
        asks_results: Callable[[], bool],
    ) -> None:
        """Checks a column of a query inside others (``levels``, its own first), where the
        ``names`` of results may stand too. ``asks_results``: of two columns in tables it means the
        one among the results, which Spark knows.
        """
        first = parts[0].name.lower()
        if first in _WORDS_FOR_SPARK or (len(parts) == 1 and first in names):
            return
        try:
            if all(self.find(parts, level) is None for level in levels) and first not in names:
                raise self.not_found(parts, levels[0])
        except AmbiguousColumnError:
            if len(parts) > 1 or not asks_results():
                raise

    def find(self, parts: list[P], visible: Sequence[Visible]) -> Visible | None:
        first = parts[0].name.lower()
        for one in visible:
            if len(parts) > 1 and first == one.alias:
                return self.checked(parts[1:], one)
            if len(parts) > 2 and (first, parts[1].name.lower()) == (one.database, one.alias):
                return self.checked(parts[2:], one)
        owners = [one for one in visible if one.columns is not None and first in one.columns]
        if len(owners) > 1:
            message = (
                f'column "{parts[0].name}" is in "{owners[0].alias}" and in "{owners[1].alias}"'
            )
            hint = f"Write {owners[0].alias}.{parts[0].name} or {owners[1].alias}.{parts[0].name}."
            raise AmbiguousColumnError(
                message, code=10007, hint=hint, span=self.span(parts[0]), source=self.source
            )
        return self.checked(parts, owners[0]) if owners else None

    def checked(self, parts: list[P], owner: Visible) -> Visible:
        """``owner``, once the column is found there, and the fields of a struct below it."""
        if owner.columns is None:
            return owner
        name = parts[0].name.lower()
        if name not in owner.columns:
            raise self.not_found(parts[:1], [owner])
        kind = owner.columns[name]
        for part in parts[1:]:
            if not isinstance(kind, StructType):
                break
            kind = _field(kind, part.name)
            if kind is None:
                message = f'struct "{name}" has no field "{part.name}"'
                raise ColumnNotFoundError(
                    message, code=10004, span=self.span(part), source=self.source
                )
        return owner

    def name_of(self, parts: list[P], owner: Visible) -> str:
        """The column's own name, of a column of ``owner``."""
        names = [part.name.lower() for part in parts]
        if len(names) > 2 and names[:2] == [owner.database, owner.alias]:
            return names[2]
        return names[1] if len(names) > 1 and names[0] == owner.alias else names[0]

    def is_mere(self, parts: list[P], owner: Visible) -> bool:
        """Whether the parts name a column of ``owner`` and not a field in one."""
        return len(parts) == 1 or parts[-2].name.lower() == owner.alias

    def type_of(self, parts: list[P], visible: Sequence[Visible]) -> HiveType | None:
        """The type of a column or a field of it; None where only Spark knows."""
        owner = self.owner(parts, visible)
        if owner is None or owner.columns is None:
            return None
        names = [part.name.lower() for part in parts]
        path = (
            names[2:]
            if names[:2] == [owner.database, owner.alias]
            else names[1:]
            if names[0] == owner.alias
            else names
        )
        kind = owner.columns.get(path[0]) if path else None
        for name in path[1:]:
            kind = _field(kind, name) if isinstance(kind, StructType) else None
        return kind

    def not_found(self, parts: list[P], visible: Sequence[Visible]) -> ColumnNotFoundError:
        if len(parts) > 1:
            message = f'"{parts[0].name}" is neither a table nor a column that can be used here'
            usable = " and ".join(one.alias for one in visible)
            hint = f"The columns of {usable} can be used." if usable else None
            return ColumnNotFoundError(
                message, code=10004, hint=hint, span=self.span(parts[0]), source=self.source
            )
        known = [name for one in visible for name in one.columns or ()]
        names = [one.name for one in visible]
        return missing_column(parts[0].name, names, known, self.span(parts[0]), self.source, 10004)


def _field(struct: StructType, name: str) -> HiveType | None:
    return next((f.type for f in struct.fields if f.name.lower() == name.lower()), None)


def column_not_found(
    name: str, table: Table, span: Span, source: str, code: int = 10004
) -> ColumnNotFoundError:
    known = [c.name for c in (*table.columns, *table.partition_columns)]
    return missing_column(name, [str(table.name)], known, span, source, code)


def missing_column(
    name: str, tables: Sequence[str], known: Sequence[str], span: Span, source: str, code: int
) -> ColumnNotFoundError:
    near = difflib.get_close_matches(name.lower(), [k for k in known if k != ROW_ID], n=1)
    hint = f'did you mean "{near[0]}"?' if near else None
    where = f" in {_either(tables)}" if tables else ""
    return ColumnNotFoundError(
        f'column "{name}" does not exist{where}', hint=hint, code=code, span=span, source=source
    )


def _either(names: Sequence[str]) -> str:
    """Tables and frames, as they are called in a sentence."""
    frames = [name.removeprefix(f"{FRAMES}.") for name in names if name.startswith(f"{FRAMES}.")]
    tables = " or ".join(f'"{name}"' for name in names if not name.startswith(f"{FRAMES}."))
    # that of one statement has a name which nobody gave it
    called = ["the frame" if ":" in name else f'frame "{name}"' for name in frames]
    return " or ".join([*([f"table {tables}"] if tables else []), *called])


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an expression: the columns it uses, each with its relation's alias, and its
    type where that is plain to see.

    ``mere``: it is the one column it uses and nothing more.
    """

    columns: frozenset[tuple[str, str]]
    type: HiveType | None
    mere: bool = False

    @property
    def used(self) -> frozenset[str]:
        """The aliases."""
        return frozenset(alias for alias, _ in self.columns)


def facts_of(
    source: str, span: Span, columns: Sequence[list[Word]], visible: Sequence[Visible]
) -> Facts:
    """What is known of an expression that reads no table and uses these columns of ``visible``.
    ColumnNotFoundError, AmbiguousColumnError.
    """
    finder: ColumnFinder[Word] = ColumnFinder(source, lambda word: word.span)
    owners = [(finder.owner(words, visible), words) for words in columns]
    text = span.cut(source)
    if len(columns) == 1 and text.strip() == _written(source, columns[0]):
        [(owner, words)] = owners
        hive_type = finder.type_of(words, visible)
        mere = owner is not None and finder.is_mere(words, owner)
    else:
        hive_type = None if columns else _type_of_literal(text)
        mere = False
    return Facts(
        columns=frozenset(
            (owner.alias, finder.name_of(words, owner))
            for owner, words in owners
            if owner is not None
        ),
        type=hive_type,
        mere=mere,
    )


def _written(source: str, words: list[Word]) -> str:
    return Span(words[0].span.start, words[-1].span.end).cut(source)


_LITERAL = pattern(r"\s*(?:\d+(?:\.\d*)?|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))\s*", re.ASCII)


def _type_of_literal(text: str) -> HiveType | None:
    literal = _LITERAL.fullmatch(text)
    return None if literal is None else PrimitiveType("string" if literal[1] else "double")
