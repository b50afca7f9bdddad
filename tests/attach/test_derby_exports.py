"""Tables told by exports of an embedded Derby, which a real Derby made: they say what its tables say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from acidsql.attach.sources.derby_dump import export_statements
from acidsql.errors import BindError, NotSupportedError
from acidsql.session import Session
from tests.attach import derby
from tests.attach.hive_metastore import HiveMetastore
from tests.attach.orders import ids, orders_of, orders_written

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attach.md"

pytestmark = pytest.mark.processes


@pytest.fixture(params=["3.1", "4.2"], scope="module")
def exports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a metastore with two tables of one name in two databases; those of orders lie below hive."""
    tmp_path = tmp_path_factory.mktemp("derby")
    metastore = HiveMetastore(f"sqlite:///{tmp_path / 'metastore.sqlite'}", request.param)
    metastore.make_tables()
    metastore.empty()
    location = orders_written(tmp_path)
    metastore.fill(
        "sales", "orders", f"file:{location}", orders_of("high watermark 5"), open=[5], aborted=[3]
    )
    metastore.fill(
        "archive", "orders", f"file:{location}_old", orders_of("high watermark 5"), first_txn=20
    )
    derby.copied(metastore, tmp_path / "derby")
    metastore.close()
    return derby.exported(tmp_path / "derby", tmp_path / "exports")


def test_exports_tell_all(exports: Path, session: Session) -> None:
    """By location, and by name without one; quotes, NULL and text beyond ASCII come through."""
    location = exports.parent / "hive" / "orders"
    lines = session.explain(f"ATTACH TABLE orders FROM '{location}' USING '{exports}'")
    assert "table of Hive: sales.orders" in lines
    assert f"aborted: 3 (of the exports {exports})" in lines
    session.sql(f"ATTACH TABLE orders FROM '{location}' USING '{exports}'")
    assert ids(session) == [2]
    assert ids(session, "SELECT id FROM orders WHERE city = 'a=b/c%'") == [2]
    session.sql("DETACH TABLE orders")
    session.sql(f"ATTACH TABLE mine USING '{exports}?table=sales.orders'")
    assert ids(session, "SELECT id FROM mine") == [2]
    with pytest.raises(BindError, match=r"no table sales\.nothing"):
        session.sql(f"ATTACH TABLE other USING '{exports}?table=sales.nothing'")


def test_exports_that_are_not_whole_are_refused(
    exports: Path, session: Session, tmp_path: Path
) -> None:
    """A file that is missing, one with other columns, one with text where numbers are."""
    attach = f"ATTACH TABLE orders FROM '{exports.parent / 'hive' / 'orders'}' USING"
    for number, (damage, words) in enumerate(
        [
            (lambda copy: (copy / "TXNS.csv").unlink(), "TXNS.csv"),
            (lambda copy: (copy / "DBS.csv").write_text('1,"a"\n'), "row 1 of the export"),
            (
                lambda copy: (copy / "DBS.csv").write_text('"x","a","hive","file:/a"\n'),
                'DB_ID is "x"',
            ),
            (
                lambda copy: (copy / "DBS.csv").write_bytes(b'1,"\xff","hive"\n'),
                "cannot read the export",
            ),
        ]
    ):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(exports, copy)
        damage(copy)
        with pytest.raises(BindError, match=re.escape(words)) as caught:
            session.sql(f"{attach} '{copy}'")
        assert "^^^" in str(caught.value)


def test_the_page_has_the_statements() -> None:
    """That make the exports; whoever copies them gets what is read."""
    page = PAGE.read_text(encoding="utf-8")
    for statement in export_statements("/tmp/exports"):
        assert statement in page


def test_exports_tell_of_no_authorizer(exports: Path, session: Session) -> None:
    """Where tables of a metastore that has one are to be refused, so are theirs, one or all."""
    session.sql("SET acidsql.refuse.ranger=true")
    for statement in (
        f"ATTACH TABLE mine USING '{exports}?table=sales.orders'",
        f"EXPLAIN ATTACH TABLE mine USING '{exports}?table=sales.orders'",
        f"ATTACH DATABASE sales USING '{exports}'",
    ):
        with pytest.raises(NotSupportedError, match="it does not tell whether") as caught:
            session.sql(statement)
        assert f"{exports} tells of" in caught.value.message
    assert list(session.sql("SHOW TABLES").rows()) == []
