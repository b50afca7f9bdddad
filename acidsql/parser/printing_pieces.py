"""What statements are printed of: names, strings, properties, partitions, sort keys, and how clauses become lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acidsql.parser.grammar import load
from acidsql.parser.parameters import literal
from acidsql.parser.skeleton import RESERVED
from acidsql.parser.statements import Fragment, Name, PartitionItem, PartitionSpec, Property, QualifiedName, SortKey

WIDTH = 100
INDENT = "  "
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Hive 3 or 4 takes for no name, beyond those of our grammar: what is printed should be Hive's SQL too.
_RESERVED_IN_HIVE = frozenset(
    """ARRAY AUTHORIZATION BIGINT BINARY BOOLEAN BOTH CACHE CAST CHAR COLUMN COMMIT CONF CONSTRAINT CUBE CURRENT CURRENT_DATE
    CURRENT_TIMESTAMP CURSOR DATABASE DATE DAYOFWEEK DECIMAL DOUBLE EXCHANGE EXTRACT FALSE FETCH FLOAT FLOOR FOLLOWING FOR FOREIGN
    FUNCTION GRANT GROUPING IMPORT INT INTEGER INTERVAL LESS MACRO MINUS MORE NONE NUMERIC OF ONLY OUT OVER PARTIALSCAN PERCENT PRECEDING
    PRECISION PRESERVE PRIMARY PROCEDURE QUALIFY RANGE READS REAL REDUCE REFERENCES REGEXP REVOKE RLIKE ROLLBACK ROLLUP ROW ROWS
    SMALLINT SOME START SYNC TABLESAMPLE TIME TIMESTAMP TRANSFORM TRIGGER TRUE UNBOUNDED UNIQUE UNIQUEJOIN USER UTC_TMESTAMP VARCHAR
    VIEWS WINDOW""".split()
)


def clauses(*parts: str | None) -> str:
    """The parts that are there, on one line, or each on its own where that is too long or one of them has lines already."""
    found = [part for part in parts if part]
    line = " ".join(found)
    return line if len(line) <= WIDTH and "\n" not in line else "\n".join(found)


def words(*parts: str | bool | None) -> str:
    """The parts that are there, on one line."""
    return " ".join(part for part in parts if isinstance(part, str) and part)


def items(parts: Iterable[str]) -> str:
    """``(a, b)``, or an item on each line."""
    found = list(parts)
    line = f"({', '.join(found)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return "(\n" + ",\n".join(INDENT + part for part in found) + "\n)"


def name(found: Name) -> str:
    """Bare where it can be no keyword, else in backticks."""
    word = found.text.upper()
    plain = _PLAIN_NAME.fullmatch(found.text) and not (word in RESERVED or word in _RESERVED_IN_HIVE or word in load().keywords)
    return found.text if plain else "`" + found.text.replace("`", "``") + "`"


def qualified(found: QualifiedName) -> str:
    return ".".join(name(part) for part in found.parts)


def names(found: Iterable[Name]) -> str:
    """``(a, b)``."""
    return items(name(part) for part in found)


def texts(found: Iterable[Fragment]) -> str:
    """Slices of the source in parentheses, as they are."""
    return items(part.text for part in found)


def string(value: str) -> str:
    return literal(value).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def quoted(keyword: str, value: str | None) -> str | None:
    """``COMMENT 'x'``, when there is one."""
    return None if value is None else f"{keyword} {string(value)}"


def alias(found: Name | None) -> str | None:
    return None if found is None else f"AS {name(found)}"


def properties(keyword: str, found: Iterable[Property]) -> str | None:
    """``TBLPROPERTIES ('k' = 'v', ..)``, when there are any."""
    pairs = [f"{string(pair.key)} = {string(pair.value)}" for pair in found]
    return f"{keyword} {items(pairs)}" if pairs else None


def partition(found: PartitionSpec | None) -> str | None:
    return None if found is None else f"PARTITION ({', '.join(_partition_item(item) for item in found.items)})"


def _partition_item(found: PartitionItem) -> str:
    return words(name(found.name), found.operator, found.value.text if found.value else None)


def where(found: Fragment | None) -> str | None:
    return None if found is None else f"WHERE {found.text}"


def order_by(found: Iterable[SortKey]) -> str | None:
    keys = [sort_key(key) for key in found]
    return "ORDER BY " + ", ".join(keys) if keys else None


def sort_key(found: SortKey) -> str:
    nulls = None if found.nulls_last is None else "NULLS LAST" if found.nulls_last else "NULLS FIRST"
    return words(found.key.text, found.descending and "DESC", nulls)


def limit(found: int | None) -> str | None:
    return None if found is None else f"LIMIT {found}"


def pattern(found: str | None) -> str | None:
    return quoted("LIKE", found)
