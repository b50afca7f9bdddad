"""Expressions read from our own tokens, as trees, with their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from acidsql.catalog.types import (
    MAX_DECIMAL_PRECISION,
    DecimalType,
    HiveType,
    PrimitiveType,
    parse_type,
)
from acidsql.errors import BindError, Span
from acidsql.expressions.not_here import THESE_WORDS, NotHere
from acidsql.expressions.tree import (
    EXISTS,
    IN_QUERY,
    NOW,
    OVER,
    SCALAR_QUERY,
    TODAY,
    VOID,
    Call,
    Cast,
    ColumnRef,
    Condition,
    Constant,
    Unread,
    is_higher,
    parse_literal,
)
from acidsql.parser.tokens import Token, TokenKind
from acidsql.spark_release import has_colon_casts

# ---- cursor
#
# Tokens of a condition, where a reader stands in them, and the words at which it ends.


CLAUSES = frozenset(
    "GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS INTERSECT"
    " QUALIFY LATERAL SELECT INSERT".split()
)
"""Words at which another clause of a query begins."""

JOINS = frozenset(
    "JOIN LEFT RIGHT FULL INNER CROSS SEMI ANTI NATURAL WHERE ON USING PIVOT UNPIVOT".split()
)
"""Words at which the condition of a join ends, too."""


_JOINED = ("<=>", "<=", ">=", "<>", "!=", "==", "||", "::", "->", "=>", "|>", "&&", "<<", ">>")
_MARKS = frozenset("".join(_JOINED))


def join_operators(tokens: Sequence[Token]) -> list[Token]:
    """Operators of several characters as one token."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        count = 1
        if token.kind is TokenKind.MARK and token.text in _MARKS:
            marks = [
                t.text
                for i, t in enumerate(tokens[at : at + 3])
                if t.kind is TokenKind.MARK and t.start == token.start + i
            ]
            operator = next((m for m in _JOINED if "".join(marks).startswith(m)), token.text)
            count = len(operator)
            token = Token(TokenKind.MARK, operator, token.start, tokens[at + count - 1].end)
        joined.append(token)
        at += count
    return joined


class Cursor:
    """Token number ``at`` of ``tokens`` is the next one."""

    def __init__(self, tokens: Sequence[Token], at: int = 0) -> None:
        self.tokens = tokens
        self.at = at

    def is_past_end(self) -> bool:
        return self.at >= len(self.tokens)

    def mark(self, ahead: int = 0) -> str:
        """The mark at hand; empty for anything that is none."""
        at = self.at + ahead
        if at >= len(self.tokens):
            return ""
        kind, text, _, _ = self.tokens[at]
        return text if kind is TokenKind.MARK else ""

    def word(self, ahead: int = 0) -> str:
        """The bare word at hand in upper case; empty for anything that is none."""
        at = self.at + ahead
        return self.tokens[at].word if at < len(self.tokens) else ""

    def take(self, text: str) -> bool:
        """Steps over a word or mark if it is at hand."""
        if self.at >= len(self.tokens):
            return False
        kind, token_text, _, _ = self.tokens[self.at]
        taken = (
            token_text == text
            if kind is TokenKind.MARK
            else kind is TokenKind.WORD and token_text.upper() == text
        )
        self.at += taken
        return taken

    def expect(self, text: str) -> None:
        """Steps over a word or mark. NotHere if another is at hand."""
        if not self.take(text):
            raise NotHere(text)

    def since(self, start: int) -> Span:
        """From the token number ``start`` to the one behind the cursor."""
        return Span(self.tokens[start].start, self.tokens[self.at - 1].end)


# ---- constants
#
# Literals of a condition as constants with Spark's types.


def literal_constant(source: str, span: Span) -> Constant:
    """The constant that a word, a text, a day or a moment stands for. NotHere."""
    value = parse_literal(span.cut(source))
    name = {
        "NoneType": "void",
        "bool": "boolean",
        "str": "string",
        "date": "date",
        "datetime": "timestamp",
    }[type(value).__name__]
    return Constant(value, PrimitiveType(name), span)


_SMALL = {"Y": "tinyint", "S": "smallint"}
"""What a letter behind a number makes of it."""


