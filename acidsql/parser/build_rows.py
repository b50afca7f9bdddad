"""From skeleton to statement: what reads and changes rows (queries, INSERT, UPDATE, DELETE, MERGE),
writes those of a query to files that no table has, and tells of them.
"""

from __future__ import annotations

from acidsql.errors import ParseError
from acidsql.parser import grammar
from acidsql.parser.grammar import Node
from acidsql.parser.statements import (
    Assignment,
    Copy,
    CopyInto,
    CopyOption,
    Delete,
    DescribeQuery,
    Fragment,
    Insert,
    InsertBranch,
    InsertDirectory,
    Match,
    Merge,
    MergeClause,
    MergeDelete,
    MergeInsert,
    MergeUpdate,
    MultiInsert,
    Name,
    Path,
    Property,
    QualifiedName,
    Query,
    RowFormat,
    Summarize,
    Update,
    Values,
)


def query(node: Node, text: str) -> Query:
    return Query(span=node.span, body=grammar.cut(node.span, text))


def insert(node: Node, text: str) -> Insert:
    target = _target(node)
    source = node.node("source")
    assert source is not None
    by_name = _by_name(target, text)
    if by_name is not None and (values := source.node("values")) is not None:
        raise ParseError("BY NAME wants a query, whose columns have names", span=values.span)
    return Insert(
        span=node.span,
        target=grammar.table_name(target),
        columns=grammar.columns(target),
        source=_source(source, text),
        with_clause=grammar.with_clause(node, text),
        overwrite=target.has("OVERWRITE"),
        partition=grammar.partition(target),
        if_not_exists=_if_not_exists(target),
        by_name=by_name,
        returning=_returning(node),
    )


def _returning(node: Node) -> Fragment | None:
    """The list behind RETURNING."""
    clause = node.node("returning")
    return None if clause is None else grammar.fragment(clause, "RETURNED")


def _target(node: Node) -> Node:
    target = node.node("insert_target")
    assert target is not None
    return target


def _if_not_exists(target: Node) -> bool:
    clause = grammar.once(target, "if_not_exists")
    if clause is not None and not target.has("OVERWRITE"):
        raise ParseError("IF NOT EXISTS wants INSERT OVERWRITE", span=clause.span)
    return clause is not None


def _by_name(target: Node, text: str) -> Fragment | None:
    """The words BY NAME, if they are there. ParseError beside a list of columns."""
    clause, columns = grammar.once(target, "by_name"), grammar.once(target, "columns")
    if clause is not None and columns is not None:
        raise ParseError("BY NAME takes no list of columns", span=columns.span)
    return None if clause is None else grammar.cut(clause.span, text)


def _source(node: Node, text: str) -> Values | Fragment:
    values = node.node("values")
    if values is None:
        return grammar.cut(node.span, text)
    return Values(
        span=values.span, rows=tuple(grammar.items(row, text) for row in values.terminals("LIST"))
    )


def multi_insert(node: Node, text: str) -> MultiInsert:
    return MultiInsert(
        span=node.span,
        from_clause=grammar.fragment(node, "FROM_CLAUSE"),
        branches=tuple(_branch(branch, text) for branch in node.nodes("insert_branch")),
        with_clause=grammar.with_clause(node, text),
    )


def _branch(node: Node, text: str) -> InsertBranch:
    target = _target(node)
    return InsertBranch(
        span=node.span,
        target=grammar.table_name(target),
        columns=grammar.columns(target),
        query=grammar.fragment(node, "BRANCH"),
        overwrite=target.has("OVERWRITE"),
        partition=grammar.partition(target),
        if_not_exists=_if_not_exists(target),
        by_name=_by_name(target, text),
    )


def update(node: Node, text: str) -> Update:
    return Update(
        span=node.span,
        target=grammar.table_name(node),
        alias=_alias(node),
        assignments=_assignments(node),
        where=grammar.where(node),
        returning=_returning(node),
    )


def _alias(node: Node) -> Name | None:
    """The other name of a target. ParseError for RETURNING without its list, which would be one."""
    alias = grammar.alias(node)
    if alias is not None and alias.text.upper() == "RETURNING":
        raise ParseError("RETURNING wants a list of expressions", span=alias.span)
    return alias


def _assignments(node: Node) -> tuple[Assignment, ...]:
    return tuple(
        Assignment(column=grammar.first_name(child), value=grammar.fragment(child, "EXPRESSION"))
        for child in node.nodes("assignment")
    )


def delete(node: Node, text: str) -> Delete:
    return Delete(
        span=node.span,
        target=grammar.table_name(node),
        alias=_alias(node),
        where=grammar.where(node),
        returning=_returning(node),
    )


def merge(node: Node, text: str) -> Merge:
    source = node.node("merge_source")
    assert source is not None
    return Merge(
        span=node.span,
        target=grammar.table_name(node),
        alias=grammar.alias(node),
        source=_merge_source(source),
        source_alias=grammar.alias(source),
        source_columns=grammar.columns(source),
        on=grammar.fragment(node, "EXPRESSION"),
        clauses=tuple(_merge_clause(clause, text) for clause in node.nodes("merge_clause")),
        returning=_returning(node),
    )


