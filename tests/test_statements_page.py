"""docs/statements.md holds every statement the grammar takes, as the grammar takes it."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from pyarrow import orc

import acidsql
from acidsql.errors import ParseError, UnsupportedStatementError
from acidsql.parser import parse as parsing
from acidsql.parser import statements
from acidsql.parser.grammar import grammar_file, load
from acidsql.parser.grammar_page import markdown_grammar
from acidsql.parser.parse import parse, read_skeleton
from acidsql.parser.parse_table import lark_of
from acidsql.parser.script import split
from acidsql.parser.tokens import tokenize
from acidsql.session import Session
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.orders import facts_of

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "statements.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NO_TOKENS = (statements.SetVariable, statements.SetAutocommit, statements.ResetVariable)
"""Statements that the grammar does not know, because their values are no tokens."""

NOT_BUILT = {
    "create_table_like": {
        "comment": "COMMENT 'x'",
        "partitioned_by": "PARTITIONED BY (a INT)",
        "clustered_by": "CLUSTERED BY (a) INTO 2 BUCKETS",
        "skewed_by": "SKEWED BY (a) ON (1)",
        "stored_as_directories": "STORED AS DIRECTORIES",
    }
}
"""Clauses the grammar lets pass behind a statement which then refuses them."""


# ---- the page


@dataclass(frozen=True, kw_only=True)
class Section:
    title: str
    synopses: tuple[str, ...]
    examples: tuple[tuple[str, str], ...]
    """What is said of an example (``spark``, ``refused`` or nothing), and its script."""


def sections() -> Iterator[Section]:
    """The parts of the page that have a synopsis."""
    for part in re.split(r"^(?=##)", PAGE, flags=re.MULTILINE):
        blocks = [(language, note or "", text) for language, note, text in BLOCK.findall(part)]
        synopses = tuple(
            text for language, note, text in blocks if (language, note) == ("text", "")
        )
        examples = tuple((note, text) for language, note, text in blocks if language == "sql")
        if synopses and examples and not part.startswith("## How"):
            yield Section(
                title=part.splitlines()[0].strip("# "), synopses=synopses, examples=examples
            )


SECTIONS = tuple(sections())
SETUP = next(text for language, note, text in BLOCK.findall(PAGE) if language == "sql")
FORMS = tuple(
    (section, form)
    for section in SECTIONS
    for synopsis in section.synopses
    for form in re.split(r"\n(?! )", synopsis.strip())
    if not re.match(r"\w+: ", form)
)
"""Each way to write a statement: a line of a synopsis with the indented ones below it."""


def unsupported(note: str) -> list[str]:
    """The words of one of the lists of what acidsql has not."""
    text = next(
        text for language, found, text in BLOCK.findall(PAGE) if (language, found) == ("text", note)
    )
    return [" ".join(item.split()) for item in text.split(",")]


# ---- the notation of a synopsis


@dataclass(frozen=True)
class Word:
    """Written as it is."""

    text: str


@dataclass(frozen=True)
class Piece:
    """Stands for something the page explains."""

    name: str


@dataclass(frozen=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    options: tuple[Node, ...]


@dataclass(frozen=True)
class Optional:
    item: Node


@dataclass(frozen=True)
class Repeated:
    item: Node
    comma: bool


Node = Word | Piece | Sequence | Choice | Optional | Repeated
TOKEN = re.compile(r",\s*\.\.|\.\.|[\[\]{}|()=,]|[<>!]=|<>|[^\s\[\]{}|()=,]+")
CLOSING = {"[": "]", "{": "}", "(": ")"}


def read(text: str) -> Node:
    """A synopsis as a tree."""
    tokens = TOKEN.findall(text)
    node = _choice(tokens)
    assert not tokens, f"{text!r} goes on behind its end: {tokens}"
    return node


def _choice(tokens: list[str]) -> Node:
    options = [_sequence(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        options.append(_sequence(tokens))
    return options[0] if len(options) == 1 else Choice(tuple(options))


def _sequence(tokens: list[str]) -> Node:
    items: list[Node] = []
    while tokens and tokens[0] not in ("|", *CLOSING.values()):
        token = tokens.pop(0)
        if token.endswith(".."):
            items.append(Repeated(items.pop(), comma=token.startswith(",")))
        elif token in CLOSING:
            inner = _choice(tokens)
            assert tokens.pop(0) == CLOSING[token]
            if token == "(":
                inner = Sequence((Word("("), inner, Word(")")))
            items.append(Optional(inner) if token == "[" else inner)
        else:
            items.append(Piece(token) if re.fullmatch(r"[a-z_]+", token) else Word(token))
    return Sequence(tuple(items))


@cache
def pieces() -> dict[str, Node]:
    """What the pieces of the synopses are: those of the table by their example, others by their parts."""
    examples = re.findall(r"^\| (\w+) \| `([^`]+)`", PAGE, re.MULTILINE)
    parts = {
        name: read(text)
        for _, note, block in BLOCK.findall(PAGE)
        if not note
        for name, text in re.findall(r"^([a-z_]+): (.*(?:\n .*)*)", block, re.MULTILINE)
    }
    return {name: Word(example) for name, example in examples} | parts


def variants(node: Node) -> list[tuple[str, ...]]:
    """Ways to write it, the shortest first; each option and alternative is in one of them at least."""
    match node:
        case Word(text):
            return [(text,)]
        case Piece(name):
            return variants(pieces()[name])
        case Optional(item):
            return [(), *variants(item)]
        case Choice(options):
            return [variant for option in options for variant in variants(option)]
        case Repeated(item, comma):
            once = variants(item)
            return [*once, (*once[0], *([","] if comma else []), *once[-1])]
        case Sequence(items):
            each = [variants(item) for item in items]
            shortest = [ways[0] for ways in each]
            changed = [
                [*shortest[:at], way, *shortest[at + 1 :]]
                for at, ways in enumerate(each)
                for way in ways[1:]
            ]
            return [tuple(chain(*way)) for way in [shortest, *changed]]


def words(node: Node) -> set[str]:
    """Every word in it that is written as it is."""
    match node:
        case Word(text):
            return {text}
        case Piece(name):
            return words(pieces()[name])
        case Optional(item) | Repeated(item, _):
            return words(item)
        case Choice(items) | Sequence(items):
            return set().union(*map(words, items))


# ---- the grammar


def statement_classes() -> set[type[Any]]:
    """Every class a statement can be of."""
    return set(get_args(statements.Statement))


def rule_of(text: str) -> str:
    """The rule of the grammar that a statement is."""
    [statement] = read_skeleton(text, tokenize(text)).nodes()
    return statement.rule


@cache
def keywords_of(rule: str) -> frozenset[str]:
    """The words that a statement of a rule can be written with, without those of statements inside it."""
    grammar = load()
    ends = {"start", "statement", "explainable", *_statement_rules(), *NOT_BUILT.get(rule, {})} - {
        rule
    }
    found: set[str] = set()
    seen, todo = {rule}, [rule]
    while todo:
        for expansion in _expansions()[todo.pop()]:
            for symbol in expansion:
                if symbol.is_term and symbol.name in grammar.spelling:
                    found.add(grammar.spelling[symbol.name])
                elif not symbol.is_term and symbol.name not in seen | ends:
                    seen.add(symbol.name)
                    todo.append(symbol.name)
    return frozenset(word for word in found if word[0].isalpha())


@cache
def _expansions() -> dict[str, list[list[Any]]]:
    expansions: dict[str, list[list[Any]]] = {}
    for rule in lark_of(grammar_file("acid.lark")).rules:
        expansions.setdefault(str(rule.origin.name), []).append(list(rule.expansion))
    return expansions


@cache
def _statement_rules() -> frozenset[str]:
    """The rules that are statements by themselves; ``query`` is one, and a part of others."""
    found: set[str] = set()
    todo = ["statement"]
    while todo:
        for expansion in _expansions()[todo.pop()]:
            for symbol in expansion:
                if symbol.name in ("explainable", "_changing", "_defining", "_alter_table"):
                    todo.append(symbol.name)
                elif not symbol.is_term:
                    found.add(symbol.name)
    return frozenset(found - {"query"})


def refused_by_the_grammar() -> set[str]:
    return {"alter_otherwise", "alter_partition_otherwise"}


# ---- promises


def test_every_statement_has_a_synopsis_and_an_example() -> None:
    """Each class a statement can be of is what some synopsis writes, and some example of its section."""
    written: set[type[Any]] = set()
    for _, form in FORMS:
        written |= {type(parse(" ".join(way))) for way in variants(read(form))}
    shown = {
        type(parse(s.text))
        for section in SECTIONS
        for _, script in section.examples
        for s in split(script)
    }
    assert written == statement_classes()
    assert shown == statement_classes()


@pytest.mark.parametrize(
    ("title", "form"),
    [(section.title, form) for section, form in FORMS],
    ids=[f.split("\n")[0][:60] for _, f in FORMS],
)
def test_synopsis_is_what_the_grammar_takes(title: str, form: str) -> None:
    """Whatever a synopsis lets one write is a statement, with each option and each alternative."""
    for way in variants(read(form)):
        text = " ".join(way)
        assert isinstance(parse(text), tuple(statement_classes())), f"{title}: {text}"


def test_synopses_name_every_word_of_the_grammar() -> None:
    """No option is left out: each word the grammar has for a statement is in one of its synopses."""
    named: dict[str, set[str]] = {}
    for _, form in FORMS:
        node = read(form)
        for text in map(" ".join, variants(node)):
            if not isinstance(parse(text), NO_TOKENS):
                named.setdefault(rule_of(text), set()).update(words(node))
    assert set(named) == {*_statement_rules(), "query"} - refused_by_the_grammar()
    missing = {rule: sorted(keywords_of(rule) - found) for rule, found in named.items()}
    assert {rule: found for rule, found in missing.items() if found} == {}


@pytest.mark.parametrize("clause", NOT_BUILT["create_table_like"].values())
def test_clauses_of_the_grammar_that_no_synopsis_has(clause: str) -> None:
    """A clause that the page leaves out though the grammar has it is refused."""
    with pytest.raises(ParseError):
        parse(f"CREATE TABLE t LIKE s {clause}")


def test_what_is_not_supported_is_listed() -> None:
    """The page lists the statements and the alterations that are refused by their words, all and only those."""
    grammar = load()

    def spelled(rule: str) -> list[str]:
        return sorted(" ".join(grammar.spelling[s.name] for s in e) for e in _expansions()[rule])

    beside_grammar = ["SET ROLE", "SET TIME ZONE"]
    assert sorted(unsupported("unsupported")) == sorted([*parsing.UNSUPPORTED, *beside_grammar])
    assert sorted(unsupported("unsupported alter")) == spelled("otherwise")
    assert sorted(unsupported("unsupported alter-partition")) == spelled("otherwise_of_partition")
    for text in beside_grammar:
        with pytest.raises(UnsupportedStatementError):
            parse(text)


def test_error_codes_are_those_of_the_code() -> None:
    """Each of Hive's codes that acidsql gives is on the page, and no other."""
    given: set[int] = set()
    for path in Path(acidsql.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            given |= {value for value in _codes(node) if 10_000 < value < 50_000}
    named = {int(code) for code in re.findall(r"\b([1-3]0\d{3})\b", PAGE)}
    assert named == given


def _codes(node: ast.AST) -> Iterator[int]:
    """Numbers given as ``code=..``, named in capitals, or paired with what they are the code of."""
    match node:
        case ast.keyword(arg="code", value=ast.Constant(value=int(value))):
            yield value
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))) if (
            name.isupper()
        ):
            yield value
        case ast.Tuple(elts=[_, ast.Constant(value=int(value))]):
            yield value


