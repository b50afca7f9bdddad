"""The LALR table of a grammar, made by lark, as plain data: what ``grammar/acid.table.json`` holds.

``python -m acidsql.parser.parse_table`` writes that file anew; a test compares. The table names the
grammar it was made of by its hash, so that one of another grammar is never taken. Rules and states
are numbered by where they are first met, so that the same grammar always gives the same file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from lark import Lark
from lark.lexer import Lexer, PatternStr
from lark.lexer import Token as LarkToken
from lark.parsers.lalr_analysis import Shift

from acidsql.parser.grammar import DROPPED, KEPT, SPLICED, grammar_file, grammar_path


def parse_table(text: str) -> dict[str, Any]:
    """What ``grammar.Grammar`` takes. ``spelling``: of each keyword and mark."""
    lark = lark_of(text)
    table = lark.parse_interactive().parser_state.parse_conf
    rules: dict[Any, int] = {}
    states = _in_order(table)
    numbers = {state: number for number, state in enumerate(states)}

    def step(action: Any, argument: Any) -> int:
        if action is Shift:
            return numbers[argument]
        return -1 - rules.setdefault(argument, len(rules))

    rows = [
        {name: step(*to) for name, to in sorted(table.states[state].items())} for state in states
    ]
    return {
        "grammar": hashlib.sha256(text.encode()).hexdigest(),
        "start": numbers[table.start_state],
        "end": numbers[table.end_state],
        "spelling": {
            terminal.name: terminal.pattern.value
            for terminal in sorted(lark.terminals, key=lambda terminal: terminal.name)
            if isinstance(terminal.pattern, PatternStr)
        },
        "rules": [_rule(rule) for rule in rules],
        "states": rows,
    }


def lark_of(text: str) -> Lark:
    """A parser of this grammar whose tokens are fed one by one."""
    return Lark(
        text, parser="lalr", lexer=_NoLexer, propagate_positions=True, maybe_placeholders=False
    )


def printed(table: dict[str, Any]) -> str:
    """The table as a file: a rule or state a line."""
    lines = []
    for name, value in table.items():
        if isinstance(value, list):
            value = "[\n" + ",\n".join(_compact(item) for item in value) + "\n]"
        else:
            value = _compact(value)
        lines.append(f'"{name}": {value}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _in_order(table: Any) -> list[Any]:
    """The states as they are met from the start on; lark's own order changes from run to run."""
    order = [table.start_state]
    met = {table.start_state}
    for state in order:
        for _, (action, argument) in sorted(table.states[state].items()):
            if action is Shift and argument not in met:
                met.add(argument)
                order.append(argument)
    return order


def _rule(rule: Any) -> list[Any]:
    """A rule as ``grammar.Rule`` takes it, which has no word for aliases and templates."""
    assert rule.alias is None, rule
    assert rule.options.template_source is None, rule
    fates = "".join(_fate(symbol, rule.options.keep_all_tokens) for symbol in rule.expansion)
    return [str(rule.origin.name), fates, bool(rule.options.expand1)]


def _fate(symbol: Any, keep_all: bool) -> str:
    if symbol.is_term:
        return DROPPED if symbol.filter_out and not keep_all else KEPT
    return SPLICED if symbol.name.startswith("_") else KEPT


class _NoLexer(Lexer):
    """lark wants a lexer class; it is never asked."""

    def __init__(self, _conf: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[LarkToken]:
        raise NotImplementedError


if __name__ == "__main__":
    text = printed(parse_table(grammar_file("acid.lark")))
    grammar_path("acid.lark").with_name("acid.table.json").write_text(text, encoding="utf-8")
