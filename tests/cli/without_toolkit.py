"""The command where prompt_toolkit is not installed."""

from __future__ import annotations

import sys

from acidsql.cli.main import main

if __name__ == "__main__":
    sys.modules["prompt_toolkit"] = None  # type: ignore[assignment]
    sys.exit(main(sys.argv[1:]))
