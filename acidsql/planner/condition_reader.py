"""Reads conditions from our own tokens, in Spark's order of precedence.

sqlglot's trees will not do: they keep neither the place of every part nor its words (there ``date_sub(d, 1)`` is a sum and
``CAST(x AS VARCHAR(3))`` a cast to STRING), and a partition may only be dropped by what is understood word for word. Whatever is not is
``Unread``, as far as the next AND or OR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from acidsql.catalog.types import MAX_DECIMAL_PRECISION, DecimalType, HiveType, PrimitiveType, parse_type
from acidsql.errors import BindError, Span
from acidsql.parser.tokens import Token, TokenKind
from acidsql.planner.conditions import TODAY, VOID, Call, Cast, ColumnRef, Condition, Constant, Unread
from acidsql.planner.literals import NotPlain, parse_literal


def read_condition(source: str, tokens: Sequence[Token], *, in_join: bool = False) -> Condition | None:
    """The condition ``tokens`` begin with, up to the next clause; ``in_join``: up to the next join too. None where its end is in doubt."""
    try:
        return _Reader(source, _joined(tokens), in_join).whole()
    except (_NotReadError, RecursionError):
        return None


class _NotReadError(Exception):
    """The words at hand are beyond this reader."""


_JOINED = ("<=>", "<=", ">=", "<>", "!=", "==", "||", "::", "->", "=>", "|>", "&&", "<<", ">>")
_MARKS = frozenset("".join(_JOINED))


def _joined(tokens: Sequence[Token]) -> list[Token]:
    """Operators of several characters as one token."""
    joined: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        count = 1
        if token.kind is TokenKind.MARK and token.text in _MARKS:
            marks = [t.text for i, t in enumerate(tokens[at : at + 3]) if t.kind is TokenKind.MARK and t.start == token.start + i]
            found = next((mark for mark in _JOINED if "".join(marks).startswith(mark)), token.text)
            count = len(found)
            token = Token(TokenKind.MARK, found, token.start, tokens[at + count - 1].end)
        joined.append(token)
        at += count
    return joined


_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CLAUSES = frozenset(
    "GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET WINDOW UNION EXCEPT MINUS INTERSECT QUALIFY LATERAL SELECT INSERT".split()
)
_JOINS = frozenset("JOIN LEFT RIGHT FULL INNER CROSS SEMI ANTI NATURAL WHERE ON USING PIVOT UNPIVOT".split())
_BETWEEN_OPERANDS = frozenset("AND OR NOT IN LIKE RLIKE REGEXP BETWEEN IS DIV CASE WHEN THEN ELSE ILIKE ESCAPE".split())
"""Words behind which an operand stands: a word of ``_CLAUSES`` there is a name."""
_INSIDE = frozenset("WHEN THEN ELSE END AS".split())
_NO_NAMES = frozenset(
    "AND OR NOT IN LIKE RLIKE REGEXP ILIKE BETWEEN IS DIV CASE WHEN THEN ELSE END AS FROM SELECT EXISTS INTERVAL DISTINCT ALL ANY SOME ON "
    "CURRENT_DATE CURRENT_TIMESTAMP CURRENT_TIME CURRENT_USER SESSION_USER USER LOCALTIMESTAMP DEFAULT ARRAY MAP STRUCT".split()
)
"""Words that are no plain column or function where they stand alone."""
_UNITS_FIRST = frozenset("DATEDIFF DATE_DIFF DATEADD DATE_ADD TIMESTAMPADD TIMESTAMPDIFF".split())
"""With three arguments the first is a unit of time, no column."""


class _Reader:
    """Recursive descent. Of a boolean operand that is not understood the words are skipped as a whole."""

    def __init__(self, source: str, tokens: list[Token], in_join: bool) -> None:
        self.source = source
        self.tokens = tokens
        self.ends = _CLAUSES | _JOINS if in_join else _CLAUSES
        self.at = 0
        self.depth = 0

    # ---- tokens

    def mark(self, ahead: int = 0) -> str:
        found = self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None
        return found.text if found is not None and found.kind is TokenKind.MARK else ""

    def word(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead].word if self.at + ahead < len(self.tokens) else ""

    def take(self, text: str) -> bool:
        found = text in (self.mark(), self.word())
        self.at += found
        return found

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise _NotReadError(text)

    def since(self, start: int) -> Span:
        return Span(self.tokens[start].start, self.tokens[self.at - 1].end)

    def at_end(self) -> bool:
        """Whether an operand that ends here is complete."""
        if self.at == len(self.tokens):
            return True
        if self.mark():
            return self.mark() in (")", "]", ",", "|>", ";")
        return self.word() in _INSIDE or self.word() in ("AND", "OR") or (self.depth == 0 and self.word() in self.ends)

    # ---- AND, OR, NOT

    def whole(self) -> Condition:
        found = self.boolean()
        if self.word() in _INSIDE or self.mark() == "]":
            raise _NotReadError(self.word())
        return found

    def boolean(self) -> Condition:
        return self.chain("OR", lambda: self.chain("AND", self.negation))

    def chain(self, word: str, operand: Callable[[], Condition]) -> Condition:
        start = self.at
        found = [operand()]
        while self.take(word):
            found.append(operand())
        return found[0] if len(found) == 1 else Call(word, tuple(found), self.since(start))

    def negation(self) -> Condition:
        start = self.at
        if self.take("NOT") or self.take("!"):
            return Call("NOT", (self.negation(),), self.since(start))
        try:
            found = self.predicate()
            if not self.at_end():
                raise _NotReadError
        except _NotReadError:
            self.at = start
            return self.skipped()
        return found

    def skipped(self) -> Condition:
        """The words up to the next AND or OR that is neither BETWEEN's nor inside brackets or CASE."""
        start, depth, cases, betweens = self.at, 0, 0, 0
        while self.at < len(self.tokens):
            mark, word = self.mark(), self.word()
            if depth == cases == 0 and self.at > start and self.stops(betweens > 0):
                break
            depth += (mark in ("(", "[")) - (mark in (")", "]"))
            cases += (word == "CASE") - (word == "END" and cases > 0)
            betweens += (word == "BETWEEN") - (word == "AND" and depth == cases == 0 and betweens > 0)
            if depth < 0:
                break
            self.at += 1
        if self.at == start or depth > 0 or cases or betweens:
            raise _NotReadError
        return Unread(self.since(start))

    def stops(self, between: bool) -> bool:
        """Whether the words skipped end here: an operator before a word makes a name of it."""
        before = self.tokens[self.at - 1]
        if self.mark() in (")", "]"):
            return True
        if (before.kind is TokenKind.MARK and before.text not in (")", "]")) or before.word in _BETWEEN_OPERANDS:
            return False
        return self.at_end() and not (between and self.word() == "AND")

    # ---- predicates and operators

    def predicate(self) -> Condition:
        start = self.at
        left = self.sum()
        if self.mark() in _COMPARISONS:
            operator = _COMPARISONS[self.mark()]
            self.at += 1
            return Call(operator, (left, self.sum()), self.since(start))
        negated = self.take("NOT")
        found = self.behind(left, start)
        if found is None:
            if negated:
                raise _NotReadError
            return left
        return Call("NOT", (found,), self.since(start)) if negated else found

    def behind(self, left: Condition, start: int) -> Condition | None:
        """IN, BETWEEN, LIKE, RLIKE or IS and what follows."""
        match self.word():
            case "IN" if self.mark(1) == "(":
                self.at += 2
                arguments = self.arguments()
                if not arguments:
                    raise _NotReadError
                return Call("IN", (left, *arguments), self.since(start))
            case "BETWEEN":
                self.at += 1
                low = self.sum()
                self.expect("AND")
                return Call("BETWEEN", (left, low, self.sum()), self.since(start))
            case "LIKE" | "RLIKE" | "REGEXP" as name:
                self.at += 1
                return Call("LIKE" if name == "LIKE" else "RLIKE", (left, self.sum()), self.since(start))
            case "IS":
                self.at += 1
                return self.behind_is(left, start)
        return None

    def behind_is(self, left: Condition, start: int) -> Condition:
        negated = self.take("NOT")
        if self.take("DISTINCT"):
            self.expect("FROM")
            found = Call("<=>", (left, self.sum()), self.since(start))
            negated = not negated
        else:
            name = next((name for name in ("NULL", "TRUE", "FALSE") if self.take(name)), None)
            if name is None:
                raise _NotReadError
            found = Call(f"IS {name}", (left,), self.since(start))
        return Call("NOT", (found,), self.since(start)) if negated else found

    def sum(self) -> Condition:
        return self.operators(("+", "-", "||"), lambda: self.operators(("*", "/", "%", "DIV"), self.sign))

    def operators(self, marks: tuple[str, ...], operand: Callable[[], Condition]) -> Condition:
        start = self.at
        left = operand()
        while (operator := next((m for m in marks if self.take(m)), None)) is not None:
            left = Call(operator, (left, operand()), self.since(start))
        return left

    def sign(self) -> Condition:
        start = self.at
        if self.mark() == "-" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].kind is TokenKind.NUMBER:
            self.at += 2
            return self.subscripts(self.number(self.since(start)), start)
        if self.take("-"):
            return Call("NEGATIVE", (self.sign(),), self.since(start))
        if self.take("+"):
            return self.sign()
        return self.subscripts(self.primary(), start)

    def subscripts(self, found: Condition, start: int) -> Condition:
        while True:
            if self.take("["):
                index = self.boolean()
                self.expect("]")
                found = Call("[]", (found, index), self.since(start))
            elif self.take("::"):
                hive_type = self.type_name()
                found = Cast(found, hive_type, self.since(start))
            else:
                return found

    # ---- operands

    def primary(self) -> Condition:
        if self.at == len(self.tokens):
            raise _NotReadError
        start, token = self.at, self.tokens[self.at]
        self.at += 1
        match token.kind:
            case TokenKind.STRING:
                return self.literal(token.span)
            case TokenKind.NUMBER:
                return self.number(token.span)
            case TokenKind.MARK:
                return self.brackets(token)
            case TokenKind.WORD if token.word == TODAY and self.mark() != ".":
                if self.take("("):
                    self.expect(")")
                return Call(TODAY, (), self.since(start))
            case TokenKind.WORD if self.mark() == "(" and token.word not in _NO_NAMES:
                return self.call(token.word, start)
            case TokenKind.WORD if token.word in ("NULL", "TRUE", "FALSE"):
                return self.literal(token.span)
            case TokenKind.WORD if token.word in ("DATE", "TIMESTAMP") and self.at < len(self.tokens) and self.on_string():
                self.at += 1
                return self.literal(self.since(start))
            case TokenKind.WORD if token.word == "CASE":
                return self.case(start)
            case TokenKind.WORD if token.word in _NO_NAMES and self.mark() != ".":
                raise _NotReadError(token.word)
        return self.column(start)

    def on_string(self) -> bool:
        return self.tokens[self.at].kind is TokenKind.STRING

    def brackets(self, token: Token) -> Condition:
        if token.text != "(" or self.word() in ("SELECT", "WITH", "FROM", "VALUES"):
            raise _NotReadError(token.text)
        found = self.nested(self.boolean)
        self.expect(")")
        return found

    def column(self, start: int) -> ColumnRef:
        parts = [self.tokens[start]]
        while self.mark() == "." and self.at + 1 < len(self.tokens):
            parts.append(self.tokens[self.at + 1])
            self.at += 2
        if self.mark() in ("(", ".") or any(p.kind not in (TokenKind.WORD, TokenKind.QUOTED) for p in parts):
            raise _NotReadError
        return ColumnRef(tuple(p.text.lower() for p in parts), self.since(start))

    def call(self, name: str, start: int) -> Condition:
        self.at += 1
        if name == "CAST":
            return self.cast(start)
        arguments = self.arguments()
        if name in _UNITS_FIRST and len(arguments) > 2:
            raise _NotReadError(name)
        return Call(name, arguments, self.since(start))

    def cast(self, start: int) -> Condition:
        argument = self.nested(self.boolean)
        self.expect("AS")
        hive_type = self.type_name()
        self.expect(")")
        return Cast(argument, hive_type, self.since(start))

    def arguments(self) -> tuple[Condition, ...]:
        """Those before the closing bracket, which is taken too."""
        if self.word() in ("SELECT", "WITH", "FROM", "VALUES"):
            raise _NotReadError
        found: list[Condition] = []
        while not self.take(")"):
            if found:
                self.expect(",")
            found.append(self.nested(self.boolean))
        return tuple(found)

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
            raise _NotReadError
        parts.append(self.nested(self.boolean) if self.take("ELSE") else Constant(None, VOID, self.since(start)))
        self.expect("END")
        return Call("CASE", tuple(parts), self.since(start))

    def type_name(self) -> HiveType:
        start = self.at
        self.at += 1
        if self.mark() == "(":
            while not self.take(")"):
                self.at += 1
                if self.at >= len(self.tokens):
                    raise _NotReadError
        try:
            return parse_type(self.since(start).cut(self.source))
        except BindError:
            raise _NotReadError from None

    # ---- literals

    def literal(self, span: Span) -> Constant:
        try:
            value = parse_literal(span.cut(self.source))
        except NotPlain:
            raise _NotReadError from None
        name = {"NoneType": "void", "bool": "boolean", "str": "string", "date": "date", "datetime": "timestamp"}[type(value).__name__]
        return Constant(value, PrimitiveType(name), span)

    def number(self, span: Span) -> Constant:
        """Spark's type of a number: INT, BIGINT or DECIMAL by its size, DECIMAL with a point, DOUBLE with an exponent."""
        text = span.cut(self.source)
        try:
            value = parse_literal(text)
        except NotPlain:
            raise _NotReadError from None
        match value:
            case float():
                return Constant(value, PrimitiveType("double"), span)
            case int() if text[-1] not in "sSyY":
                small = -(1 << 31) <= value < 1 << 31 and text[-1] not in "lL"
                return Constant(value, PrimitiveType("int" if small else "bigint"), span)
            case Decimal():
                _, digits, exponent = value.as_tuple()
                if isinstance(exponent, int) and exponent <= 0 and max(len(digits), -exponent) <= MAX_DECIMAL_PRECISION:
                    return Constant(value, DecimalType(max(len(digits), -exponent), -exponent), span)
        raise _NotReadError(text)
