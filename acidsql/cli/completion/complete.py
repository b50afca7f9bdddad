"""What may come next at the prompt: keywords asked of the grammar, names asked of the catalog.

The grammar is asked by giving it a mark that fits nowhere: the error lists what would have. Inside
queries and expressions, which the grammar takes as they are, a fixed list of words and functions is
offered, and the columns of the tables that the statement names, also behind the cursor.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from acidsql.cli.commands.command import NAME, PREFIXES, command_end
from acidsql.cli.completion.scope import BEFORE_TABLE, Source, sources_of
from acidsql.errors import Error, ParseError
from acidsql.expressions.vectors.functions import FUNCTIONS as KNOWN
from acidsql.lazy import dataclass
from acidsql.parser.parse import parse
from acidsql.parser.script import split
from acidsql.parser.tokens import Token, TokenKind, scan
from acidsql.settings import SETTINGS, Setting, find_setting

# ---- arguments
#
# What arguments of commands, names and values of settings, and names of files may be.


_SET = re.compile(r"\s*SET\s+(?:(?P<name>[\w.:]*)|(?P<known>[\w.]+)\s*=\s*(?P<value>\w*))\Z", re.I)
_RESET = re.compile(r"\s*RESET\s+(?P<name>[\w.]*)\Z", re.I)
_SPACES = ("hivevar:", "hiveconf:", "env:", "system:")
_LIMIT = 200
"""The most files of a directory that are offered."""


def complete_setting(before: str) -> tuple[str, Sequence[str]] | None:
    """The word behind SET or RESET and what it may become; None where none of them is typed."""
    if match := _RESET.match(before):
        return match["name"], [s.name for s in SETTINGS]
    match = _SET.match(before)
    if match is None:
        return None
    if match["name"] is None:
        return match["value"], _values(find_setting(match["known"]))
    return match["name"], [*(s.name for s in SETTINGS), *_SPACES, "AUTOCOMMIT"]


def _values(setting: Setting | None) -> Sequence[str]:
    match setting:
        case Setting(kind="bool"):
            return ("true", "false")
        case Setting(kind=tuple(words)):
            return words
        case Setting(default=str(default)) if default:
            return (default,)
        case _:
            return ()


def complete_file(typed: str) -> Sequence[str]:
    """The files whose paths begin as typed, directories with a slash; hidden ones if asked for."""
    folder, _, beginning = typed.rpartition("/")
    shown = f"{folder}/" if "/" in typed else ""
    paths = []
    try:
        with os.scandir(os.path.expanduser(shown) or ".") as entries:
            for entry in entries:
                hidden = entry.name.startswith(".") and not beginning.startswith(".")
                if entry.name.startswith(beginning) and not hidden:
                    paths.append(f"{shown}{entry.name}{'/' if entry.is_dir() else ''}")
    except OSError:
        return ()
    return sorted(paths)[:_LIMIT]


def complete_command(text: str, tables: Iterable[str]) -> tuple[str, Sequence[str]] | None:
    """The word of a command that is typed, and what it may become; None where that is SQL, whose
    beginning is the command.
    """
    from acidsql.cli.commands.table import COMMANDS, find_command

    match = NAME.match(text)
    if match is None or match[2] is None:
        if " " in text or "\t" in text:
            return _argument(text.split()[0], "", tables)
        prefix = text[0] if text.startswith(PREFIXES) else ""
        return text, [prefix + c.name for c in COMMANDS]
    command = find_command(match[1])
    return (match[2], ()) if command is None else _argument(match[1], match[2], tables)


def _argument(name: str, typed: str, tables: Iterable[str]) -> tuple[str, Sequence[str]] | None:
    from acidsql.cli.commands.help import statement_sections
    from acidsql.cli.commands.table import COMMANDS, find_command
    from acidsql.cli.shell.files import query_files

    command = find_command(name.lstrip("".join(PREFIXES)) or name)
    match None if command is None else command.values:
        case "sql":
            return None
        case "file":
            word = typed.split()[-1] if typed.split() and typed[-1:] != " " else ""
            return word, complete_file(word)
        case "table":
            return typed, list(tables)
        case "query":
            return typed, [path.stem for path in query_files()]
        case "statement":
            titles = [
                section.title for section in statement_sections() if " .." not in section.title
            ]
            return typed, [*titles, *(c.name for c in COMMANDS)]
        case tuple(words):
            return typed, words
        case _:
            return typed, ()


# ---- complete


# ---- words
#
# Words that are offered in queries and expressions, which the grammar takes as they are.


QUERY_WORDS = tuple(
    "AND ANTI AS ASC BETWEEN BY CASE CAST CROSS CURRENT DESC DISTINCT ELSE END EXCEPT EXISTS FALSE"
    " FOLLOWING FROM FULL GROUP HAVING IN INNER INTERSECT INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT"
    " NOT NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING RANGE RIGHT RLIKE ROW ROWS"
    " ROW__ID SELECT SEMI SET THEN TRUE UNBOUNDED UNION USING VALUES VIEW WHEN WHERE WINDOW"
    " WITH".split()
)

_OTHERS = (
    "acos approx_count_distinct array array_contains array_distinct array_join array_max"
    " array_min array_position array_remove array_sort array_union arrays_zip asin atan atan2"
    " avg bit_and bit_or bit_xor cbrt collect_list collect_set corr cos cosh count count_if"
    " covar_pop covar_samp cume_dist current_user decode degrees dense_rank element_at encode"
    " exp explode explode_outer factorial filter first first_value flatten from_json"
    " from_utc_timestamp get_json_object inline json_tuple kurtosis lag last last_value lead ln"
    " log log10 log2 map_entries map_filter map_from_arrays map_keys map_values max max_by mean"
    " median min min_by mode named_struct nanvl nth_value ntile octet_length parse_url"
    " percent_rank percentile percentile_approx posexplode radians rand rank regexp_extract_all"
    " rint row_number sequence shuffle sin size skewness slice sort_array stack stddev"
    " stddev_pop stddev_samp struct sum tan to_json to_utc_timestamp transform try_add"
    " try_divide typeof unbase64 unix_timestamp uuid var_pop var_samp variance"
)
_OPERATORS = frozenset("and or not in between case if like rlike div".split())
FUNCTIONS = tuple(
    sorted({*_OTHERS.split(), *filter(str.isidentifier, map(str.lower, KNOWN))} - _OPERATORS)
)
"""What the driver knows, and what else is asked for most; Spark has more."""


# ---- complete


_OPENS_QUERY = frozenset(("SELECT", "WHERE", "SET", "VALUES", "FROM", "WITH", "ON", "USING"))
_OTHER_STATEMENTS = ("RESET", "SET", "SOURCE", "HELP", "QUIT")
_FITS_NOWHERE = " )"
_TYPED = re.compile(r"[\w.]*\Z")
_BARE_COMMAND = re.compile(r"(?:source|help)[ \t]", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"\w+")
_OPENS_PATH = re.compile(
    r"(?:INPATH|LOCATION)\s*(?P<quote>['\"])(?P<path>[^'\"]*)\Z", re.IGNORECASE
)


class Names(Protocol):
    """The catalog, as far as completion goes. A table may have its database in front."""

    def databases(self) -> Sequence[str]: ...

    def tables(self, database: str | None) -> Sequence[str]: ...

    def columns(self, table: str) -> Sequence[str]:
        """All of them, the partition columns last."""
        ...

    def partition_columns(self, table: str) -> Sequence[str]: ...


def complete(before: str, names: Names, after: str = "") -> tuple[str, list[str]]:
    """The word being typed at the end of ``before``, and what it may become, the
    likeliest first. ``after``: the text behind the cursor.
    """
    before = _last_statement(before)
    if before.startswith(PREFIXES) or _BARE_COMMAND.match(before):
        argument = complete_command(before, names.tables(None))
        if argument is not None:
            return argument[0], _matching(argument[0], argument[1])
        before = before.partition(" ")[2].lstrip()
    setting = complete_setting(before)
    if setting is not None:
        return setting[0], _matching(setting[0], setting[1])
    scanned = scan(before)
    if scanned.unclosed is not None:
        path = _OPENS_PATH.search(before)
        return (path["path"], list(complete_file(path["path"]))) if path else ("", [])
    typed = _TYPED.search(before)
    word = typed.group() if typed else ""
    head = before[: len(before) - len(word)]
    tokens = [t for t in scanned.tokens if t.end <= len(head) and not t.is_mark(";")]
    start = tokens[0].start if tokens else len(head)
    cursor = _Cursor(
        names=names, word=word, head=head[start:], tokens=tokens, rest=_rest_of_statement(after)
    )
    return word, _matching(word, cursor.candidates())


def _last_statement(before: str) -> str:
    """The end of ``before`` from where the statement or command begins that is being typed."""
    statements = split(before, command_end)
    if not statements:
        return before
    last = statements[-1]
    goes_on = not before[last.span.end :].strip(" \t") if last.is_command else not last.is_closed
    return before[last.span.start if goes_on else last.span.end :]


def _rest_of_statement(after: str) -> list[Token]:
    """The tokens behind the cursor, up to the end of the statement."""
    tokens = []
    for token in scan(after).tokens:
        if token.is_mark(";"):
            break
        tokens.append(token)
    return tokens


_DATABASE = frozenset({"DATABASE", "SCHEMA"})
_TAKES_AWAY = frozenset({"DETACH", "DROP"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cursor:
    """Where a word is typed. ``tokens``: of its statement, before it; ``head`` is their text."""

    names: Names
    word: str
    head: str
    tokens: Sequence[Token]
    rest: Sequence[Token]

    def candidates(self) -> Iterable[str]:
        last = self.tokens[-1].word if self.tokens else ""
        if last == "USE":
            return self.names.databases()
        if last in _DATABASE and len(self.tokens) > 1 and self.tokens[-2].word in _TAKES_AWAY:
            return [*_expected(self.head), *self.names.databases()]
        listed = self._listed()
        if listed is not None:
            return listed
        if "." in self.word:
            return self._qualified()
        if last in BEFORE_TABLE:
            return [*self._tables(), *_expected(self.head)]
        words = list(_expected(self.head))
        if not self.tokens:
            return [*words, *_OTHER_STATEMENTS]
        if any(t.word in _OPENS_QUERY for t in self.tokens):
            words += [*self._columns(), *QUERY_WORDS, *self._functions(), *self._tables()]
        return words

    def _listed(self) -> Iterable[str] | None:
        """The columns that a list in brackets takes; None outside of such a list."""
        opening = _unclosed_bracket(self.tokens)
        if opening is None:
            return None
        before = self.tokens[:opening]
        last = before[-1].word if before else ""
        target = next(iter(sources_of(before)), None)
        if target is None or target.table is None:
            return None
        columns: Sequence[str]
        if last == "PARTITION":
            if self.tokens[-1].is_mark("="):
                return ()
            columns = self.names.partition_columns(target.table)
        elif last == "INSERT" or (before[0].word == "INSERT" and _is_column_list(before)):
            columns = self.names.columns(target.table)
        else:
            return None
        named = {t.text.lower() for t in self.tokens[opening:]}
        return [_name(column) for column in columns if column not in named]

    def _qualified(self) -> Iterable[str]:
        """``a.``: the columns of a table or of what has the alias; ``db.``: the tables."""
        qualifier = self.word.rpartition(".")[0].lower()
        columns: list[str] = []
        for source in self._sources():
            if qualifier in (source.alias, source.table):
                columns += self._columns_of(source)
        columns = columns or list(self.names.columns(qualifier))
        tables = self.names.tables(qualifier) if "." not in qualifier else ()
        written = self.word.rpartition(".")[0]
        return [f"{written}.{_name(name)}" for name in (*columns, *tables)]

    def _columns(self) -> Iterator[str]:
        sources = self._sources()
        for source in sources:
            yield from map(_name, self._columns_of(source))
        yield from (f"{s.alias}." for s in sources if s.alias != s.table or len(sources) > 1)

    def _columns_of(self, source: Source) -> list[str]:
        if source.table is not None:
            return list(self.names.columns(source.table))
        return [*source.columns, *(c for s in source.sources for c in self._columns_of(s))]

    def _sources(self) -> Sequence[Source]:
        """What the whole statement names; the word that is typed is none of it."""
        nothing = Token(TokenKind.MARK, "?", 0, 0)
        return sources_of([*self.tokens, nothing, *self.rest])

    def _tables(self) -> Iterable[str]:
        if "." in self.word:
            return self._qualified()
        named = [s.alias for s in self._sources() if s.table is None]
        tables = map(_name, self.names.tables(None))
        return [*named, *tables, *(f"{_name(name)}." for name in self.names.databases())]

    def _functions(self) -> Iterable[str]:
        return [f"{name}(" for name in FUNCTIONS] if self.word else ()


def _unclosed_bracket(tokens: Sequence[Token]) -> int | None:
    """The place of the innermost bracket that is open at the end."""
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.is_mark("("):
            opened.append(at)
        elif token.is_mark(")") and opened:
            opened.pop()
    return opened[-1] if opened else None


def _is_column_list(before: Sequence[Token]) -> bool:
    """Whether nothing but the table, and perhaps PARTITION (..), is between INSERT and the end."""
    words = {t.word for t in before}
    return not words & {"SELECT", "VALUES", "FROM", "WITH"}


def _expected(head: str) -> Iterable[str]:
    """The keywords that the grammar takes behind ``head``."""
    try:
        parse(head + _FITS_NOWHERE)
    except ParseError as error:
        return [word for word in error.expected if word.isupper() and word.isalpha()]
    except Error:
        pass
    return ()


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _matching(word: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that begin as typed, each once, keywords in the case the user writes."""
    lower = word.lower()
    matching = dict.fromkeys(
        c for c in candidates if c.lower().startswith(lower) and c.lower() != lower
    )
    return [c.lower() if c.isupper() and word.islower() else c for c in matching]
