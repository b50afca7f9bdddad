"""Tables on a real HDFS that asks who comes by Kerberos, and signs what it sends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.interop.mini_hadoop import missing
from tests.interop.mini_hdfs import MiniHdfs, mini_hdfs
from tests.kdc import REALM, Kdc, kdc, missing_programs

pytestmark = [pytest.mark.spark, pytest.mark.interop]
ROOT = Path(__file__).parents[2]

SCRIPT = """
CREATE TABLE {0} (id INT, name STRING) STORED AS ORC LOCATION 'hdfs://sites/{0}'
  TBLPROPERTIES ('transactional'='true');
INSERT INTO {0} VALUES (1, 'a'), (2, 'b');
SET acidsql.write.path=big;
INSERT INTO {0} SELECT id + 2, name FROM {0};
MERGE INTO {0} t USING (SELECT * FROM VALUES (1, 'm'), (9, 'n') AS s(id, name)) s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
SET acidsql.engine=spark;
DELETE FROM {0} WHERE id = 2;
ALTER TABLE {0} COMPACT 'major' AND WAIT;
SET acidsql.engine=local;
SELECT id, name FROM {0} ORDER BY id;
"""
ROWS = "1\tm\n3\ta\n4\tb\n9\tn\n"


class Site:
    """The HDFS, and a machine from which it is used."""

    def __init__(self, hdfs: MiniHdfs, realm: Kdc, folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            **realm.environment,
            "PYTHONPATH": str(ROOT),
            "HADOOP_CONF_DIR": str(hdfs.conf),
        }
        self._krb5 = f"-Djava.security.krb5.conf={realm.configuration}"

    def run(
        self, table: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """The script about a table, by an acidsql that starts Spark."""
        conf = {"spark.driver.extraJavaOptions": self._krb5, "spark.ui.enabled": "false"}
        return subprocess.run(
            [
                sys.executable, "-m", "acidsql", "--warehouse", str(self._folder / table), "--master", "local[2]",
                *_options(conf), *arguments, "-e", SCRIPT.format(table),
            ],
            env=self._environment | variables, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip


def _options(conf: Mapping[str, str]) -> list[str]:
    return [word for one in conf.items() for word in ("--conf", "=".join(one))]


def test_who_has_a_ticket_works_there(tmp_path: Path) -> None:
    """Without one a statement says what to do; with kinit's, and with a keytab that Spark is told of,
    statements of all kinds do what they do.
    """
    if reason := missing():
        pytest.skip(reason)
    if programs := missing_programs():
        pytest.skip(f"no KDC here: {', '.join(programs)} (Debian: krb5-kdc krb5-admin-server)")
    with kdc(tmp_path / "kdc") as realm, mini_hdfs(tmp_path / "hdfs", realm) as hdfs:
        keytab = realm.add("alice")
        site = Site(hdfs, realm, tmp_path)
        ran = site.run("nobodys")
        assert ran.returncode == 1
        assert "Client cannot authenticate via" in ran.stderr
        assert "hint: The servers ask for a Kerberos ticket: kinit, or" in ran.stderr
        own = {"spark.kerberos.principal": f"alice@{REALM}", "spark.kerberos.keytab": str(keytab)}
        ran = site.run("of_keytab", *_options(own))
        assert (ran.returncode, ran.stdout) == (0, ROWS), ran.stderr
        realm.kinit("alice", keytab)
        ran = site.run("of_ticket")
        assert (ran.returncode, ran.stdout) == (0, ROWS), ran.stderr