def number_constant(source: str, span: Span) -> Constant:
    """Spark's type of a number: INT, BIGINT or DECIMAL by its size, DECIMAL with a point,
    DOUBLE with an exponent. NotHere.
    """
    text = span.cut(source)
    value = parse_literal(text)
    match value:
        case float():
            return Constant(value, PrimitiveType("double"), span)
        case int() if (small := _SMALL.get(text[-1].upper())) is not None:
            return Constant(value, PrimitiveType(small), span)
        case int():
            fits = -(1 << 31) <= value < 1 << 31 and text[-1] not in "lL"
            return Constant(value, PrimitiveType("int" if fits else "bigint"), span)
        case Decimal():
            _, digits, exponent = value.as_tuple()
            if (
                isinstance(exponent, int)
                and exponent <= 0
                and max(len(digits), -exponent) <= MAX_DECIMAL_PRECISION
            ):
                return Constant(value, DecimalType(max(len(digits), -exponent), -exponent), span)
    raise NotHere(text)


# ---- reader
#
# Reads conditions from our own tokens, in Spark's order of precedence.
#
# sqlglot's trees will not do: they keep neither the place of every part nor its words (there
# ``date_sub(d, 1)`` is a sum and ``CAST(x AS VARCHAR(3))`` a cast to STRING), and a partition may
# only be dropped by what is understood word for word. Whatever is not is ``Unread``, as far as the
# next AND or OR.


def read_condition(
    source: str, tokens: Sequence[Token], *, in_join: bool = False
) -> Condition | None:
    """The condition ``tokens`` begin with, up to the next clause; ``in_join``: up to the next join
    too. None where its end is in doubt, and for a tree that is too high for those who go down it.
    """
    return read_joined(source, join_operators(tokens), 0, in_join=in_join)


def read_expression(source: str, tokens: Sequence[Token]) -> Condition | None:
    """The expression that ``tokens`` are, all of them; None where they are not one."""
    reader = _Reader(source, join_operators(tokens), 0, in_join=False)
    try:
        tree = reader.whole()
    except (NotHere, RecursionError):
        return None
    return tree if reader.is_past_end() and not is_higher(tree, _MAX_LEVELS) else None


def read_joined(
    source: str, tokens: Sequence[Token], start: int, *, in_join: bool
) -> Condition | None:
    """The condition that begins at token number ``start`` of ``join_operators``, up to the next
    clause; ``in_join``: up to the next join too. None as for ``read_condition``.
    """
    try:
        tree = _Reader(source, tokens, start, in_join).whole()
    except (NotHere, RecursionError):
        return None
    return None if is_higher(tree, _MAX_LEVELS) else tree


_MAX_LEVELS = 40
_MOST_OPERATORS = 30
"""The longest sum or product that is looked into: each operator of it is one level of the tree."""

_COMPARISONS = {sign: sign for sign in ("=", "<>", "<=>", "<", "<=", ">", ">=")}
_COMPARISONS |= {"==": "=", "!=": "<>"}
_BETWEEN_OPERANDS = frozenset(
    "AND OR NOT IN LIKE RLIKE REGEXP BETWEEN IS DIV CASE WHEN THEN ELSE ILIKE ESCAPE".split()
)
"""Words behind which an operand stands: a word of ``CLAUSES`` there is a name."""
_INSIDE = frozenset("WHEN THEN ELSE END AS".split())
_NO_NAMES = frozenset(
    "AND OR NOT IN LIKE RLIKE REGEXP ILIKE BETWEEN IS DIV CASE WHEN THEN ELSE END AS FROM SELECT"
    " EXISTS INTERVAL DISTINCT ALL ANY SOME ON CURRENT_DATE CURRENT_TIMESTAMP CURRENT_TIME"
    " CURRENT_USER SESSION_USER USER LOCALTIMESTAMP DEFAULT ARRAY MAP STRUCT".split()
)
"""Words that are no plain column or function where they stand alone."""
_QUERIES = ("SELECT", "WITH")
"""What a query in brackets begins with."""
_NO_CALLS = _NO_NAMES - {"ARRAY"}
_UNITS_FIRST = frozenset("DATEDIFF DATE_DIFF DATEADD DATE_ADD TIMESTAMPADD TIMESTAMPDIFF".split())
"""With three arguments the first is a unit of time, no column."""