def _merge_source(node: Node) -> QualifiedName | Fragment | Path:
    if (written := node.terminal("STRING")) is not None:
        return Path(text=str(written), span=written.span)
    return grammar.optional_fragment(node, "SUBQUERY") or grammar.table_name(node)


_MATCHES = {
    "matched": Match.MATCHED,
    "not_matched": Match.NOT_MATCHED,
    "not_matched_by_source": Match.NOT_MATCHED_BY_SOURCE,
}


def _merge_clause(node: Node, text: str) -> MergeClause:
    kind, action = node.nodes()
    match = _MATCHES[kind.rule]
    if (match is Match.NOT_MATCHED) != (action.rule == "merge_insert"):
        wanted = "INSERT" if match is Match.NOT_MATCHED else "UPDATE or DELETE"
        raise ParseError(f"WHEN {match} wants {wanted}", span=action.span)
    return MergeClause(
        span=node.span,
        match=match,
        condition=grammar.optional_fragment(node, "EXPRESSION"),
        action=_merge_action(action, text),
    )


def _merge_action(node: Node, text: str) -> MergeUpdate | MergeDelete | MergeInsert:
    match node.rule:
        case "merge_update":
            return MergeUpdate(
                span=node.span, assignments=None if node.has("STAR") else _assignments(node)
            )
        case "merge_delete":
            return MergeDelete(span=node.span)
        case _:
            return _merge_insert(node, text)


def _merge_insert(node: Node, text: str) -> MergeInsert:
    columns: tuple[Name, ...] | None = grammar.columns(node)
    values = node.terminal("LIST")
    return MergeInsert(
        span=node.span, columns=columns, values=grammar.items(values, text) if values else None
    )


# ---- rows of a query in files, and what is told of them


def copy(node: Node, text: str) -> Copy:
    return Copy(
        span=node.span,
        source=grammar.optional_fragment(node, "SUBQUERY") or grammar.table_name(node),
        path=path(node),
        options=_options(node, text),
    )


def copy_into(node: Node, text: str) -> CopyInto:
    once, rejects = grammar.once(node, "once"), grammar.once(node, "rejects")
    return CopyInto(
        span=node.span,
        target=grammar.table_name(node),
        columns=grammar.columns(node),
        path=path(node),
        partition=grammar.partition(node),
        options=_options(node, text),
        by_name=_by_name(node, text),
        once=None if once is None else grammar.cut(once.span, text),
        rejects=None if rejects is None else grammar.table_name(rejects),
    )


def _options(node: Node, text: str) -> tuple[CopyOption, ...]:
    options = tuple(_option(option, text) for option in node.nodes("copy_option", "file_option"))
    seen: set[str] = set()
    for option in options:
        if (word := option.name.text.upper()) in seen:
            raise ParseError(f"{word} stands here twice", span=option.span)
        seen.add(word)
    return options


def _option(node: Node, text: str) -> CopyOption:
    listed = node.terminal("LIST")
    value = grammar.optional_fragment(node, "VALUE")
    values = () if value is None else (value,)
    return CopyOption(
        span=node.span,
        name=grammar.optional_name(node) or grammar.word(node, "NULL"),
        values=values if listed is None else grammar.items(listed, text),
        listed=listed is not None,
    )


def insert_directory(node: Node, text: str) -> InsertDirectory:
    query, stored = grammar.query(node, text), grammar.once(node, "directory_format")
    assert query is not None
    return InsertDirectory(
        span=node.span,
        path=path(node),
        query=query,
        with_clause=grammar.with_clause(node, text),
        local=node.has("LOCAL"),
        row_format=row_format(node),
        stored_as=None if stored is None else grammar.first_name(stored),
    )


def describe_query(node: Node, text: str) -> DescribeQuery:
    return DescribeQuery(span=node.span, query=grammar.query(node, text) or path(node))


def summarize(node: Node, text: str) -> Summarize:
    source: QualifiedName | Fragment | Path | None = grammar.query(node, text)
    if source is None:
        source = grammar.table_name(node) if node.has("table_name") else path(node)
    return Summarize(span=node.span, source=source)


# ---- files


def path(node: Node) -> Path:
    written = grammar.terminal(node, "STRING")
    return Path(text=str(written), span=written.span)


def row_format(node: Node) -> RowFormat | None:
    clause = grammar.once(node, "row_format", "delimited")
    if clause is None:
        return None
    return RowFormat(
        span=clause.span,
        serde=grammar.string(clause) if clause.rule == "row_format" else None,
        properties=grammar.properties(clause),
        delimiters=tuple(_delimiter(delimiter) for delimiter in clause.nodes("delimiter")),
    )


def _delimiter(node: Node) -> Property:
    word, value = node.children
    return Property(key=str(word).upper(), value=str(value), span=node.span)


BUILDERS = (
    query,
    insert,
    multi_insert,
    update,
    delete,
    merge,
    copy,
    copy_into,
    insert_directory,
    describe_query,
    summarize,
)
