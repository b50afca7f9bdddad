"""What statements are printed of: names, strings, properties, partitions, sort keys, and how
clauses become lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from acidsql.parser.grammar import load
from acidsql.parser.parameters import literal
from acidsql.parser.parse import RESERVED
from acidsql.parser.statements import (
    Fragment,
    Name,
    PartitionItem,
    PartitionSpec,
    Property,
    QualifiedName,
    SortKey,
)

WIDTH = 100
INDENT = "  "
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Hive 3 or 4 takes for no name, beyond those of our grammar: what is printed should be
# Hive's SQL too.
_RESERVED_IN_HIVE = frozenset(
    """
    ARRAY AUTHORIZATION BIGINT BINARY BOOLEAN BOTH CACHE CAST CHAR COLUMN COMMIT CONF
    CONSTRAINT     CUBE CURRENT CURRENT_DATE     CURRENT_TIMESTAMP CURSOR DATABASE DATE
    DAYOFWEEK DECIMAL DOUBLE EXCHANGE EXTRACT FALSE FETCH     FLOAT FLOOR FOLLOWING FOR
    FOREIGN     FUNCTION GRANT GROUPING IMPORT INT INTEGER INTERVAL LESS MACRO MINUS MORE NONE
    NUMERIC OF ONLY     OUT OVER PARTIALSCAN PERCENT PRECEDING     PRECISION PRESERVE PRIMARY
    PROCEDURE QUALIFY RANGE READS REAL REDUCE REFERENCES REGEXP REVOKE     RLIKE ROLLBACK
    ROLLUP ROW ROWS     SMALLINT SOME START SYNC TABLESAMPLE TIME TIMESTAMP TRANSFORM TRIGGER
    TRUE UNBOUNDED UNIQUE     UNIQUEJOIN USER UTC_TMESTAMP VARCHAR     VIEWS WINDOW
    """.split()
)


def clauses(*parts: str | None) -> str:
    """The parts that are given, on one line; each on its own where that is too long or one of them
    has lines already.
    """
    given = [part for part in parts if part]
    line = " ".join(given)
    return line if len(line) <= WIDTH and "\n" not in line else "\n".join(given)


def words(*parts: str | bool | None) -> str:
    """The parts that are there, on one line."""
    return " ".join(part for part in parts if isinstance(part, str) and part)


def items(parts: Iterable[str]) -> str:
    """``(a, b)``, or an item on each line."""
    entries = list(parts)
    line = f"({', '.join(entries)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return "(\n" + ",\n".join(INDENT + part for part in entries) + "\n)"


def name(identifier: Name) -> str:
    """The name, bare where it can be no keyword, else in backticks."""
    word = identifier.text.upper()
    plain = _PLAIN_NAME.fullmatch(identifier.text) and not (
        word in RESERVED or word in _RESERVED_IN_HIVE or word in load().keywords
    )
    return identifier.text if plain else "`" + identifier.text.replace("`", "``") + "`"


def qualified(table: QualifiedName) -> str:
    return ".".join(name(part) for part in table.parts)


def names(identifiers: Iterable[Name]) -> str:
    """The names in parentheses: ``(a, b)``."""
    return items(name(part) for part in identifiers)


def texts(fragments: Iterable[Fragment]) -> str:
    """Slices of the source in parentheses, as they are."""
    return items(part.text for part in fragments)


def string(value: str) -> str:
    return literal(value).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def quoted(keyword: str, value: str | None) -> str | None:
    """``COMMENT 'x'``, when there is one."""
    return None if value is None else f"{keyword} {string(value)}"


def alias(identifier: Name | None) -> str | None:
    return None if identifier is None else f"AS {name(identifier)}"


def properties(keyword: str, entries: Iterable[Property]) -> str | None:
    """``TBLPROPERTIES ('k' = 'v', ..)``, when there are any."""
    pairs = [f"{string(pair.key)} = {string(pair.value)}" for pair in entries]
    return f"{keyword} {items(pairs)}" if pairs else None


def partition(spec: PartitionSpec | None) -> str | None:
    return (
        None
        if spec is None
        else f"PARTITION ({', '.join(_partition_item(item) for item in spec.items)})"
    )


def _partition_item(item: PartitionItem) -> str:
    return words(name(item.name), item.operator, item.value.text if item.value else None)


def where(condition: Fragment | None) -> str | None:
    return None if condition is None else f"WHERE {condition.text}"


def order_by(sort_keys: Iterable[SortKey]) -> str | None:
    keys = [sort_key(key) for key in sort_keys]
    return "ORDER BY " + ", ".join(keys) if keys else None


def sort_key(key: SortKey) -> str:
    nulls = None if key.nulls_last is None else "NULLS LAST" if key.nulls_last else "NULLS FIRST"
    return words(key.key.text, key.descending and "DESC", nulls)


def limit(rows: int | None) -> str | None:
    return None if rows is None else f"LIMIT {rows}"


def pattern(text: str | None) -> str | None:
    return quoted("LIKE", text)
