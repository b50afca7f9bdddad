"""COPY .. TO and INSERT OVERWRITE DIRECTORY: a query, and where its rows go."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.errors import BindError, Span, UnsupportedStatementError
from acidsql.files.fileio import absolute, path_of, split_url
from acidsql.parser import statements as ast
from acidsql.parser.tokens import TokenKind, tokens_in
from acidsql.planner.bind.bound import BoundUnload
from acidsql.planner.bind.ddl.create import DELIMITER_WORDS
from acidsql.planner.bind.files.whole import rows_of
from acidsql.planner.bind.names import Names
from acidsql.planner.bind.tables import did_you_mean
from acidsql.storage.unload.destination import Destination, FileKind
from acidsql.storage.unload.formats import COMPRESSIONS

# ---- options
#
# Options of COPY: one value behind a name.


def flag(option: ast.CopyOption | None, default: bool) -> bool:
    """Whether an option is on, which its name alone says, too."""
    if option is None:
        return default
    word = word_of(option).lower() if option.values else "true"
    if word not in ("true", "false"):
        raise BindError(f"{option.name.text.upper()} is true or false", span=option.span)
    return word == "true"


def word_of(option: ast.CopyOption) -> str:
    """The one value of an option: a word, a text, a number."""
    tokens = (
        tokens_in(option.values[0].text, Span(0, len(option.values[0].text)))
        if len(option.values) == 1 and not option.listed
        else ()
    )
    if len(tokens) != 1 or tokens[0].kind is TokenKind.MARK:
        raise BindError(f"{option.name.text.upper()} wants one value", span=option.span)
    return tokens[0].text


# ---- unload


_ENDINGS = {
    ".parquet": FileKind.PARQUET,
    ".csv": FileKind.CSV,
    ".tsv": FileKind.CSV,
    ".json": FileKind.JSON,
    ".jsonl": FileKind.JSON,
    ".ndjson": FileKind.JSON,
    ".arrow": FileKind.ARROW,
    ".feather": FileKind.ARROW,
    ".orc": FileKind.ORC,
}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_FORMATS = {kind.value: kind for kind in FileKind if kind is not FileKind.TEXT}
_OPTIONS = ("FORMAT", "PARTITION_BY", "OVERWRITE", "COMPRESSION", "HEADER", "DELIMITER")
_OF_CSV = ("HEADER", "DELIMITER")
_HIVE_DELIMITER, _HIVE_NULL = "\x01", "\\N"
_STORED_AS = {
    "TEXTFILE": FileKind.TEXT,
    "ORC": FileKind.ORC,
    "PARQUET": FileKind.PARQUET,
    "JSONFILE": FileKind.JSON,
}


def bind_copy(names: Names, statement: ast.Copy) -> BoundUnload:
    source = statement.source
    if isinstance(source, ast.Fragment):
        inner = Span(source.span.start + 1, source.span.end - 1)
        source = ast.Fragment(text=inner.cut(names.source), span=inner)
    return BoundUnload(query=rows_of(names, source), into=_destination(statement))


def bind_insert_directory(names: Names, statement: ast.InsertDirectory) -> BoundUnload:
    """Hive's statement: what is in the directory goes, and text has its delimiters."""
    query = (
        names.query(statement.query)
        if statement.with_clause is None
        else names.query_after([statement.with_clause], statement.query)
    )
    delimiters = {} if statement.row_format is None else _delimiters(statement.row_format)
    return BoundUnload(
        query=query,
        into=Destination(
            path=_local(statement.path),
            given=statement.path.text,
            span=statement.path.span,
            kind=_stored_as(statement.stored_as),
            in_directory=True,
            overwrite=True,
            delimiter=delimiters.get("FIELDS", _HIVE_DELIMITER),
            null=delimiters.get("NULL", _HIVE_NULL),
        ),
    )


def _stored_as(name: ast.Name | None) -> FileKind:
    if name is None:
        return FileKind.TEXT
    word = name.text.upper()
    if word not in _STORED_AS:
        raise UnsupportedStatementError(
            f"a directory of {word} files is not supported",
            hint=f"Write STORED AS {', '.join(_STORED_AS)}.",
            span=name.span,
        )
    return _STORED_AS[word]


