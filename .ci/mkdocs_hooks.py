"""What the pages need to become a site: code blocks without the notes that are for the tests, and
the page of settings, which the code makes.
"""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File, Files

from acidsql.settings import markdown_table


def on_files(files: Files, config: Any) -> Files:
    """Adds the page of settings, which the README has as well."""
    page = f"# Settings\n\n`SET name=value`, or `settings=` of a session.\n\n{markdown_table()}\n"
    files.append(File.generated(config, "settings.md", content=page))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Takes the notes behind a block's language away: ``sql refused`` is ``sql`` to a reader."""
    return re.sub(r"^```(\w+) [^\n]*$", r"```\1", markdown, flags=re.MULTILINE)
