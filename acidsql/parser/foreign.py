"""What other systems' SQL has and this one has not, and what is written instead: statements by
their first words, clauses by the word at which they stop fitting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acidsql.errors import Span, UnsupportedStatementError
from acidsql.parser.tokens import Token

TEMPORARY_VIEW = (
    'Write CREATE VIEW, WITH v AS (SELECT ..) before a query, or session.register("v", frame) in'
    " Python."
)
TEMPORARY_TABLE = (
    'Write CREATE TABLE, and DROP TABLE at the end, or session.register("t", frame) in Python.'
)
_MERGE = (
    "Write MERGE INTO .. USING .. ON .. WHEN MATCHED THEN UPDATE .. WHEN NOT MATCHED THEN INSERT"
)
_STATEMENTS = [
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"CREATE( OR REPLACE)?( GLOBAL| LOCAL)? TEMP(ORARY)? VIEW\b", TEMPORARY_VIEW),
        (r"CREATE TEMP TABLE\b|CREATE (GLOBAL|LOCAL) TEMP(ORARY)? TABLE\b", TEMPORARY_TABLE),
        (
            r"DROP TEMP(ORARY)? (TABLE|VIEW)\b",
            'Write DROP TABLE or DROP VIEW; in Python session.unregister("v") takes a frame away.',
        ),
        (
            r"(UN)?CACHE( LAZY)? TABLE\b|CLEAR CACHE\b",
            "No statement keeps rows in memory: each reads the files of its snapshot.",
        ),
        (
            r"REFRESH\b( TABLE\b)?",
            "Nothing need be refreshed: each statement reads what is there. MSCK REPAIR TABLE"
            " finds the directories of partitions.",
        ),
        (r"OPTIMIZE\b", "Write ALTER TABLE .. COMPACT 'major'."),
        (
            r"VACUUM\b",
            "Write ALTER TABLE .. COMPACT 'major': files that nobody needs any more go behind it.",
        ),
        (
            r"RESTORE\b( TABLE\b)?",
            'An older state is read by session.scan("t", as_of=write_id) in Python.',
        ),
        (
            r"COPY\b(?= \w+ FROM\b)",
            "Write COPY INTO t FROM 'file', also of CSV, JSON, Parquet and several by a pattern, or"
            " LOAD DATA INPATH .. for files of the table's own format.",
        ),
        (r"(UPSERT|REPLACE)( INTO)?\b", f"{_MERGE}."),
        (
            r"COMMENT ON TABLE\b",
            "Write ALTER TABLE .. SET TBLPROPERTIES ('comment'='..').",
        ),
    )
]
_MOST_WORDS = 6
"""By so many first words at most is a statement known."""
_NUMBERED = (
    "Rows are not numbered by themselves: give each its number, such as row_number() OVER"
    " (ORDER BY ..)."
)
_CLAUSES = [
    (re.compile(leading), re.compile(clause), hint)
    for leading, clause, hint in (
        (
            r"CREATE( \w+)* TABLE\b",
            r"USING \w+",
            "Write STORED AS ORC, PARQUET or TEXTFILE; with ORC, TBLPROPERTIES"
            " ('transactional'='true') makes an ACID table.",
        ),
        (
            r"CREATE( \w+)* TABLE\b|ALTER TABLE\b",
            r"(AUTO_?INCREMENT|IDENTITY|GENERATED)\b",
            _NUMBERED,
        ),
        (
            r"CREATE( \w+)* TABLE\b|ALTER TABLE\b",
            r"UNSIGNED\b",
            "No type is unsigned: take the next larger one.",
        ),
        (r"ALTER TABLE\b", r"(ADD )?COLUMN\b", "Write ADD COLUMNS (name type)."),
        (r"UPDATE\b", r"(FROM|JOIN|LEFT|INNER)\b", f"{_MERGE}, or a sub-query in SET or WHERE."),
        (r"DELETE\b", r"USING\b", "Write DELETE FROM .. WHERE .. IN (SELECT ..), or MERGE INTO."),
        (r"INSERT\b", r"ON (CONFLICT|DUPLICATE)\b", f"{_MERGE}."),
        (r"INSERT\b", r"SET\b", "Write INSERT INTO t (column, ..) VALUES (value, ..)."),
    )
]


def refuse_foreign(tokens: Sequence[Token]) -> None:
    """UnsupportedStatementError where the first words are those of another system's statement."""
    words = [token.word for token in tokens[:_MOST_WORDS]]
    text = " ".join(words)
    for pattern, hint in _STATEMENTS:
        if (match := pattern.match(text)) is not None:
            name = match[0].strip()
            last = tokens[name.count(" ")]
            raise UnsupportedStatementError(
                f"{name} is not supported", hint=hint, span=Span(tokens[0].start, last.end)
            )


def instead_of(tokens: Sequence[Token], at: int) -> str | None:
    """What is written instead of another system's clause, which begins at the token ``at`` that
    does not fit.
    """
    leading = " ".join(token.word for token in tokens[: min(at, _MOST_WORDS)])
    clause = " ".join(token.word for token in tokens[at : at + 2])
    return next(
        (
            hint
            for statement, pattern, hint in _CLAUSES
            if statement.match(leading) and pattern.match(clause)
        ),
        None,
    )
