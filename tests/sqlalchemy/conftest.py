"""SQLAlchemy's own tests of dialects have a run of their own: see suite/pytest.ini."""

collect_ignore = ["suite"]
