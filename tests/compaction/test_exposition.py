"""Where the metrics of a daemon are to be had."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from acidsql.compaction.metrics import CONTENT_TYPE, exposition
from acidsql.errors import MetastoreError, ProgrammingError

TEXT = "# TYPE compaction_num_active_workers gauge\n# EOF\n"


def test_metrics_are_given_over_http() -> None:
    """At /metrics of the port, on this host alone, there is OpenMetrics text; nothing elsewhere."""
    with exposition("0", lambda: TEXT) as shown:
        assert shown.address is not None
        assert shown.address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(shown.address) as answer:
            assert answer.headers["Content-Type"] == CONTENT_TYPE
            assert answer.read().decode() == TEXT
        with pytest.raises(urllib.error.HTTPError, match="404") as missing:
            urllib.request.urlopen(f"{shown.address}/more")
        missing.value.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(shown.address)


def test_metrics_that_cannot_be_made_are_an_error_of_the_server() -> None:
    """A store that cannot be read gives 503 and its reason, and the next who asks is served."""
    answers = iter([MetastoreError("no such store"), TEXT])

    def make() -> str:
        answer = next(answers)
        if isinstance(answer, MetastoreError):
            raise answer
        return answer

    with exposition("127.0.0.1:0", make) as shown:
        assert shown.address is not None
        with pytest.raises(urllib.error.HTTPError, match="503") as failed:
            urllib.request.urlopen(shown.address)
        assert "no such store" in failed.value.read().decode()
        failed.value.close()
        with urllib.request.urlopen(shown.address) as answer:
            assert answer.read().decode() == TEXT


def test_metrics_are_given_in_a_file(tmp_path: Path) -> None:
    """Each refresh replaces the file as a whole; others may read it, and nothing else is left."""
    path = tmp_path / "acidsql.prom"

    with exposition(str(path), lambda: TEXT) as shown:
        assert not path.exists()
        shown.refresh()
        shown.refresh()

    assert path.read_text() == TEXT
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == [path.name]


def test_metrics_that_nobody_could_see_are_refused(tmp_path: Path) -> None:
    """A directory or a port that is not there, and a port that is taken, are said at the start."""
    with (
        pytest.raises(ProgrammingError, match="there is no port 99999"),
        exposition("99999", lambda: TEXT),
    ):
        pass
    with (
        pytest.raises(ProgrammingError, match="no such directory"),
        exposition(str(tmp_path / "missing" / "file"), lambda: TEXT),
    ):
        pass
    with exposition("0", lambda: TEXT) as shown:
        assert shown.address is not None
        port = shown.address.rpartition(":")[2].removesuffix("/metrics")
        with (
            pytest.raises(ProgrammingError, match="nobody can listen"),
            exposition(port, lambda: TEXT),
        ):
            pass
