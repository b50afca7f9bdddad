"""Statements to text: one canonical way to write each.

Keywords are in upper case, optional words are there or not by rule, names are bare where they can
be and in backticks where they must, clauses stand in Hive's order. Queries, expressions and types
are printed as the user wrote them. A statement is one line where it is short. Parsing the text
gives the statement again, but for its spans.
"""

from __future__ import annotations

from acidsql.parser import statements as ast
from acidsql.parser.variables import assignment_end
from tests.parser.printing.alterations import print_alteration
from tests.parser.printing.files import (
    print_copy,
    print_copy_into,
    print_describe_query,
    print_insert_directory,
    print_summarize,
)
from tests.parser.printing.pieces import words
from tests.parser.printing.rows import (
    print_delete,
    print_insert,
    print_merge,
    print_multi_insert,
    print_update,
)
from tests.parser.printing.tables import (
    print_database_statement,
    print_show,
    print_table_statement,
)
from tests.parser.printing.transactions import print_transaction_statement


def print_statement(statement: ast.Statement) -> str:
    """The statement as canonical SQL text, without a ``;``: ``parse(print_statement(s))`` is ``s``
    apart from spans.
    """
    match statement:
        case ast.Query():
            return statement.body.text
        case ast.Insert():
            return print_insert(statement)
        case ast.MultiInsert():
            return print_multi_insert(statement)
        case ast.Update():
            return print_update(statement)
        case ast.Delete():
            return print_delete(statement)
        case ast.Merge():
            return print_merge(statement)
        case ast.DescribeQuery():
            return print_describe_query(statement)
        case ast.Summarize():
            return print_summarize(statement)
        case ast.Copy():
            return print_copy(statement)
        case ast.CopyInto():
            return print_copy_into(statement)
        case ast.InsertDirectory():
            return print_insert_directory(statement)
        case ast.Explain():
            return words("EXPLAIN", statement.mode, print_statement(statement.statement))
        case ast.DryRun():
            return words("DRY RUN", print_statement(statement.statement))
        case ast.SetVariable():
            return print_set_variable(statement)
        case ast.ResetVariable():
            return words("RESET", statement.to_default and "-d", *statement.keys)
        case _:
            return _print_command(statement)


def _print_command(statement: ast.CatalogStatement | ast.TransactionStatement) -> str:
    match statement:
        case (
            ast.CreateDatabase()
            | ast.DropDatabase()
            | ast.UseDatabase()
            | ast.DescribeDatabase()
            | ast.ShowDatabases()
        ):
            return print_database_statement(statement)
        case (
            ast.CreateTable() | ast.CreateTableLike() | ast.DropTable() | ast.CreateView()
            | ast.DropView() | ast.TruncateTable()
            | ast.LoadData() | ast.AnalyzeTable() | ast.RepairTable()
            | ast.AttachTable() | ast.AttachDatabase() | ast.AdoptTable() | ast.DetachTable()
            | ast.DetachDatabase()
        ):  # fmt: skip
            return print_table_statement(statement)
        case (
            ast.ShowTables() | ast.ShowViews() | ast.ShowCreateTable() | ast.ShowPartitions()
            | ast.ShowTableProperties()
            | ast.ShowColumns() | ast.Describe() | ast.DescribeHealth() | ast.DescribeChanges()
        ):  # fmt: skip
            return print_show(statement)
        case (
            ast.StartTransaction() | ast.Commit() | ast.Rollback() | ast.SetAutocommit()
            | ast.ShowTransactions() | ast.ShowTransaction() | ast.AbortTransactions()
            | ast.ShowCompactions() | ast.AbortCompactions() | ast.ShowLocks()
            | ast.LockTable() | ast.UnlockTable() | ast.LockDatabase() | ast.UnlockDatabase()
        ):  # fmt: skip
            return print_transaction_statement(statement)
        case _:
            return print_alteration(statement)


def print_set_variable(statement: ast.SetVariable) -> str:
    """The value begins on a line of its own where its first line holds a ``;`` that
    would end it.
    """
    if statement.key is None:
        return "SET -v" if statement.verbose else "SET"
    if statement.value is None:
        return f"SET {statement.key}"
    line = f"SET {statement.key}={statement.value}"
    return line if assignment_end(line, 0) is None else f"SET {statement.key}=\n{statement.value}"
