"""Stores in memory, as the metastore's tests have them."""

from __future__ import annotations

from tests.metastore.conftest import tmp_path

__all__ = ["tmp_path"]
