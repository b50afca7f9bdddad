"""Hive's names for reaching a Hive Metastore, with Hive 4's defaults."""

from __future__ import annotations

from acidsql.settings.rows import switch, text, time, words

METASTORE = (
    text(
        "hive.metastore.uris",
        "",
        "Where the metastore listens: thrift://host:port, several with commas.",
        "metastore.thrift.uris",
    ),
    time(
        "hive.metastore.client.socket.timeout",
        "600s",
        "How long an answer may take.",
        "metastore.client.socket.timeout",
        honoured=True,
    ),
    switch(
        "hive.metastore.execute.setugi",
        True,
        "Send the user's name when connecting.",
        "metastore.execute.setugi",
    ),
    switch("hive.metastore.sasl.enabled", False, "Connect by Kerberos.", "metastore.sasl.enabled"),
    text(
        "hive.metastore.kerberos.principal",
        "hive-metastore/_HOST@EXAMPLE.COM",
        "The metastore's Kerberos principal.",
        "metastore.kerberos.principal",
    ),
    text(
        "hive.metastore.token.signature",
        "",
        "The name of the delegation token.",
        "metastore.token.signature",
    ),
    words(
        "metastore.client.auth.mode",
        "nosasl plain kerberos jwt",
        "nosasl",
        "How to authenticate.",
        "hive.metastore.client.auth.mode",
    ),
    text(
        "metastore.client.plain.username",
        "",
        "The user of PLAIN authentication.",
        "hive.metastore.client.plain.username",
    ),
    text(
        "metastore.client.thrift.transport.mode",
        "binary",
        "binary or http.",
        "hive.metastore.client.thrift.transport.mode",
    ),
    text(
        "metastore.client.http.additional.headers",
        "",
        "More headers of http.",
        "hive.metastore.client.http.additional.headers",
    ),
    switch(
        "hive.metastore.thrift.framed.transport.enabled",
        False,
        "Use Thrift's framed transport.",
        "metastore.thrift.framed.transport.enabled",
    ),
    switch(
        "hive.metastore.thrift.compact.protocol.enabled",
        False,
        "Use Thrift's compact protocol.",
        "metastore.thrift.compact.protocol.enabled",
    ),
    switch("hive.metastore.use.SSL", False, "Connect by TLS.", "metastore.use.SSL"),
    switch(
        "hive.metastore.client.capability.check",
        True,
        "Refuse clients that do not say they know insert-only tables.",
        "metastore.client.capability.check",
    ),
    text("metastore.catalog.default", "hive", "The catalog of names without one."),
    text(
        "hive.metastore.warehouse.dir",
        "/user/hive/warehouse",
        "Where databases and tables lie. In acidsql the warehouse is chosen when it is opened.",
        "metastore.warehouse.dir",
    ),
)