def _delimiters(row_format: ast.RowFormat) -> Mapping[str, str]:
    for delimiter in row_format.delimiters:
        if delimiter.key not in ("FIELDS", "NULL"):
            raise UnsupportedStatementError(
                f"{DELIMITER_WORDS[delimiter.key]} is not supported for a directory of files",
                hint="Write FIELDS TERMINATED BY and NULL DEFINED AS alone.",
                span=delimiter.span,
            )
        if delimiter.key == "FIELDS" and len(delimiter.value) != 1:
            raise BindError("a delimiter is one character", span=delimiter.span)
    return {delimiter.key: delimiter.value for delimiter in row_format.delimiters}


# ---- options


def _destination(statement: ast.Copy) -> Destination:
    path = _local(statement.path)
    options = {option.name.text.upper(): option for option in statement.options}
    for word, option in options.items():
        if word not in _OPTIONS:
            hint = did_you_mean(word, _OPTIONS) or f"There are {', '.join(_OPTIONS)}."
            raise BindError(
                f"COPY has no option {option.name.text}", hint=hint, span=option.name.span
            )
    lower = statement.path.text.lower()
    ending = next((end for end in _COMPRESSED if lower.endswith(end)), "")
    plain = lower.removesuffix(ending)
    kind = _kind(options.get("FORMAT"), plain, statement.path)
    for word in _OF_CSV:
        if word in options and kind is not FileKind.CSV:
            raise BindError(
                f"{word} is for FORMAT csv, the files are {kind}", span=options[word].span
            )
    compression = _compression(options.get("COMPRESSION"), kind)
    if ending and kind in (FileKind.CSV, FileKind.JSON) and compression is None:
        compression = _COMPRESSED[ending]
    keys = _columns(options.get("PARTITION_BY"))
    return Destination(
        path=path,
        given=statement.path.text,
        span=statement.path.span,
        kind=kind,
        in_directory=bool(keys),
        overwrite=flag(options.get("OVERWRITE"), False),
        partition_by=keys,
        header=flag(options.get("HEADER"), True),
        delimiter=_delimiter(options.get("DELIMITER"), "\t" if plain.endswith(".tsv") else ","),
        compression=compression,
    )


def _local(path: ast.Path) -> str:
    if not path.text or "\0" in path.text:
        raise BindError("there is no path of this name", span=path.span)
    if split_url(path.text) is not None:
        raise UnsupportedStatementError(
            "files are written to the local file system alone",
            hint="Write a local path, and copy the files from there.",
            span=path.span,
        )
    return absolute(path_of(path.text)).rstrip("/") or "/"


def _kind(option: ast.CopyOption | None, plain: str, path: ast.Path) -> FileKind:
    if option is None:
        kind = next((kind for end, kind in _ENDINGS.items() if plain.endswith(end)), None)
        if kind is None:
            raise BindError(
                f'the name of "{path.text}" does not tell the format of the file',
                hint=f"Write (FORMAT {' | '.join(_FORMATS)}).",
                span=path.span,
            )
        return kind
    word = word_of(option).lower()
    if word not in _FORMATS:
        hint = did_you_mean(word, _FORMATS) or f"There are {', '.join(_FORMATS)}."
        raise BindError(f'there is no format "{word}"', hint=hint, span=option.span)
    return _FORMATS[word]


def _compression(option: ast.CopyOption | None, kind: FileKind) -> str | None:
    if option is None:
        return None
    word, known = word_of(option).lower(), COMPRESSIONS[kind]
    if word not in known:
        hint = did_you_mean(word, known) or f"There are {', '.join(known)}."
        raise BindError(f'{kind} has no compression "{word}"', hint=hint, span=option.span)
    return word


def _columns(option: ast.CopyOption | None) -> tuple[tuple[str, Span], ...]:
    if option is None:
        return ()
    columns: dict[str, Span] = {}
    for value in option.values:
        tokens = tokens_in(value.text, Span(0, len(value.text)))
        if len(tokens) != 1 or tokens[0].kind not in (TokenKind.WORD, TokenKind.QUOTED):
            raise BindError("PARTITION_BY wants names of columns", span=value.span)
        name = tokens[0].text.lower()
        if name in columns:
            raise BindError(f'PARTITION_BY names "{name}" twice', span=value.span)
        columns[name] = value.span
    if not columns:
        raise BindError(
            "PARTITION_BY wants names of columns", hint="PARTITION_BY (a, b).", span=option.span
        )
    return tuple(columns.items())


def _delimiter(option: ast.CopyOption | None, default: str) -> str:
    if option is None:
        return default
    text = word_of(option)
    if len(text) != 1 or not (" " <= text < "\x7f" or text == "\t") or text == '"':
        raise BindError("a delimiter is one character of ASCII, and no quote", span=option.span)
    return text
