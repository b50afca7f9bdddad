"""Stores in memory and in PostgreSQL, as the metastore's tests have them."""

from __future__ import annotations

from tests.metastore.conftest import metastore_url, tmp_path

__all__ = ["metastore_url", "tmp_path"]