def test_the_grammar_has_a_page_of_its_own() -> None:
    """The page that is made of the grammar has each rule with the words that it is written with, and
    no name without a meaning."""
    blocks = "\n".join(re.findall(r"```text\n(.*?)```", markdown_grammar(), re.DOTALL))
    rules = dict(re.findall(r"^([a-z_]+): (.*(?:\n .*)*)", blocks, re.MULTILINE))
    assert {name for name in _expansions() if not name.startswith("__")} == set(rules)
    for statement in _statement_rules():
        text, todo = "", [statement]
        seen = {*todo, *_statement_rules(), "_alter_table", "_changing", "explainable"}
        while todo:
            text += " " + rules[todo.pop()]
            todo += [w for w in re.findall(r"(?<!<)\b[a-z_]+\b", text) if w not in seen]
            seen |= set(todo)
        assert keywords_of(statement) <= set(re.findall(r"\b[A-Z]+\b", text)), statement
    described = set(re.findall(r"`<([a-z_]+)>`", markdown_grammar()))
    assert set(re.findall(r"<([a-z_]+)>", blocks)) <= described


# ---- examples


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the tables of the examples."""
    folder = tmp_path_factory.mktemp("prepared") / "warehouse"
    with Session(str(folder)) as session:
        for statement in split(SETUP):
            session.sql(statement.text)
    return folder


@pytest.fixture
def warehouse(tmp_path: Path, prepared: Path) -> Path:
    """A copy of it: a warehouse does not mind where it lies."""
    return Path(shutil.copytree(prepared, tmp_path / "warehouse"))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the examples' files lie: ``/data`` of the page, and the directory the program runs in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.txt").write_text("1,first\n2,second\n", encoding="utf-8")
    with Session(tmp_path / "data") as others:
        others.sql(
            "CREATE TABLE acid_orders (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        others.sql("INSERT INTO acid_orders VALUES (1), (2)")
    _exported(tmp_path / "data")
    (tmp_path / "data" / "old_orders").mkdir()
    orc.write_table(pa.table({"id": [1]}), str(tmp_path / "data" / "old_orders" / "000000_0"))
    return tmp_path / "data"


def _exported(home: Path) -> None:
    """Makes exports of a metastore that has the table as one of Hive's database sales."""
    metastore = HiveMetastore("sqlite://", "4.2")
    metastore.make_tables()
    metastore.empty()
    ddl = "CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    facts = facts_of(ddl, "high watermark 1")
    metastore.fill("sales", "orders", f"file:{home}/acid_orders", facts)
    metastore.export(home / "exports")
    metastore.close()


def run(session: Session, script: str, data: Path) -> None:
    for statement in split(script.replace("'/data", f"'{data}")):
        result = session.sql(statement.text)
        if result.columns:
            result.to_arrow()


def examples(note: str) -> list[Any]:
    found = [
        (section.title, text)
        for section in SECTIONS
        for said, text in section.examples
        if said == note
    ]
    return [pytest.param(text, id=title) for title, text in found]


@pytest.mark.parametrize("script", examples(""))
def test_example_runs_without_spark(script: str, warehouse: Path, data: Path) -> None:
    """An example runs, and needs no Spark."""
    with Session(str(warehouse)) as session:
        run(session, script, data)
        assert not session.spark_started


@pytest.mark.parametrize("script", examples("refused"))
def test_example_is_refused(script: str, warehouse: Path, data: Path) -> None:
    """Each statement of the example is understood, and refused."""
    with Session(str(warehouse)) as session:
        for statement in split(script):
            with pytest.raises(UnsupportedStatementError):
                session.sql(statement.text)


@pytest.mark.spark
@pytest.mark.parametrize("script", examples("spark"))
def test_example_runs(script: str, session: Session, data: Path) -> None:
    """An example runs."""
    run(session, script, data)
