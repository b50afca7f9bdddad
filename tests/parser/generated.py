"""Statements made up from their dataclasses: whatever the grammar can say, with names and strings
of every kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from acidsql.errors import Span
from acidsql.parser import statements as ast

Strategy = st.SearchStrategy[Any]

NOWHERE = Span(0, 0)
ODD_TEXTS = (
    "",
    "it's",
    'a "b"',
    "`",
    "a;b",
    "-- c",
    "/* c */",
    "\\",
    "\\n",
    "line\nline",
    "\r\n\t",
    "${x}",
    "\x00",
    "é😀",
    "%_",
    "r'",
)
ODD_NAMES = (
    "select",
    "Compact",
    "extended",
    "map",
    "a b",
    "1st",
    "ROW__ID",
    "a`b",
    "$",
    "имя",
    "a\nb",
    "'",
    ";",
    "--",
    "_",
    "date",
)
EXPRESSIONS = (
    "1", "-1.5e3", "NULL", "DEFAULT", "'it\\'s'", "a.b", "`a b` + 1", "f(x, (1, 2))", "CASE WHEN a THEN b ELSE c END", "a IN (SELECT 1 FROM s)",
    "m['k']", "x -> x + 1", "a <=> b", "v::map<string,int>", "a IS DISTINCT FROM b", "a -- c; '\n + 1", "a /* ; */ AND NOT b", "1.", ".5",
    "r'\\'", "é || '😀'", "DATE '2024-01-01'",
)  # fmt: skip
SIMPLE_VALUES = (
    "1",
    "-1",
    "-.5",
    "1.5BD",
    "'x;y'",
    "NULL",
    "DATE '2024-01-01'",
    "INTERVAL '1' DAY",
    "current_date()",
    "a.`b c`",
    "f(a, 'b')",
)
QUERIES = (
    "SELECT 1", "select * from t -- c\nwhere a", "(SELECT 1) UNION ALL (SELECT 2)", "WITH q AS (SELECT 1) SELECT * FROM q", "FROM t SELECT a",
    "VALUES (1, 'a'), (2, 'b')", "SELECT /*+ h */ insert(a, 1), ';' FROM `a b`",
)  # fmt: skip
SELECTS = (
    "SELECT a",
    "SELECT a, (SELECT 1 FROM u) WHERE b > 1 GROUP BY a",
    "select insert(a) -- c\n, b",
)
TYPES = (
    "int",
    "decimal(10, 2)",
    "array<struct<a:int,`b c`:map<string,date>>>",
    "double precision",
    "timestamp with local time zone",
    "char(3)",
)
TRAITS = (
    "ENABLE",
    "DISABLE",
    "VALIDATE",
    "NOVALIDATE",
    "RELY",
    "NORELY",
    "ENFORCED",
    "NOT ENFORCED",
)
DELIMITERS = ("FIELDS", "COLLECTION", "MAP", "LINES", "ESCAPED", "NULL")


def build(cls: type, /, **fields: Strategy) -> Strategy:
    """A dataclass whose span is nowhere."""
    return st.builds(cls, span=st.just(NOWHERE), **fields)


def maybe(strategy: Strategy) -> Strategy:
    return st.none() | strategy


def some(strategy: Strategy, least: int = 0, most: int = 3) -> Strategy:
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


def fragment(texts: Sequence[str]) -> Strategy:
    return build(ast.Fragment, text=st.sampled_from(texts))


TEXTS = st.sampled_from(ODD_TEXTS) | st.text(max_size=6)
FLAGS = st.booleans()
COUNTS = st.integers(0, 2**63 - 1)
IDS = some(COUNTS, 1)
NAMES = build(
    ast.Name,
    text=st.sampled_from(("a", "t", "id"))
    | st.sampled_from(ODD_NAMES)
    | st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
    ),
)
TABLES = build(ast.QualifiedName, parts=some(NAMES, 1, 2))
EXPRESSION = fragment(EXPRESSIONS)
VALUE = fragment(SIMPLE_VALUES)
QUERY = fragment(QUERIES)
PROPERTY = build(ast.Property, key=TEXTS, value=TEXTS)
SORT_KEYS = some(build(ast.SortKey, key=VALUE, descending=FLAGS, nulls_last=maybe(FLAGS)))


def partition_item(operators: Sequence[str]) -> Strategy:
    return st.builds(
        ast.PartitionItem, name=NAMES, operator=st.sampled_from(operators), value=VALUE
    )


STATIC = build(ast.PartitionSpec, items=some(partition_item("="), 1))
PARTITION = build(
    ast.PartitionSpec, items=some(partition_item("=") | st.builds(ast.PartitionItem, name=NAMES), 1)
)
COMPARED = build(
    ast.PartitionSpec, items=some(partition_item(("=", "<", ">", "<=", ">=", "<>", "!=")), 1)
)

# ---- definitions of columns and tables -----------------------------------------------------------


def rule(kind: ast.ConstraintKind, **fields: Strategy) -> Strategy:
    return build(
        ast.Constraint,
        kind=st.just(kind),
        name=maybe(NAMES),
        traits=some(st.sampled_from(TRAITS)),
        **fields,
    )


CHECK = rule(ast.ConstraintKind.CHECK, expression=fragment(["(a > 0)", "(f(a, 1) AND b)"]))
REFERENCES = {"references": TABLES, "referenced_columns": some(NAMES, 1)}
COLUMN_RULES = st.one_of(
    rule(ast.ConstraintKind.NOT_NULL), rule(ast.ConstraintKind.PRIMARY_KEY), rule(ast.ConstraintKind.UNIQUE), CHECK,
    rule(ast.ConstraintKind.DEFAULT, expression=VALUE), rule(ast.ConstraintKind.FOREIGN_KEY, **REFERENCES),
)  # fmt: skip
TABLE_RULES = st.one_of(
    rule(ast.ConstraintKind.PRIMARY_KEY, columns=some(NAMES, 1)), rule(ast.ConstraintKind.UNIQUE, columns=some(NAMES, 1)), CHECK,
    rule(ast.ConstraintKind.FOREIGN_KEY, columns=some(NAMES, 1), **REFERENCES),
)  # fmt: skip
COLUMN = st.builds(
    ast.ColumnDefinition,
    name=NAMES,
    type_text=st.sampled_from(TYPES),
    type_span=st.just(NOWHERE),
    comment=maybe(TEXTS),
    constraints=st.lists(COLUMN_RULES, max_size=3, unique_by=lambda found: found.kind).map(tuple),
)
PLAIN_COLUMN = st.builds(
    ast.ColumnDefinition,
    name=NAMES,
    type_text=st.sampled_from(TYPES),
    type_span=st.just(NOWHERE),
    comment=maybe(TEXTS),
)
COLUMNS = some(COLUMN, 1)
PATH = build(ast.Path, text=TEXTS)
ASSUMPTION = build(ast.Assumption) | build(ast.Assumption, write_ids=some(COUNTS), excepted=FLAGS)
ROW_FORMAT = st.one_of(
    build(ast.RowFormat, serde=TEXTS, properties=some(PROPERTY)),
    build(
        ast.RowFormat,
        delimiters=some(build(ast.Property, key=st.sampled_from(DELIMITERS), value=TEXTS)),
    ),
)
STORED = st.one_of(
    st.fixed_dictionaries({}),
    st.fixed_dictionaries({"stored_as": NAMES}),
    st.fixed_dictionaries(
        {"storage_classes": build(ast.StorageClasses, handler=TEXTS, properties=some(PROPERTY))}
    ),
    st.fixed_dictionaries(
        {"storage_classes": build(ast.StorageClasses, input_format=TEXTS, output_format=TEXTS)}
    ),
)
PARTITIONED = st.one_of(
    st.fixed_dictionaries({}),
    st.fixed_dictionaries({"partitioned_by": COLUMNS}),
    st.fixed_dictionaries({"partitioned_by_names": some(NAMES, 1)}),
)
CLUSTERED_BY = build(ast.ClusteredBy, columns=some(NAMES, 1), buckets=COUNTS, sorted_by=SORT_KEYS)
TABLE_FIELDS = {
    "name": TABLES, "if_not_exists": FLAGS, "or_replace": FLAGS, "transactional_word": FLAGS, "external": FLAGS, "temporary": FLAGS, "managed": FLAGS,
    "row_format": maybe(ROW_FORMAT), "location": maybe(TEXTS), "properties": some(PROPERTY),
}  # fmt: skip
CREATE_TABLE_FIELDS = {
    "columns": some(COLUMN), "constraints": some(TABLE_RULES), "comment": maybe(TEXTS), "query": maybe(QUERY),
    "clustered_by": maybe(CLUSTERED_BY),
    "skewed_by": maybe(build(ast.SkewedBy, columns=some(NAMES, 1), values=some(EXPRESSION, 1), directories=FLAGS)),
}  # fmt: skip


@st.composite
def create_table(draw: st.DrawFn) -> ast.CreateTable:
    fields = draw(st.fixed_dictionaries({**TABLE_FIELDS, **CREATE_TABLE_FIELDS}))
    return ast.CreateTable(span=NOWHERE, **fields, **draw(PARTITIONED), **draw(STORED))


@st.composite
def create_table_like(draw: st.DrawFn) -> ast.CreateTableLike:
    return ast.CreateTableLike(
        span=NOWHERE, like=draw(TABLES), **draw(st.fixed_dictionaries(TABLE_FIELDS)), **draw(STORED)
    )


VIEW_COLUMN = st.builds(ast.ViewColumn, name=NAMES, comment=maybe(TEXTS))
IN_DATABASE = {"database": maybe(NAMES), "pattern": maybe(TEXTS)}
CATALOG = st.one_of(
    build(ast.CreateDatabase, name=NAMES, if_not_exists=FLAGS, comment=maybe(TEXTS), location=maybe(TEXTS), properties=some(PROPERTY)),
    build(ast.DropDatabase, name=NAMES, if_exists=FLAGS, cascade=FLAGS), build(ast.UseDatabase, name=NAMES),
    build(ast.DescribeDatabase, name=NAMES, extended=FLAGS), build(ast.ShowDatabases, pattern=maybe(TEXTS)),
    create_table(), create_table_like(), build(ast.DropTable, name=TABLES, if_exists=FLAGS, purge=FLAGS),
    build(
        ast.CreateView, name=TABLES, query=QUERY, columns=some(VIEW_COLUMN), if_not_exists=FLAGS, or_replace=FLAGS,
        comment=maybe(TEXTS), properties=some(PROPERTY),
    ),
    build(ast.DropView, name=TABLES, if_exists=FLAGS), build(ast.TruncateTable, name=TABLES, partition=maybe(PARTITION)),
    build(ast.ShowTables, **IN_DATABASE), build(ast.ShowViews, **IN_DATABASE), build(ast.ShowCreateTable, name=TABLES),
    build(
        ast.ShowPartitions, name=TABLES, partition=maybe(PARTITION), where=maybe(EXPRESSION), order_by=SORT_KEYS, limit=maybe(COUNTS)
    ),
    build(ast.ShowTableProperties, name=TABLES, key=maybe(TEXTS)), build(ast.ShowColumns, name=TABLES, **IN_DATABASE),
    build(ast.Describe, name=TABLES, partition=maybe(PARTITION), column=maybe(NAMES)),
    build(ast.Describe, name=TABLES, formatted=st.just(True)), build(ast.Describe, name=TABLES, extended=st.just(True)),
    build(ast.DescribeChanges, name=TABLES),
    build(ast.LoadData, path=TEXTS, target=TABLES, local=FLAGS, overwrite=FLAGS, partition=maybe(PARTITION)),
    build(ast.AnalyzeTable, name=TABLES, partition=maybe(PARTITION), columns=maybe(some(NAMES))),
    build(ast.AnalyzeTable, name=TABLES, noscan=FLAGS),
    build(ast.RepairTable, name=TABLES, mode=maybe(st.sampled_from(("ADD", "DROP", "SYNC"))), only_check=FLAGS),
    build(
        ast.AttachTable, name=TABLES, location=PATH, if_not_exists=FLAGS, columns=some(PLAIN_COLUMN), partitioned_by=some(PLAIN_COLUMN),
        using=maybe(PATH), assumption=maybe(ASSUMPTION),
    ),
    build(ast.AttachTable, name=TABLES, location=PATH, read_only=st.just(True)), build(ast.AttachTable, name=TABLES, location=PATH, overlay=st.just(True)),
    build(ast.AttachTable, name=TABLES, location=st.none(), read_only=FLAGS, using=PATH),
    build(
        ast.AttachDatabase, name=NAMES, location=maybe(PATH), if_not_exists=FLAGS, using=PATH, assumption=maybe(ASSUMPTION), read_only=FLAGS,
    ),
    build(ast.AttachDatabase, name=NAMES, location=PATH, overlay=FLAGS, using=maybe(PATH)), build(ast.DetachDatabase, name=NAMES, if_exists=FLAGS),
    build(
        ast.AdoptTable, name=TABLES, clustered_by=maybe(CLUSTERED_BY), not_clustered=FLAGS, properties=some(PROPERTY),
    ),
    build(ast.DetachTable, name=TABLES, if_exists=FLAGS),
)  # fmt: skip
ADDED = st.builds(ast.AddedPartition, partition=PARTITION, location=maybe(TEXTS))
ALTERATIONS = st.one_of(
    build(ast.SetTableProperties, name=TABLES, properties=some(PROPERTY, 1)),
    build(ast.UnsetTableProperties, name=TABLES, keys=some(TEXTS, 1), if_exists=FLAGS),
    build(ast.AddPartitions, name=TABLES, partitions=some(ADDED, 1), if_not_exists=FLAGS),
    build(ast.DropPartitions, name=TABLES, partitions=some(COMPARED, 1), if_exists=FLAGS, purge=FLAGS),
    build(ast.RenamePartition, name=TABLES, partition=STATIC, new_partition=STATIC),
    build(ast.AddColumns, name=TABLES, columns=COLUMNS, cascade=FLAGS), build(ast.ReplaceColumns, name=TABLES, columns=COLUMNS, cascade=FLAGS),
    build(ast.DropColumn, name=TABLES, column=NAMES, cascade=FLAGS),
    build(ast.ChangeColumn, name=TABLES, column=NAMES, definition=COLUMN, first=FLAGS, after=maybe(NAMES), cascade=FLAGS),
    build(ast.AddConstraint, name=TABLES, constraint=TABLE_RULES), build(ast.DropConstraint, name=TABLES, constraint=NAMES),
    build(ast.RenameTable, name=TABLES, new_name=TABLES), build(ast.SetLocation, name=TABLES, location=TEXTS, partition=maybe(PARTITION)),
    build(ast.Concatenate, name=TABLES, partition=maybe(PARTITION)),
    build(
        ast.Compact, name=TABLES, type=TEXTS, type_span=st.just(NOWHERE), partition=maybe(PARTITION), wait=FLAGS, buckets=maybe(COUNTS),
        order_by=SORT_KEYS, pool=maybe(TEXTS), properties=some(PROPERTY),
    ),
)  # fmt: skip

# ---- transactions, compactions, locks ------------------------------------------------------------

MODES = some(st.sampled_from(("READ ONLY", "READ WRITE", "ISOLATION LEVEL SNAPSHOT")))
COMPACTION_CLAUSES = {
    "pool": maybe(TEXTS), "type": maybe(TEXTS), "status": maybe(TEXTS), "order_by": SORT_KEYS, "limit": maybe(COUNTS),
}  # fmt: skip
TRANSACTIONS = st.one_of(
    build(ast.StartTransaction, modes=MODES), build(ast.Commit), build(ast.Rollback),
    build(ast.ShowTransactions), build(ast.ShowTransaction, txn_id=COUNTS), build(ast.AbortTransactions, ids=IDS), build(ast.AbortCompactions, ids=IDS),
    build(ast.ShowCompactions, compaction_id=COUNTS), build(ast.ShowCompactions, database=maybe(NAMES), **COMPACTION_CLAUSES),
    build(ast.ShowCompactions, name=TABLES, partition=maybe(PARTITION), **COMPACTION_CLAUSES),
    build(ast.ShowLocks, database=maybe(NAMES), extended=FLAGS),
    build(ast.ShowLocks, name=TABLES, partition=maybe(PARTITION), extended=FLAGS),
    build(ast.LockTable, name=TABLES, exclusive=FLAGS, partition=maybe(PARTITION)),
    build(ast.UnlockTable, name=TABLES, partition=maybe(PARTITION)),
    build(ast.LockDatabase, name=NAMES, exclusive=FLAGS), build(ast.UnlockDatabase, name=NAMES),
)  # fmt: skip

# ---- queries and changes of rows -----------------------------------------------------------------

WITH = maybe(
    fragment(["WITH q AS (SELECT 1)", "WITH q (a) AS (SELECT 1), `r s` AS (SELECT 2 FROM q)"])
)
OVERWRITE = st.sampled_from(({}, {"overwrite": True}, {"overwrite": True, "if_not_exists": True}))
RETURNED = maybe(fragment(["*", "id, `a b` AS x", "(a), upper(b), t.ROW__ID.rowid"]))
ROWS = build(ast.Values, rows=some(some(EXPRESSION, 1), 1))
ASSIGNMENTS = some(st.builds(ast.Assignment, column=NAMES, value=EXPRESSION), 1)
INTO = {"target": TABLES, "columns": maybe(some(NAMES, 1)), "partition": maybe(PARTITION)}


@st.composite
def insert(draw: st.DrawFn) -> ast.Insert:
    fields = draw(
        st.fixed_dictionaries(
            {
                **INTO,
                "source": ROWS | QUERY.filter(lambda found: not found.text.startswith("VALUES")),
            }
        )
    )
    return ast.Insert(
        span=NOWHERE, with_clause=draw(WITH), returning=draw(RETURNED), **fields, **draw(OVERWRITE)
    )


@st.composite
def branch(draw: st.DrawFn) -> ast.InsertBranch:
    return ast.InsertBranch(
        span=NOWHERE,
        query=draw(fragment(SELECTS)),
        **draw(st.fixed_dictionaries(INTO)),
        **draw(OVERWRITE),
    )


UPDATE_OR_DELETE = build(ast.MergeUpdate, assignments=maybe(ASSIGNMENTS)) | build(ast.MergeDelete)
MERGE_INSERT = st.one_of(
    build(ast.MergeInsert, columns=st.none(), values=st.none()),
    build(ast.MergeInsert, columns=maybe(some(NAMES, 1)), values=some(EXPRESSION, 1)),
)


def arm(match: ast.Match, action: Strategy) -> Strategy:
    return build(ast.MergeClause, match=st.just(match), condition=maybe(EXPRESSION), action=action)


ARMS = st.one_of(
    arm(ast.Match.MATCHED, UPDATE_OR_DELETE),
    arm(ast.Match.NOT_MATCHED_BY_SOURCE, UPDATE_OR_DELETE),
    arm(ast.Match.NOT_MATCHED, MERGE_INSERT),
)
SUB_QUERIES = fragment(["(SELECT 1)", "(select * from s -- c\n)", "(VALUES (1, 'a'))"])
MERGE = {
    "target": TABLES, "alias": maybe(NAMES), "on": EXPRESSION, "clauses": some(ARMS, 1),
    "returning": RETURNED,
}  # fmt: skip
COPY_OPTION = build(ast.CopyOption, name=NAMES, values=some(VALUE, 0, 1)) | build(
    ast.CopyOption, name=NAMES, values=some(EXPRESSION, 1), listed=st.just(True)
)
COPY_OPTIONS = st.lists(
    COPY_OPTION, max_size=3, unique_by=lambda option: option.name.text.upper()
).map(tuple)


DELIMITED = build(
    ast.RowFormat,
    delimiters=some(build(ast.Property, key=st.sampled_from(DELIMITERS), value=TEXTS)),
)
ROW_STATEMENTS = st.one_of(
    build(ast.Query, body=QUERY), insert(),
    build(ast.MultiInsert, from_clause=fragment(["FROM s", "FROM (SELECT 1) `x y`"]), branches=some(branch(), 1), with_clause=WITH),
    build(ast.Update, target=TABLES, alias=maybe(NAMES), assignments=ASSIGNMENTS, where=maybe(EXPRESSION), returning=RETURNED),
    build(ast.Delete, target=TABLES, alias=maybe(NAMES), where=maybe(EXPRESSION), returning=RETURNED),
    build(ast.Merge, **MERGE, source=TABLES | SUB_QUERIES | PATH, source_alias=maybe(NAMES), source_columns=st.none()),
    build(ast.Merge, **MERGE, source=SUB_QUERIES, source_alias=NAMES, source_columns=some(NAMES, 1)),
    build(ast.DescribeQuery, query=QUERY | PATH), build(ast.Summarize, source=TABLES | QUERY | PATH),
    build(ast.Copy, source=TABLES | SUB_QUERIES, path=PATH, options=COPY_OPTIONS),
    build(ast.CopyInto, **INTO, path=PATH, options=COPY_OPTIONS, once=maybe(fragment(["ONCE"])), rejects=maybe(TABLES)),
    build(
        ast.InsertDirectory, path=PATH, query=QUERY, with_clause=WITH, local=FLAGS, row_format=maybe(DELIMITED), stored_as=maybe(NAMES),
    ),
)  # fmt: skip

KEYS = st.sampled_from(("hive.x.y", "hivevar:a", "env:HOME", "x--y", "é"))
SETTINGS = st.one_of(
    build(ast.SetVariable, key=st.none(), value=st.none(), verbose=FLAGS),
    build(ast.SetVariable, key=KEYS, value=st.none()),
    build(
        ast.SetVariable,
        key=KEYS,
        value=st.sampled_from(
            ("", "x", "'a;b'", "a = b", "it's", '--opt "x', "a\nb", "${x}", "/* x")
        ),
    ),
    build(ast.ResetVariable, keys=some(KEYS), to_default=FLAGS),
    build(ast.SetAutocommit, on=FLAGS),
)
EXPLAINABLE = st.one_of(ROW_STATEMENTS, CATALOG, ALTERATIONS, TRANSACTIONS)
EXPLAIN_MODES = (
    "EXTENDED",
    "FORMATTED",
    "LOCKS",
    "DEPENDENCY",
    "AUTHORIZATION",
    "ANALYZE",
    "CBO",
    "AST",
    "LOGICAL",
)
STATEMENTS = st.one_of(
    EXPLAINABLE,
    SETTINGS,
    build(ast.Explain, statement=EXPLAINABLE, mode=maybe(st.sampled_from(EXPLAIN_MODES))),
)


@st.composite
def made_up_statements(draw: st.DrawFn) -> ast.Statement:
    """Any statement there is."""
    found: ast.Statement = draw(STATEMENTS)
    return found
