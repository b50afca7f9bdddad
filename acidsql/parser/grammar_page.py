"""The grammar as a page to read: what the parser takes, rule by rule.

``python -m acidsql.parser.grammar_page`` prints it; the site has it beside the statements.
"""

from __future__ import annotations

import re

from acidsql.parser.grammar import grammar_file

_SECTION = re.compile(r"^// -+ (.*?) -+$", re.MULTILINE)
_SPAN = re.compile(r"^//   ([A-Z_]+) +(.*)$", re.MULTILINE)
_WORD = re.compile(r'^(_?[A-Z]+): "(.*)"$', re.MULTILINE)
_SYMBOL = re.compile(r'"([^"]*)"|\b([A-Za-z_]+)\b')

_INTRODUCTION = """\
# Grammar

What the parser takes, made of its grammar; [Statements](statements.md) says what it means. Words in
capitals and marks in quotes are written as they are. `x?` may be left out, `x*` is any number of
`x`, `x+` one or more, of `a | b` one is written. Names in small letters are rules, or

| | is |
| --- | --- |
"""


def markdown_grammar() -> str:
    """The page: the rules of each part of the grammar in a block of their own."""
    head, *parts = _SECTION.split(grammar_file("acid.lark"))
    spelled = dict(_WORD.findall(parts[-1]))
    spans = _SPAN.findall(head)
    every_span = {"NAME", "STRING", "NUMBER", *(name for name, _ in spans)}
    lines = [f"| `<{name.lower()}>` | {text.replace('|', chr(92) + '|')} |" for name, text in spans]
    lines += ["| `<name>`, `<string>`, `<number>` | `orders`, `'text'`, `4` |"]
    page = [_INTRODUCTION + "\n".join(lines)]
    rules = re.sub(r"^(//|%).*\n?", "", head, flags=re.MULTILINE)
    titles, bodies = ["Statements", *parts[:-2:2]], [rules, *parts[1:-2:2]]
    for title, body in zip(titles, bodies, strict=True):
        kept = re.sub(r"^//.*\n?", "", body, flags=re.MULTILINE).strip()
        block = _SYMBOL.sub(lambda match: _shown(match, spelled, every_span), kept)
        block = re.sub(r"^\?", "", block, flags=re.MULTILINE)
        page.append(f"## {title[0].upper()}{title[1:]}\n\n```text\n{block}\n```")
    return "\n\n".join(page) + "\n"


def _shown(match: re.Match[str], spelled: dict[str, str], spans: set[str]) -> str:
    """A word as it is written, a mark in quotes, a span or the name of a rule."""
    quoted, name = match.groups()
    if name in spans:
        return f"<{name.lower()}>"
    word = quoted if quoted is not None else spelled.get(name)
    if word is None:
        return str(name)
    return str(word) if word.isalpha() else f'"{word}"'


if __name__ == "__main__":
    print(markdown_grammar(), end="")
