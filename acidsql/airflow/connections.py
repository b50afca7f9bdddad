"""Airflow's connections as the arguments of ``dbapi.connect``, and as the URL of SQLAlchemy's
dialect.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from acidsql.catalog.attached import is_service
from acidsql.errors import InterfaceError
from acidsql.lazy import dataclass
from acidsql.metastore.hive.reaching import parse_service
from acidsql.metastore.locations import warehouse_path
from acidsql.session import WAREHOUSE_VARIABLE
from acidsql.settings import given_text

if TYPE_CHECKING:
    from airflow.sdk import Connection

_SECRET = re.compile(
    r"secret|password|token|access[.]?key|credential|additional[.]headers", re.IGNORECASE
)
"""Names of settings whose values are shown to nobody, as Spark's spark.redaction.regex has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a connection opens. ``metastore``: a URL with its password; None for the file.
    ``warehouse``: None where a Hive metastore says where its tables lie.
    """

    warehouse: str | None
    database: str = "default"
    metastore: str | None = None
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: Connection, database: str | None = None) -> Target:
        """InterfaceError for a connection that is incomplete, or has what is not understood."""
        extra = connection.extra_dejson
        name = connection.conn_id
        metastore = extra.get("metastore")
        if metastore and is_service(metastore):
            return cls._of_service(str(metastore), connection, database)
        warehouse = extra.get("warehouse") or os.environ.get(WAREHOUSE_VARIABLE)
        if not warehouse:
            hint = f"Set the field warehouse, or ${WAREHOUSE_VARIABLE} on the workers."
            raise InterfaceError(f'the connection "{name}" names no warehouse', hint=hint)
        return cls(
            warehouse=str(warehouse),
            metastore=_with_login(metastore, connection) if metastore else None,
            **cls._others(connection, database),
        )

    @classmethod
    def _of_service(cls, metastore: str, connection: Connection, database: str | None) -> Target:
        """A Hive metastore, which has its own warehouse."""
        name = connection.conn_id
        if connection.extra_dejson.get("warehouse"):
            hint = "Leave the field warehouse empty: a Hive metastore says where its tables lie."
            what = f'the connection "{name}" names a warehouse and a Hive metastore'
            raise InterfaceError(what, hint=hint)
        if connection.login or connection.password:
            raise InterfaceError(
                f'the connection "{name}" has a user or password, which is not a Hive metastore\'s',
                hint=(
                    "The settings metastore.client.plain.username and"
                    " acidsql.metastore.password.file name them."
                ),
            )
        return cls(warehouse=None, metastore=metastore, **cls._others(connection, database))

    @staticmethod
    def _others(connection: Connection, database: str | None) -> dict[str, Any]:
        extra, name = connection.extra_dejson, connection.conn_id
        return {
            "database": database or connection.schema or "default",
            "master": extra.get("master") or None,
            "conf": _texts(extra.get("conf"), name, "conf"),
            "settings": _texts(extra.get("settings"), name, "settings"),
        }

    @property
    def is_service(self) -> bool:
        """Whether it is a Hive metastore."""
        return self.metastore is not None and is_service(self.metastore)

    @property
    def origin(self) -> str:
        """What its tables are named by, in lineage: its warehouse, or its Hive metastore as
        OpenLineage has it.
        """
        if self.warehouse is None:
            assert self.metastore is not None
            servers, _ = parse_service(self.metastore)
            host, port = servers[0]
            return f"hive://{host}:{port}"
        return warehouse_path(self.warehouse)

    def secrets(self) -> Iterator[str]:
        """What no log may show."""
        if self.metastore is not None and not self.is_service:
            password = make_url(self.metastore).password
            if password:
                yield str(password)
                yield self.metastore
        for name, value in (*self.conf.items(), *self.settings.items()):
            if value and _SECRET.search(name):
                yield value

    def url(self) -> URL:
        """What SQLAlchemy's dialect opens, secrets and all."""
        given = {"metastore": self.metastore, "master": self.master}
        query = {name: value for name, value in given.items() if value}
        if self.database != "default":
            query["database"] = self.database
        return URL.create(
            "acidsql", database=self.warehouse, query=query | {**self.conf, **self.settings}
        )


def _with_login(metastore: str, connection: Connection) -> str:
    """The metastore's URL with the connection's user and password, where it has none itself."""
    try:
        url = make_url(metastore)
    except ArgumentError:
        name = connection.conn_id
        raise InterfaceError(f'the metastore of the connection "{name}" is no URL') from None
    return url.set(
        username=url.username or connection.login or None,
        password=url.password or connection.password or None,
    ).render_as_string(hide_password=False)


def _texts(value: Any, connection: str, name: str) -> dict[str, str]:
    """Settings by name, from an object or the JSON text of one."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError:
            value = [value]
    if not value:
        return {}
    if not isinstance(value, dict) or any(isinstance(one, dict | list) for one in value.values()):
        raise InterfaceError(
            f'the field "{name}" of the connection "{connection}" is no object of settings',
            hint='Write it as {"name": "value"}.',
        )
    return {str(key): given_text(str(key), one) for key, one in value.items() if one is not None}
