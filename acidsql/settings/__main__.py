"""``python -m acidsql.settings`` prints the table of docs/settings.md, ``python -m acidsql.settings
hive`` that of docs/hive-settings.md.
"""

import sys

from acidsql.settings import markdown_page, markdown_table

print(markdown_page() if sys.argv[1:] == ["hive"] else markdown_table())
