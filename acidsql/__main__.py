"""``python -m acidsql`` is the command ``acidsql``."""

from __future__ import annotations

import sys

from acidsql.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