class _Reader(Cursor):
    """Recursive descent. Of a boolean operand that is not understood the words are skipped as a
    whole.
    """

    def __init__(self, source: str, tokens: Sequence[Token], at: int, in_join: bool) -> None:
        super().__init__(tokens, at)
        self.source = source
        self.ends = CLAUSES | JOINS if in_join else CLAUSES
        self.depth = 0

    def at_end(self) -> bool:
        """Whether an operand that ends here is complete."""
        if self.is_past_end():
            return True
        if self.mark():
            return self.mark() in (")", "]", ",", "|>", ";")
        return (
            self.word() in _INSIDE
            or self.word() in ("AND", "OR")
            or (self.depth == 0 and self.word() in self.ends)
        )

    # ---- AND, OR, NOT

    def whole(self) -> Condition:
        condition = self.boolean()
        if self.word() in _INSIDE or self.mark() == "]":
            raise NotHere(self.word())
        return condition

    def boolean(self) -> Condition:
        return self.chain("OR", lambda: self.chain("AND", self.negation))

    def chain(self, word: str, operand: Callable[[], Condition]) -> Condition:
        start = self.at
        operands = [operand()]
        while self.take(word):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else Call(word, tuple(operands), self.since(start))

    def negation(self) -> Condition:
        start = self.at
        if self.take("NOT") or self.take("!"):
            return Call("NOT", (self.negation(),), self.since(start))
        try:
            predicate = self.predicate()
            if not self.at_end():
                raise NotHere(THESE_WORDS)
        except NotHere:
            self.at = start
            return self.skipped()
        return predicate

    def skipped(self) -> Condition:
        """The words up to the next AND or OR that is neither BETWEEN's nor inside
        brackets or CASE.
        """
        start, depth, cases, betweens = self.at, 0, 0, 0
        while self.at < len(self.tokens):
            mark, word = self.mark(), self.word()
            if depth == cases == 0 and self.at > start and self.stops(betweens > 0):
                break
            depth += (mark in ("(", "[")) - (mark in (")", "]"))
            cases += (word == "CASE") - (word == "END" and cases > 0)
            betweens += (word == "BETWEEN") - (
                word == "AND" and depth == cases == 0 and betweens > 0
            )
            if depth < 0:
                break
            self.at += 1
        if self.at == start or depth > 0 or cases or betweens:
            raise NotHere(THESE_WORDS)
        return Unread(self.since(start))

    def stops(self, between: bool) -> bool:
        """Whether the words skipped end here: an operator before a word makes a name of it."""
        before = self.tokens[self.at - 1]
        if self.mark() in (")", "]"):
            return True
        if (
            before.kind is TokenKind.MARK and before.text not in (")", "]")
        ) or before.word in _BETWEEN_OPERANDS:
            return False
        return self.at_end() and not (between and self.word() == "AND")

    # ---- predicates and operators

    def predicate(self) -> Condition:
        start = self.at
        left = self.bits()
        if self.mark() in _COMPARISONS:
            operator = _COMPARISONS[self.mark()]
            self.at += 1
            return Call(operator, (left, self.bits()), self.since(start))
        negated = self.take("NOT")
        test = self.behind(left, start)
        if test is None:
            if negated:
                raise NotHere(THESE_WORDS)
            return left
        return Call("NOT", (test,), self.since(start)) if negated else test

    def behind(self, left: Condition, start: int) -> Condition | None:
        """IN, BETWEEN, LIKE, RLIKE or IS and what follows."""
        match self.word():
            case "IN" if self.mark(1) == "(" and self.word(2) in _QUERIES:
                self.at += 2
                query = self.enclosed()
                return Call(IN_QUERY, (left, query), self.since(start))
            case "IN" if self.mark(1) == "(":
                self.at += 2
                arguments = self.arguments()
                if not arguments:
                    raise NotHere(THESE_WORDS)
                return Call("IN", (left, *arguments), self.since(start))
            case "BETWEEN":
                self.at += 1
                low = self.bits()
                self.expect("AND")
                return Call("BETWEEN", (left, low, self.bits()), self.since(start))
            case "LIKE" | "RLIKE" | "REGEXP" as name:
                self.at += 1
                return Call(
                    "LIKE" if name == "LIKE" else "RLIKE", (left, self.bits()), self.since(start)
                )
            case "IS":
                self.at += 1
                return self.behind_is(left, start)
        return None

    def behind_is(self, left: Condition, start: int) -> Condition:
        negated = self.take("NOT")
        if self.take("DISTINCT"):
            self.expect("FROM")
            test = Call("<=>", (left, self.bits()), self.since(start))
            negated = not negated
        else:
            name = next((name for name in ("NULL", "TRUE", "FALSE") if self.take(name)), None)
            if name is None:
                raise NotHere(THESE_WORDS)
            test = Call(f"IS {name}", (left,), self.since(start))
        return Call("NOT", (test,), self.since(start)) if negated else test

    def bits(self) -> Condition:
        return self.operators(("|",), lambda: self.operators(("^",), self.common_bits))

    def common_bits(self) -> Condition:
        return self.operators(("&",), self.sum)

    def sum(self) -> Condition:
        return self.operators(
            ("+", "-", "||"), lambda: self.operators(("*", "/", "%", "DIV"), self.sign)
        )

    def operators(self, marks: tuple[str, ...], operand: Callable[[], Condition]) -> Condition:
        start = self.at
        left = operand()
        count = 0
        while (operator := next((m for m in marks if self.take(m)), None)) is not None:
            count += 1
            if count > _MOST_OPERATORS:
                raise NotHere(operator)
            left = Call(operator, (left, operand()), self.since(start))
        return left

    def sign(self) -> Condition:
        start = self.at
        if (
            self.mark() == "-"
            and self.at + 1 < len(self.tokens)
            and self.tokens[self.at + 1].kind is TokenKind.NUMBER
        ):
            self.at += 2
            return self.subscripts(number_constant(self.source, self.since(start)), start)
        if self.take("-"):
            return Call("NEGATIVE", (self.sign(),), self.since(start))
        if self.take("+"):
            raise NotHere("+")  # Spark makes other types of a literal, other names of a column
        return self.subscripts(self.primary(), start)

    def subscripts(self, value: Condition, start: int) -> Condition:
        while True:
            if self.take("["):
                index = self.boolean()
                self.expect("]")
                value = Call("[]", (value, index), self.since(start))
            elif self.mark() == "::" and has_colon_casts():
                self.take("::")
                hive_type = self.type_name()
                value = Cast(value, hive_type, self.since(start))
            else:
                return value

    # ---- operands

    def primary(self) -> Condition:  # noqa: C901  (one arm for each thing an operand begins with)
        if self.is_past_end():
            raise NotHere(THESE_WORDS)
        start, token = self.at, self.tokens[self.at]
        self.at += 1
        match token.kind:
            case TokenKind.STRING:
                return literal_constant(self.source, token.span)
            case TokenKind.NUMBER:
                return number_constant(self.source, token.span)
            case TokenKind.MARK:
                return self.brackets(token)
            case TokenKind.WORD if token.word == EXISTS and self.mark() == "(":
                self.at += 1
                if self.word() not in _QUERIES:
                    raise NotHere(token.word)
                return Call(EXISTS, (self.enclosed(),), self.since(start))
            case TokenKind.WORD if token.word in (TODAY, NOW) and self.mark() != ".":
                if self.take("("):
                    self.expect(")")
                return Call(token.word, (), self.since(start))
            case TokenKind.WORD if self.mark() == "(" and token.word not in _NO_CALLS:
                return self.over(self.call(token.word, start), start)
            case TokenKind.WORD if token.word in ("NULL", "TRUE", "FALSE"):
                return literal_constant(self.source, token.span)
            case TokenKind.WORD if (
                token.word in ("DATE", "TIMESTAMP")
                and self.at < len(self.tokens)
                and self.on_string()
            ):
                self.at += 1
                return literal_constant(self.source, self.since(start))
            case TokenKind.WORD if token.word == "CASE":
                return self.case(start)
            case TokenKind.WORD if token.word in _NO_NAMES and self.mark() != ".":
                raise NotHere(token.word)
        return self.column(start)

    def on_string(self) -> bool:
        return self.tokens[self.at].kind is TokenKind.STRING

    def brackets(self, token: Token) -> Condition:
        if token.text != "(" or self.word() in ("FROM", "VALUES"):
            raise NotHere(token.text)
        if self.word() in _QUERIES:
            start = self.at - 1
            return Call(SCALAR_QUERY, (self.enclosed(),), self.since(start))
        condition = self.nested(self.boolean)
        self.expect(")")
        return condition

    def enclosed(self) -> Unread:
        """The words behind a bracket up to the one that closes it, which is taken too."""
        opening = self.tokens[self.at - 1]
        depth = 0
        while depth or self.mark() != ")":
            if self.is_past_end():
                raise NotHere(THESE_WORDS)
            depth += (self.mark() == "(") - (self.mark() == ")")
            self.at += 1
        self.at += 1
        return Unread(Span(opening.end, self.tokens[self.at - 1].start))

    def column(self, start: int) -> ColumnRef:
        parts = [self.tokens[start]]
        while self.mark() == "." and self.at + 1 < len(self.tokens):
            parts.append(self.tokens[self.at + 1])
            self.at += 2
        if self.mark() in ("(", ".") or any(
            p.kind not in (TokenKind.WORD, TokenKind.QUOTED) for p in parts
        ):
            raise NotHere(THESE_WORDS)
        return ColumnRef(tuple(p.text.lower() for p in parts), self.since(start))

    def call(self, name: str, start: int) -> Condition:
        self.at += 1
        if name == "CAST":
            return self.cast(start)
        arguments = self.arguments()
        if name in _UNITS_FIRST and len(arguments) > 2:
            raise NotHere(name)
        return Call(name, arguments, self.since(start))

    def over(self, value: Condition, start: int) -> Condition:
        """A call, or that of a window function with the words of its window."""
        if self.word() != "OVER" or self.mark(1) != "(":
            return value
        self.at += 2
        return Call(OVER, (value, self.enclosed()), self.since(start))

    def cast(self, start: int) -> Condition:
        argument = self.nested(self.boolean)
        self.expect("AS")
        hive_type = self.type_name()
        self.expect(")")
        return Cast(argument, hive_type, self.since(start))

    def arguments(self) -> tuple[Condition, ...]:
        """The arguments up to the closing bracket, which is taken too."""
        if self.word() in ("SELECT", "WITH", "FROM", "VALUES"):
            raise NotHere(THESE_WORDS)
        arguments: list[Condition] = []
        while not self.take(")"):
            if arguments:
                self.expect(",")
            arguments.append(self.nested(self.boolean))
        return tuple(arguments)

    def nested(self, operand: Callable[[], Condition]) -> Condition:
        """Inside brackets no clause begins."""
        self.depth += 1
        try:
            return operand()
        finally:
            self.depth -= 1

    def case(self, start: int) -> Condition:
        subject = None if self.word() == "WHEN" else self.nested(self.boolean)
        parts: list[Condition] = []
        while self.take("WHEN"):
            begin = self.at
            when = self.nested(self.boolean)
            if subject is not None:
                when = Call("=", (subject, when), self.since(begin))
            self.expect("THEN")
            parts += [when, self.nested(self.boolean)]
        if not parts:
            raise NotHere(THESE_WORDS)
        parts.append(
            self.nested(self.boolean)
            if self.take("ELSE")
            else Constant(None, VOID, self.since(start))
        )
        self.expect("END")
        return Call("CASE", tuple(parts), self.since(start))

    def type_name(self) -> HiveType:
        start = self.at
        self.at += 1
        if self.mark() == "(":
            while not self.take(")"):
                self.at += 1
                if self.at >= len(self.tokens):
                    raise NotHere(THESE_WORDS)
        try:
            return parse_type(self.since(start).cut(self.source))
        except BindError:
            raise NotHere(THESE_WORDS) from None
