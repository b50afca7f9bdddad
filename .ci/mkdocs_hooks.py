"""What the pages need to become a site: code blocks without the notes that are for the tests, and
the page of the grammar, which the code makes.
"""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File, Files

from acidsql.parser.grammar_page import markdown_grammar


def on_files(files: Files, config: Any) -> Files:
    """Adds the page of the grammar."""
    files.append(File.generated(config, "grammar.md", content=markdown_grammar()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Takes the notes behind a block's language away: ``sql refused`` is ``sql`` to a reader."""
    return re.sub(r"^```(\w+) [^\n]*$", r"```\1", markdown, flags=re.MULTILINE)
