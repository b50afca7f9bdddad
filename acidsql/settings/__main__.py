"""``python -m acidsql.settings`` prints the README's table, ``python -m acidsql.settings hive``
docs/hive-settings.md's.
"""

import sys

from acidsql.settings import markdown_page, markdown_table

print(markdown_page() if sys.argv[1:] == ["hive"] else markdown_table())
