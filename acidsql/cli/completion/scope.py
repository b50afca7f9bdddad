"""The tables that a statement names, under the names that it gives them; as far as it is typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field

from acidsql.catalog.model import Table, TableName
from acidsql.errors import Error
from acidsql.lazy import dataclass
from acidsql.parser.tokens import Token, TokenKind
from acidsql.session import Session

BEFORE_TABLE = frozenset(
    "FROM JOIN INTO UPDATE TABLE DESCRIBE DESC FORMATTED EXTENDED USING OVERWRITE PARTITIONS"
    " TBLPROPERTIES HEALTH OF".split()
)
"""Words behind which a table is named."""

_NO_ALIAS = frozenset(
    "ADD ALTER AND ANTI AS CHANGE CLUSTER COMPACT COMPUTE CROSS DISTRIBUTE DROP EXCEPT FULL GROUP"
    " HAVING IN INNER INSERT INTERSECT JOIN LATERAL LEFT LIMIT MINUS NATURAL NOT OFFSET ON OR ORDER"
    " PARTITION RENAME REPLACE RIGHT SELECT SEMI SET SORT TABLESAMPLE THEN UNION UNSET USING VALUES"
    " WHEN WHERE WINDOW WITH".split()
)
_TABLE_WORDS = frozenset("TABLE IF NOT EXISTS FORMATTED EXTENDED HEALTH CHANGES OF".split())
_ENDS_LIST = frozenset(("FROM", "WHERE", "GROUP", "ORDER", "UNION", "LIMIT", "HAVING"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a statement reads or changes. ``table``: its name as it is written, perhaps with a
    database; None for a sub-query, of which ``columns`` are known, and the ``sources`` that its
    stars stand for.
    """

    alias: str
    table: str | None = None
    columns: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(slots=True)
class _Reading:
    """The tokens of a statement, and which of them is looked at."""

    tokens: Sequence[Token]
    at: int = 0
    sources: list[Source] = field(default_factory=list)

    def word(self, offset: int = 0) -> str:
        token = self.token(offset)
        return token.word if token else ""

    def token(self, offset: int = 0) -> Token | None:
        at = self.at + offset
        return self.tokens[at] if 0 <= at < len(self.tokens) else None

    def is_mark(self, mark: str, offset: int = 0) -> bool:
        token = self.token(offset)
        return token is not None and token.is_mark(mark)

    def is_name(self, offset: int = 0) -> bool:
        token = self.token(offset)
        return token is not None and token.kind in (TokenKind.WORD, TokenKind.QUOTED)


def sources_of(tokens: Sequence[Token]) -> tuple[Source, ...]:
    """The tables and sub-queries that the statement of these tokens names, in their order."""
    reading = _Reading(tokens)
    while reading.at < len(tokens):
        word = reading.word()
        if reading.is_name() and reading.word(1) == "AS" and reading.is_mark("(", 2):
            _common_table(reading)
        elif word in BEFORE_TABLE:
            reading.at += 1
            _sources(reading)
        else:
            reading.at += 1
    return tuple(reading.sources)


def _common_table(reading: _Reading) -> None:
    """``name AS (SELECT ..``, of a WITH; what is inside is read on its own, too."""
    name, inside = reading.tokens[reading.at].text, _inside(reading.tokens, reading.at + 2)
    reading.sources.append(_subquery(name, inside))
    reading.at += 3


def _sources(reading: _Reading) -> None:
    """``t [AS] a, (SELECT ..) b``: what is behind FROM."""
    while True:
        while reading.word() in _TABLE_WORDS:
            reading.at += 1
        if reading.is_mark("("):
            inside = _inside(reading.tokens, reading.at)
            if not inside or inside[0].word not in ("SELECT", "WITH", "FROM"):
                return
            reading.sources += sources_of(inside)
            reading.at += len(inside) + 2
            alias = _alias(reading)
            if alias:
                reading.sources.append(_subquery(alias, inside))
        elif reading.is_name() and reading.word() not in _NO_ALIAS:
            table = _table(reading)
            alias = _alias(reading) or table.rpartition(".")[2]
            reading.sources.append(Source(alias=alias.lower(), table=table))
        if not reading.is_mark(","):
            return
        reading.at += 1


def _table(reading: _Reading) -> str:
    """The name of a table, behind which the reading goes on."""
    name = reading.tokens[reading.at].text
    reading.at += 1
    if reading.is_mark(".") and reading.is_name(1):
        name += "." + reading.tokens[reading.at + 1].text
        reading.at += 2
    return name.lower()


def _alias(reading: _Reading) -> str | None:
    if reading.word() == "AS":
        reading.at += 1
    if not reading.is_name() or reading.word() in _NO_ALIAS or reading.is_mark(".", 1):
        return None
    reading.at += 1
    return reading.tokens[reading.at - 1].text


def _inside(tokens: Sequence[Token], opening: int) -> Sequence[Token]:
    """The tokens between a bracket and the one that closes it, or the end."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += tokens[at].is_mark("(") - tokens[at].is_mark(")")
        if depth == 0:
            return tokens[opening + 1 : at]
    return tokens[opening + 1 :]


def _subquery(alias: str, inside: Sequence[Token]) -> Source:
    columns, stars = [], False
    for item in _select_list(inside):
        if item[-1].is_mark("*"):
            stars = True
        elif item[-1].kind in (TokenKind.WORD, TokenKind.QUOTED):
            columns.append(item[-1].text.lower())
    sources = sources_of(inside) if stars else ()
    return Source(alias=alias.lower(), columns=tuple(columns), sources=sources)


def _select_list(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The items of the first SELECT, as far as they are outside of brackets."""
    begins = next((i + 1 for i, token in enumerate(tokens) if token.word == "SELECT"), len(tokens))
    depth, item = 0, list[Token]()
    for token in tokens[begins:]:
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0 and (token.is_mark(",") or token.word in _ENDS_LIST):
            if item:
                yield item
            item = []
            if not token.is_mark(","):
                return
        else:
            item.append(token)
    if item:
        yield item


# ---- the session's catalog
#
# The session's catalog for completion.


class SessionNames:
    """The session's catalog for completion; a catalog that cannot be read offers nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def databases(self) -> Sequence[str]:
        with suppress(Error):
            return self._session.store.list_databases()
        return ()

    def tables(self, database: str | None) -> Sequence[str]:
        with suppress(Error):
            return self._session.store.list_tables(database or self._session.database)
        return ()

    def columns(self, table: str) -> Sequence[str]:
        stored = self._find(table)
        return (
            () if stored is None else [c.name for c in (*stored.columns, *stored.partition_columns)]
        )

    def partition_columns(self, table: str) -> Sequence[str]:
        stored = self._find(table)
        return () if stored is None else [c.name for c in stored.partition_columns]

    def _find(self, table: str) -> Table | None:
        database, _, name = table.rpartition(".")
        with suppress(Error):
            return self._session.store.find_table(
                TableName(database or self._session.database, name)
            )
        return None
