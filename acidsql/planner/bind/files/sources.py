"""Files in the place of a table: ``'new.csv'`` and ``read_csv('new.csv', header => false)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.catalog.path_relation import FileSource
from acidsql.errors import BindError, ParseError, Span
from acidsql.files.fileio import absolute
from acidsql.parser.tokens import Token, TokenKind, tokens_in
from acidsql.planner.bind.tables import did_you_mean

QUOTES = "'\""
"""What a path stands in."""
FUNCTIONS = {
    "READ_PARQUET": "parquet",
    "READ_ORC": "orc",
    "READ_CSV": "csv",
    "READ_JSON": "json",
    "READ_ARROW": "arrow",
}
SPARKS = ("parquet", "orc", "avro")
"""What is read as Spark reads it, by whoever does; the others are read by pyarrow."""
_BY_SUFFIX = {
    ".parquet": "parquet",
    ".orc": "orc",
    ".avro": "avro",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_COMPRESSED = (".gz", ".zst", ".bz2")
_OPTIONS: Mapping[str, type] = {
    "header": bool,
    "delimiter": str,
    "quote": str,
    "null": str,
    "skip": int,
    "all_text": bool,
}
_OTHER_NAMES = {
    "delim": "delimiter",
    "sep": "delimiter",
    "nullstr": "null",
    "all_varchar": "all_text",
}


def file_source(path: str, span: Span, source: str, otherwise: str = "") -> FileSource:
    """The files of a path in quotes. BindError for one whose name does not tell their format, which
    hints at what may be written ``otherwise``, else at a call.
    """
    _check_path(path, span, source)
    lower = path.lower()
    plain = next((lower.removesuffix(end) for end in _COMPRESSED if lower.endswith(end)), lower)
    kind = next((kind for end, kind in _BY_SUFFIX.items() if plain.endswith(end)), None)
    if kind is None or (plain != lower and kind not in ("csv", "json")):
        calls = " or ".join(f"{name.lower()}('{path}')" for name in ("READ_CSV", "READ_PARQUET"))
        raise BindError(
            f'the name of "{path}" does not tell the format of its files',
            hint=f"Write {otherwise or calls + ', or another of the functions that read files'}.",
            span=span,
            source=source,
        )
    return of_kind(kind, path)


def of_kind(kind: str, path: str, options: tuple[tuple[str, Any], ...] = ()) -> FileSource:
    """The files of a path, which are of a kind."""
    # Spark may have been started in another directory
    return FileSource(kind=kind, path=absolute(path) if kind in SPARKS else path, options=options)


def _check_path(path: str, span: Span, source: str) -> None:
    written = span.cut(source)
    if "`" in written or "\\" in written or not path.isprintable():
        message = "the path of a file has no backtick and no backslash here"
        raise ParseError(message, span=span, source=source)


# ---- calls


def end_of_call(tokens: Sequence[Token]) -> int:
    """How many of the first tokens are the call of a function that reads files; 0 if they begin
    with none.
    """
    if len(tokens) < 2 or tokens[0].word not in FUNCTIONS or not tokens[1].is_mark("("):
        return 0
    depth = 0
    for at, token in enumerate(tokens):
        depth += token.is_mark("(") - token.is_mark(")")
        if at and not depth:
            return at + 1
    return 0


def called_source(start: int, text: Span, source: str) -> tuple[Span, FileSource]:
    """The call that begins at ``start`` of the query ``text``: its place and its files. BindError
    at what it cannot mean.
    """
    tokens = tokens_in(source, Span(start, text.end))
    call = tokens[: end_of_call(tokens)]
    kind, span = FUNCTIONS[call[0].word], Span(call[0].start, call[-1].end)
    path, *options = _arguments(call[2:-1]) or [()]
    if len(path) != 1 or path[0].kind is not TokenKind.STRING:
        raise BindError(
            f"{call[0].text} wants the path of a file in quotes",
            span=span if not path else Span(path[0].start, path[-1].end),
            source=source,
        )
    _check_path(path[0].text, path[0].span, source)
    values = dict(_option(kind, one, source) for one in options if one)
    return span, of_kind(kind, path[0].text, tuple(sorted(values.items())))


def _arguments(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    arguments: list[list[Token]] = [[]]
    for token in tokens:
        if token.is_mark(","):
            arguments.append([])
        else:
            arguments[-1].append(token)
    return list(arguments)


def _option(kind: str, tokens: Sequence[Token], source: str) -> tuple[str, Any]:
    span = Span(tokens[0].start, tokens[-1].end)
    marks = "".join(token.text for token in tokens[1:-1])
    if len(tokens) < 3 or marks != "=>" or tokens[0].kind is not TokenKind.WORD:
        raise BindError("options are written name => value", span=span, source=source)
    name = tokens[0].text.lower()
    name = _OTHER_NAMES.get(name, name)
    if kind != "csv" or name not in _OPTIONS:
        known = ", ".join(_OPTIONS) if kind == "csv" else ""
        raise BindError(
            f'read_{kind} has no option "{tokens[0].text}"',
            hint=did_you_mean(name, _OPTIONS if known else ())
            or (f"There are {known}." if known else None),
            span=tokens[0].span,
            source=source,
        )
    return name, _value(name, tokens[-1], source)


def _value(name: str, token: Token, source: str) -> Any:
    kind = _OPTIONS[name]
    if kind is bool and token.word in ("TRUE", "FALSE"):
        return token.word == "TRUE"
    if kind is int and token.kind is TokenKind.NUMBER and token.text.isdecimal():
        return int(token.text)
    one_character = name in ("delimiter", "quote")
    fits = not one_character or len(token.text) == 1 or (name == "quote" and not token.text)
    if kind is str and token.kind is TokenKind.STRING and fits and token.text.isascii():
        return token.text
    wanted = {bool: "true or false", int: "a whole number", str: "a text"}[kind]
    wanted = "one character" if one_character else wanted
    raise BindError(f"{name} is {wanted}", span=token.span, source=source)
