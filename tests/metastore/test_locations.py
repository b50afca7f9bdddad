"""Stored and given forms of places."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.locations import given_location, stored_location

NAMES = st.lists(
    st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1),
    min_size=1,
    max_size=4,
).filter(lambda names: not {".", ".."} & set(names))


@pytest.mark.parametrize(
    ("location", "stored"),
    [
        ("/w/h", "."),
        ("/w/h/", "."),
        ("/w/h/s.db/t", "s.db/t"),
        ("file:/w/h/t/", "t"),
        ("file:///w/h/t", "t"),
        ("t", "t"),
        ("../t", "/w/t"),
        ("/w/hh/t", "/w/hh/t"),
        ("/w", "/w"),
        ("/w/h/../t", "/w/t"),
        ("s3a://b/t/", "s3a://b/t"),
        ("hdfs://nn:8020/w/h/t", "hdfs://nn:8020/w/h/t"),
        ("/w/h/a=b:c/t", "a=b:c/t"),
    ],
)
def test_what_lies_inside_is_stored_relative(location: str, stored: str) -> None:
    """Everything else as it is."""
    assert stored_location(location, "/w/h") == stored


@given(NAMES, st.sampled_from(["/w/h", "/w", "/other"]))
def test_a_place_comes_back(names: list[str], root: str) -> None:
    """Absolute, where the warehouse stays; with it, where it moves."""
    location = "/".join([root, *names])
    stored = stored_location(location, "/w/h")
    assert given_location(stored, "/w/h") == location
    if root == "/w/h":
        assert given_location(stored, "/moved") == "/".join(["/moved", *names])


@given(NAMES, st.sampled_from(["/w/h", "/"]))
def test_a_place_is_given_as_paths_are_joined(names: list[str], warehouse: str) -> None:
    """The short way gives what the file system's rules do, for every name and warehouse."""
    stored = stored_location("/".join([warehouse.rstrip("/"), *names]), warehouse)
    assert given_location(stored, warehouse) == posixpath.normpath(
        posixpath.join(warehouse, stored)
    )
