"""Skeletons to statements: one function for each rule of the grammar that is a statement, named after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acidsql.errors import ParseError, Span
from acidsql.parser import statements as st
from acidsql.parser.grammar import Node, Terminal


def build(node: Node, text: str) -> st.Statement:
    """The statement of a skeleton read from ``text``."""
    return _BUILDERS[node.rule](node, text)


# ---- pieces ------------------------------------------------------------------------------------------------------------------------


def _name(terminal: Terminal) -> st.Name:
    if not terminal:
        raise ParseError("a name cannot be empty", span=terminal.span)
    return st.Name(text=str(terminal), span=terminal.span)


def _only_name(node: Node) -> st.Name:
    terminal = node.terminal("NAME")
    assert terminal is not None
    return _name(terminal)


def _names(node: Node) -> tuple[st.Name, ...]:
    return tuple(_name(terminal) for terminal in node.terminals("NAME"))


def _table_name(node: Node) -> st.QualifiedName:
    found = node.node("table_name")
    assert found is not None
    return st.QualifiedName(parts=_names(found), span=found.span)


def _alias(node: Node) -> st.Name | None:
    found = node.node("alias")
    return _only_name(found) if found else None


def _fragment(terminal: Terminal | None) -> st.Fragment:
    assert terminal is not None
    return st.Fragment(text=str(terminal), span=terminal.span)


def _slice(span: Span, text: str) -> st.Fragment:
    return st.Fragment(text=span.cut(text), span=span)


def _where(node: Node) -> st.Fragment | None:
    found = node.node("where")
    return _fragment(found.terminal("EXPRESSION")) if found else None


def _string(node: Node | None) -> str | None:
    """The one string of a clause such as COMMENT 'x'."""
    if node is None:
        return None
    terminal = node.terminal("STRING")
    assert terminal is not None
    return str(terminal)


def _once(node: Node, *rules: str) -> Node | None:
    """A clause that may stand anywhere in its statement, but only once."""
    found = list(node.nodes(*rules))
    if len(found) > 1:
        raise ParseError(f"clause {rules[0].replace('_', ' ').upper()} is given twice", span=found[1].span)
    return found[0] if found else None


def _properties(node: Node | None) -> tuple[st.Property, ...]:
    if node is None:
        return ()
    found = []
    for pair in node.nodes("property"):
        key, value = pair.terminals("STRING")
        found.append(st.Property(key=str(key), value=str(value), span=pair.span))
    return tuple(found)


# ---- queries and changes of rows ---------------------------------------------------------------------------------------------------


def query(node: Node, text: str) -> st.Query:
    return st.Query(span=node.span, body=_slice(node.span, text))


def insert(node: Node, text: str) -> st.Insert:
    with_clause = node.node("with_clause")
    columns = node.node("columns")
    source = node.node("source")
    assert source is not None
    return st.Insert(
        span=node.span,
        target=_table_name(node),
        columns=_names(columns) if columns else None,
        source=_source(source, text),
        with_clause=_slice(with_clause.span, text) if with_clause else None,
    )


def _source(node: Node, text: str) -> st.Values | st.Fragment:
    values = node.node("values")
    if values is None:
        return _slice(node.span, text)
    return st.Values(span=values.span, rows=tuple(_row(row, text) for row in values.terminals("LIST")))


def _row(terminal: Terminal, text: str) -> tuple[st.Fragment, ...]:
    return tuple(_slice(part, text) for part in terminal.parts)


def update(node: Node, text: str) -> st.Update:
    return st.Update(
        span=node.span,
        target=_table_name(node),
        alias=_alias(node),
        assignments=tuple(_assignment(found) for found in node.nodes("assignment")),
        where=_where(node),
    )


def _assignment(node: Node) -> st.Assignment:
    return st.Assignment(column=_only_name(node), value=_fragment(node.terminal("EXPRESSION")))


def delete(node: Node, text: str) -> st.Delete:
    return st.Delete(span=node.span, target=_table_name(node), alias=_alias(node), where=_where(node))


def explain(node: Node, text: str) -> st.Explain:
    mode = node.node("explain_mode")
    statement = next(found for found in node.nodes() if found.rule != "explain_mode")
    return st.Explain(span=node.span, statement=build(statement, text), mode=mode.span.cut(text).upper() if mode else None)


# ---- databases ---------------------------------------------------------------------------------------------------------------------


def create_database(node: Node, text: str) -> st.CreateDatabase:
    return st.CreateDatabase(
        span=node.span,
        name=_only_name(node),
        if_not_exists=node.has("if_not_exists"),
        comment=_string(_once(node, "comment")),
        location=_string(_once(node, "location")),
        properties=_properties(_once(node, "database_properties")),
    )


def drop_database(node: Node, text: str) -> st.DropDatabase:
    return st.DropDatabase(span=node.span, name=_only_name(node), if_exists=node.has("if_exists"), cascade=node.has("CASCADE"))


def use_database(node: Node, text: str) -> st.UseDatabase:
    return st.UseDatabase(span=node.span, name=_only_name(node))


def show_databases(node: Node, text: str) -> st.ShowDatabases:
    return st.ShowDatabases(span=node.span, pattern=_string(node.node("pattern")))


# ---- tables ------------------------------------------------------------------------------------------------------------------------


def create_table(node: Node, text: str) -> st.CreateTable:
    stored_as = _once(node, "stored_as")
    clustered_by = _once(node, "clustered_by")
    return st.CreateTable(
        span=node.span,
        name=_table_name(node),
        columns=tuple(_column_definition(found) for found in node.nodes("column_definition")),
        if_not_exists=node.has("if_not_exists"),
        transactional_word=node.has("TRANSACTIONAL"),
        external=node.has("EXTERNAL"),
        comment=_string(_once(node, "comment")),
        clustered_by=_clustered_by(clustered_by) if clustered_by else None,
        stored_as=_only_name(stored_as) if stored_as else None,
        location=_string(_once(node, "location")),
        properties=_properties(_once(node, "table_properties")),
        serde=_string(_once(node, "row_format")),
    )


def _column_definition(node: Node) -> st.ColumnDefinition:
    type_terminal = node.terminal("TYPE")
    assert type_terminal is not None
    return st.ColumnDefinition(
        name=_only_name(node), type_text=str(type_terminal), type_span=type_terminal.span, comment=_string(node.node("comment"))
    )


def _clustered_by(node: Node) -> st.ClusteredBy:
    columns = node.node("columns")
    assert columns is not None
    return st.ClusteredBy(columns=_names(columns), buckets=_integer(node.terminal("NUMBER")), span=node.span)


def _integer(terminal: Terminal | None) -> int:
    assert terminal is not None
    if not terminal.isascii() or not terminal.isdigit():
        raise ParseError(f'expected a whole number instead of "{terminal}"', span=terminal.span)
    return int(terminal)


def drop_table(node: Node, text: str) -> st.DropTable:
    return st.DropTable(span=node.span, name=_table_name(node), if_exists=node.has("if_exists"), purge=node.has("PURGE"))


def show_tables(node: Node, text: str) -> st.ShowTables:
    return st.ShowTables(span=node.span, database=next(iter(_names(node)), None), pattern=_string(node.node("pattern")))


def describe(node: Node, text: str) -> st.Describe:
    return st.Describe(
        span=node.span,
        name=_table_name(node),
        formatted=node.has("FORMATTED"),
        extended=node.has("EXTENDED"),
        column=next(iter(_names(node)), None),
    )


def show_create_table(node: Node, text: str) -> st.ShowCreateTable:
    return st.ShowCreateTable(span=node.span, name=_table_name(node))


def show_transactions(node: Node, text: str) -> st.ShowTransactions:
    return st.ShowTransactions(span=node.span)


_BUILDERS: Mapping[str, Callable[[Node, str], st.Statement]] = {
    builder.__name__: builder
    for builder in (
        query, insert, update, delete, explain,
        create_database, drop_database, use_database, show_databases,
        create_table, drop_table, show_tables, describe, show_create_table,
        show_transactions,
    )
}  # fmt: skip
