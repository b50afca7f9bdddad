"""Statements to text: COPY and INSERT OVERWRITE DIRECTORY."""

from __future__ import annotations

from acidsql.parser.statements import (
    Copy,
    CopyInto,
    CopyOption,
    DescribeQuery,
    Fragment,
    InsertDirectory,
    Path,
    QualifiedName,
    Summarize,
)
from tests.parser.printing.pieces import (
    clauses,
    items,
    name,
    names,
    partition,
    qualified,
    string,
    texts,
    words,
)
from tests.parser.printing.tables import print_row_format


def print_copy(statement: Copy) -> str:
    source = statement.source
    return words(
        "COPY",
        source.text if isinstance(source, Fragment) else qualified(source),
        "TO",
        string(statement.path.text),
        items(map(_option, statement.options)) if statement.options else None,
    )


def print_copy_into(statement: CopyInto) -> str:
    return words(
        "COPY INTO",
        qualified(statement.target),
        partition(statement.partition),
        None if statement.columns is None else names(statement.columns),
        "FROM",
        string(statement.path.text),
        items(map(_option, statement.options)) if statement.options else None,
        statement.by_name and "BY NAME",
        statement.once and "ONCE",
        statement.rejects and f"REJECTS INTO {qualified(statement.rejects)}",
    )


def _option(option: CopyOption) -> str:
    values = texts(option.values) if option.listed else "".join(v.text for v in option.values)
    return words(name(option.name), values)


def print_describe_query(statement: DescribeQuery) -> str:
    return words("DESCRIBE", _source(statement.query))


def print_summarize(statement: Summarize) -> str:
    return words("SUMMARIZE", _source(statement.source))


def _source(source: QualifiedName | Fragment | Path) -> str:
    match source:
        case Path():
            return string(source.text)
        case Fragment():
            return source.text
        case QualifiedName():
            return qualified(source)


def print_insert_directory(statement: InsertDirectory) -> str:
    return clauses(
        statement.with_clause.text if statement.with_clause else None,
        words(
            "INSERT OVERWRITE",
            statement.local and "LOCAL",
            "DIRECTORY",
            string(statement.path.text),
        ),
        print_row_format(statement.row_format),
        f"STORED AS {name(statement.stored_as)}" if statement.stored_as else None,
        statement.query.text,
    )
