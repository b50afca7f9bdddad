"""The text Spark gets differs from the user's only where it must, and every place leads back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import Span
from acidsql.expressions.spark_words import Edit, QueryText, Slice, Slot, edited
from acidsql.planner.bind.bound import BoundQuery, BoundUpdate
from tests.planner.conftest import Bind


@given(st.text(max_size=60), st.data())
def test_a_text_without_edits_is_the_users_own(source: str, data: st.DataObject) -> None:
    """A slice without edits renders to exactly itself."""
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    span = Span(start, end)
    assert QueryText(source, edited(span, ())).render([]) == source[start:end]


@given(st.lists(st.text(alphabet="abc ", min_size=1, max_size=8), min_size=1, max_size=6))
def test_places_lead_back(words: list[str]) -> None:
    """Every character of the rendered text that is the user's leads back to its own place; ours
    lead nowhere.
    """
    source = "".join(words)
    text = QueryText(source, ("SELECT ", Slice(Span(0, len(source))), " FROM ", Slot(0)))
    rendered = text.render(["view"])
    for offset, character in enumerate(rendered):
        place = text.source_span(offset, ["view"])
        if place is not None:
            assert source[place.start] == character
    assert text.source_span(0, ["view"]) is None
    assert text.source_span(len(rendered) - 1, ["view"]) is None


def test_edits_replace_and_insert() -> None:
    """An edit with a span replaces it, one without inserts; the rest stays."""
    source = "a from t where x"
    edits = [Edit(Span(7, 8), (Slot(0), " AS `t`")), Edit(Span(1, 1), ("!",))]
    assert (
        QueryText(source, edited(Span(0, len(source)), edits)).render(["v1"])
        == "a! from v1 AS `t` where x"
    )


def test_only_names_are_replaced(bound: Bind) -> None:
    """Casts, lambdas, comments, case and blanks of a query reach Spark as the user wrote them."""
    sql = "select /* t */ cast(ID as BIGINT),  transform(array(1), t -> t+1), 1.0BD, named_struct('a',1) -- t\nfrom  t\nwhere NAME='t'"
    query = bound(sql)
    assert isinstance(query, BoundQuery)
    assert query.text.render(["VIEW"]) == sql.replace("from  t", "from  VIEW AS `t`")


def test_an_error_in_an_update_points_into_the_users_text(bound: Bind) -> None:
    """Spark's place inside the text we made of an UPDATE leads to the user's word."""
    sql = "UPDATE t SET name = concat(name, 'x') WHERE id > 3"
    update = bound(sql)
    assert isinstance(update, BoundUpdate)
    rendered = update.query.text.render(["VIEW"])
    place = update.query.text.source_span(rendered.index("concat"), ["VIEW"])
    assert place is not None
    assert place.cut(sql) == "concat"


def test_an_error_in_words_of_ours_points_at_the_users_words_in_them(bound: Bind) -> None:
    """A cast that a store adds has the place of the value; a part with words from several places
    has none.
    """
    sql = "UPDATE t SET day =  id + 1  WHERE id > 3"
    update = bound(sql)
    assert isinstance(update, BoundUpdate)
    text = update.query.text
    rendered = text.render(["VIEW"])
    assert "AS acidsql_given_" in rendered  # the cast is of a value that has a name of its own
    start = rendered.lower().index("cast(")
    assert text.source_span(start, ["VIEW"]) is None
    place = text.only_span(Span(start, rendered.index(")", start) + 1), ["VIEW"])
    assert place is not None
    assert place.cut(sql) == "id + 1"
    assert text.only_span(Span(0, len(rendered)), ["VIEW"]) is None
    assert text.only_span(Span(0, 3), ["VIEW"]) is None


def test_a_message_has_the_users_words_for_names_of_ours(bound: Bind) -> None:
    """Spark names the column that holds a value before it is stored; users know of none."""
    update = bound("UPDATE t SET day =  id + 1  WHERE id > 3")
    assert isinstance(update, BoundUpdate)
    text = update.query.text
    name = re.search(r"acidsql_given_\w+", text.render(["VIEW"]))
    assert name is not None
    for named in (f"lateralAliasReference({name[0]})", name[0]):
        assert text.in_users_words(f"CAST({named} AS DATE)") == "CAST(id + 1 AS DATE)"
    assert (
        text.in_users_words("CAST(acidsql_given_9_9 AS DATE)") == "CAST(acidsql_given_9_9 AS DATE)"
    )


def test_a_place_among_words_of_ours_is_behind_the_users_last_ones(bound: Bind) -> None:
    """The end of the text, where a parser misses words, is the end of the user's."""
    query = bound("SELECT id  FROM t WHERE id = 1")
    assert isinstance(query, BoundQuery)
    rendered = query.text.render(["VIEW"])
    assert query.text.end_before(len(rendered), ["VIEW"]) == Span(30, 31)
    assert query.text.end_before(rendered.index("AS"), ["VIEW"]) == Span(16, 17)
