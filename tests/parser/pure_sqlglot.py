"""What the parser makes of texts when sqlglot runs from its sources, whether sqlglotc is installed
or not.

    python -m tests.parser.pure_sqlglot < texts.json > outcomes.json

sqlglotc lays compiled modules beside sqlglot's sources, where Python prefers them; here a finder
that knows sources only comes first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader


class SourcesOnly(MetaPathFinder):
    """Finds the modules of sqlglot among its ``.py`` files."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "sqlglot":
            return None
        found = (
            FileFinder(entry, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(fullname)
            for entry in path or sys.path
        )
        return next((spec for spec in found if spec is not None), None)


def main() -> None:
    sys.meta_path.insert(0, SourcesOnly())
    from tests.parser.texts import outcome_text

    outcomes = [outcome_text(text) for text in json.load(sys.stdin)]
    files = {
        getattr(module, "__file__", None) or ""
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "sqlglot"
    }
    assert all(file.endswith(".py") for file in files), files
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
