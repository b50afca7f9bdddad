"""A small strict checker of OpenMetrics text: what the specification (1.0) demands of what is
written here, and nothing more lenient.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
_TEXT = r'(?:[^"\\\n]|\\[\\n"])*'
_LABELS = re.compile(rf'({_LABEL})="({_TEXT})"(,|\Z)')
_META = re.compile(rf"# (TYPE|HELP|UNIT) ({_NAME}) (.*)")
_SAMPLE = re.compile(
    rf"({_NAME})(?:\{{((?:{_LABEL}=\"{_TEXT}\",?)*)\}})? ([+-]?(?:Inf|[0-9.eE+-]+)|NaN)"
)
_SUFFIXES = {"gauge": "", "counter": "_total"}


@dataclass
class ParsedFamily:
    kind: str
    help: str | None = None
    samples: dict[tuple[tuple[str, str], ...], float] = field(default_factory=dict)


def parse_openmetrics(text: str) -> dict[str, ParsedFamily]:
    """The families of a text. AssertionError for what the specification does not allow."""
    assert text.endswith("# EOF\n"), "the text does not end with # EOF"
    *lines, end = text.removesuffix("\n").split("\n")
    assert end == "# EOF"
    families: dict[str, ParsedFamily] = {}
    current = ""
    for line in lines:
        meta = _META.fullmatch(line)
        if meta is None:
            _add_sample(families, current, line)
        elif meta[2] != current:
            assert meta[1] == "TYPE", f"{line} comes before the type"
            assert meta[2] not in families, f"{meta[2]} is not in one piece"
            assert meta[3] in _SUFFIXES, f"{line} has an unknown type"
            current = meta[2]
            families[current] = ParsedFamily(kind=meta[3])
        else:
            family = families[current]
            assert meta[1] == "HELP", f"{line} comes twice"
            assert family.help is None, f"{line} comes twice"
            assert not family.samples, f"{line} comes behind samples"
            assert re.fullmatch(_TEXT, meta[3]), f"{line} is not escaped"
            family.help = meta[3]
    return families


def _add_sample(families: dict[str, ParsedFamily], current: str, line: str) -> None:
    sample = _SAMPLE.fullmatch(line)
    assert sample is not None, f"{line!r} is no sample"
    assert current, f"{line!r} has no family"
    family = families[current]
    assert sample[1] == current + _SUFFIXES[family.kind], f"{line!r} is not of {current}"
    labels, rest = [], sample[2] or ""
    while rest:
        label = _LABELS.match(rest)
        assert label is not None, f"{rest!r} is no label"
        labels.append((label[1], _unescaped(label[2])))
        rest = rest[label.end() :]
        assert bool(rest) == (label[3] == ","), "a comma ends the labels"
    key = tuple(sorted(labels))
    assert len(dict(key)) == len(key), f"{line!r} has a label twice"
    assert key not in family.samples, f"{line!r} comes twice"
    value = float(sample[3])
    assert family.kind != "counter" or value >= 0, f"{line!r} counts down"
    family.samples[key] = value


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)
