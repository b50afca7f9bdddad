"""What the shell understands besides SQL: ``.tables`` and friends, Beeline's ``!`` and psql's
backslash spellings, and bare quit, exit, help, source.

command.py      what a command is, and where one begins and ends in a script
table.py        all of them, by name
help.py         what .help and "help select" say
looks.py        how rows are shown, and the way through the columns of the last query's
importing.py    where rows go, and what is read and run; the rows of CSV files into a table
csv_file.py     such a file as rows, its cells as values of the table's columns, and what is wrong
                with it by the line
asking.py       commands that are statements about the catalog or the last statement
recalling.py    statements of before: history, editor, named queries
"""
