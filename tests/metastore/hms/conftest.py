"""A service of these tests is back at once: nobody waits for it between two tries."""

from __future__ import annotations

import pytest

from acidsql.metastore.hms import txns


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(txns, "_COMMIT_PAUSES", tuple(0.0 for _ in txns._COMMIT_PAUSES))
