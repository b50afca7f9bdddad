"""What logs and traces are told of statements: what they did, and never a value."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acidsql.errors import BindError, InterfaceError, NotNullError, ParseError
from acidsql.session import Session
from acidsql.session.observing import without_values

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Session]:
    """A session without Spark, with a table."""
    with Session(tmp_path / "w", settings={"acidsql.engine": "local"}) as session:
        session.sql(f"CREATE TABLE t (id INT NOT NULL, name STRING) {ACID}")
        yield session


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT  a, 'x' FROM t -- secret\nWHERE b=1.5e3", "SELECT a, ? FROM t WHERE b=?"),
        ("INSERT INTO t VALUES (-1, \"s\", DATE '2026-01-01')", "INSERT INTO t VALUES (-?, ?, DATE ?)"),
        ("SET fs.s3a.secret.key = abc def", "SET fs.s3a.secret.key =?"),
        ("SELECT `12 a` /* secret */ FROM t WHERE id = ?", "SELECT `12 a` FROM t WHERE id = ?"),
        ("SELECT 'never closed", ""),
        ("SELECT 1" + " + 1" * 400, ("SELECT ?" + " + ?" * 400)[:1000] + ".."),
    ],
)  # fmt: skip
def test_a_text_without_its_values(text: str, expected: str) -> None:
    """Literals, comments and the values of settings are left out, and names are kept."""
    assert without_values(text) == expected


def test_a_statement_is_logged(alone: Session, caplog: pytest.LogCaptureFixture) -> None:
    """Its kind, its text, its transaction, its counts, its time: as words and as facts."""
    caplog.set_level(logging.INFO, "acidsql")
    alone.sql("INSERT INTO t VALUES (?, 'Ada')", [4711])
    alone.table("t").append(pa.table({"id": [1], "name": ["Bob"]}))
    first, second = caplog.records
    assert first.getMessage().startswith("INSERT: 1 inserted; txn 1; 0.")
    assert first.getMessage().endswith(" s: INSERT INTO t VALUES (?, ?)")
    assert (first.levelname, first.acidsql_rows_inserted, first.acidsql_txn) == ("INFO", 1, 1)  # type: ignore[attr-defined]
    assert first.acidsql_write_ids == {"default.t": 1}  # type: ignore[attr-defined]
    assert "FROM `the:frame` AS s" in second.getMessage()
    assert not [w for w in ("4711", "Ada", "Bob") if w in caplog.text or w in repr(vars(first))]


def test_a_failure_is_logged_without_its_words(
    alone: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """With its class and state; a text that is no statement may be anything, and is not shown."""
    caplog.set_level(logging.INFO, "acidsql")
    with pytest.raises(NotNullError):
        alone.sql("INSERT INTO t VALUES (NULL, 'secret')")
    with pytest.raises(ParseError):
        alone.sql("INSERT INTO t VALUES (secret secret")
    with pytest.raises(BindError):
        alone.sql("SELECT id FROM nowhere WHERE x = 'secret'")
    assert [r.levelname for r in caplog.records] == ["WARNING"] * 3
    assert "NotNullError (sqlstate 23502)" in caplog.records[0].getMessage()
    assert caplog.records[1].acidsql_text == ""  # type: ignore[attr-defined]
    assert caplog.records[2].acidsql_retryable is False  # type: ignore[attr-defined]
    assert "secret" not in caplog.text


def test_what_is_no_text_is_refused_as_ever(
    alone: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """The log does not stand in the way of the error, and shows nothing of what was given."""
    caplog.set_level(logging.INFO, "acidsql")
    statement: Any = b"SELECT 'secret'"
    with pytest.raises(InterfaceError, match="a statement is a str, not bytes"):
        alone.sql(statement)
    assert "InterfaceError" in caplog.text
    assert "secret" not in caplog.text


def test_transactions_are_logged(alone: Session, caplog: pytest.LogCaptureFixture) -> None:
    """Their beginning and their end; a commit of nothing is none."""
    caplog.set_level(logging.INFO, "acidsql")
    alone.commit()
    with alone.transaction():
        alone.sql("SELECT count(*) FROM t")
    alone.begin()
    alone.rollback()
    kinds = [r.acidsql_statement for r in caplog.records]  # type: ignore[attr-defined]
    assert kinds == ["START TRANSACTION", "SELECT", "COMMIT", "START TRANSACTION", "ROLLBACK"]


def test_a_scan_is_logged_at_its_end(alone: Session, caplog: pytest.LogCaptureFixture) -> None:
    """Once, with what was read; one that fails or is given up says so; none is told before."""
    alone.sql("INSERT INTO t VALUES (1, 'Ada'), (2, 'Bob'), (3, 'Ada')")
    caplog.set_level(logging.INFO, "acidsql")
    scan = alone.scan("t", ["id"], "name = 'Ada'", batch_size=1)
    assert not caplog.records
    assert scan.to_arrow().num_rows == 2
    scan.close()
    for _ in alone.scan("t", batch_size=1):
        break
    with alone.scan("t"):
        pass
    with pytest.raises(BindError):
        alone.scan("t", ["nix"])
    with pytest.raises(ParseError):
        alone.scan("t", None, "name = secret secret secret")
    whole, dropped, closed, failed, unreadable = caplog.records
    assert whole.getMessage().startswith("SCAN: 2 read; 0.")
    assert whole.getMessage().endswith(" s: SELECT `id` FROM `t` WHERE ( name = ? )")
    assert (whole.acidsql_rows_read, whole.acidsql_batches) == (2, 2)  # type: ignore[attr-defined]
    assert dropped.getMessage().startswith("SCAN: 1 read; given up; 0.")
    assert [r.acidsql_whole for r in (whole, dropped, closed, failed)] == [
        True,
        False,
        False,
        False,
    ]  # type: ignore[attr-defined]
    assert closed.acidsql_rows_read == 0  # type: ignore[attr-defined]
    assert (failed.levelname, failed.acidsql_error) == ("WARNING", "BindError")  # type: ignore[attr-defined]
    assert unreadable.acidsql_text == ""  # type: ignore[attr-defined]
    assert "Ada" not in caplog.text
    assert "secret" not in caplog.text


def test_spans(alone: Session) -> None:
    """A statement is a span, below the one of its caller, with OpenTelemetry's names; so is a scan,
    which is not the current one."""
    trace = pytest.importorskip("opentelemetry.trace")
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    with provider.get_tracer("mine").start_as_current_span("job"):
        alone.sql("INSERT INTO t VALUES (1, 'secret')")
        with pytest.raises(NotNullError):
            alone.sql("INSERT INTO t VALUES (NULL, 'secret')")
        scan = alone.scan("t", ["id"], "name = 'secret'")
        between = trace.get_current_span()
        scan.to_arrow()
    inserted, failed, scanned, job = exporter.get_finished_spans()
    assert between.get_span_context() == scanned.parent == job.context
    assert scanned.name == "SCAN"
    assert dict(scanned.attributes) == {
        "db.system.name": "acidsql",
        "db.namespace": "default",
        "db.operation.name": "SCAN",
        "db.query.text": "SELECT `id` FROM `t` WHERE ( name = ? )",
        "db.response.returned_rows": 1,
    }
    assert inserted.parent.span_id == job.context.span_id
    assert (inserted.name, failed.name) == ("INSERT", "INSERT")
    assert dict(inserted.attributes) == {
        "db.system.name": "acidsql",
        "db.namespace": "default",
        "db.operation.name": "INSERT",
        "db.query.text": "INSERT INTO t VALUES (?, ?)",
        "acidsql.txn": 1,
        "acidsql.path": "small",
        "acidsql.rows_inserted": 1,
    }
    assert failed.attributes["error.type"] == "NotNullError"
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert "secret" not in repr([span.to_json() for span in exporter.get_finished_spans()])


@pytest.mark.processes
def test_nobody_who_does_not_listen_pays(tmp_path: Path) -> None:
    """OpenTelemetry is not imported for a statement, and nothing is printed when one fails."""
    code = (
        "import sys, logging, acidsql\n"
        f"with acidsql.Session({str(tmp_path / 'w')!r}) as s:\n"
        "    s.sql('CREATE DATABASE d')\n"
        "    s.sql('SHOW TABLES')\n"
        "    try: s.sql('SELECT * FROM nowhere')\n"
        "    except acidsql.Error: pass\n"
        "print([m for m in sys.modules if m.startswith('opentelemetry')])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
