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
    switch(
        "hive.metastore.sasl.enabled",
        False,
        "Connect by Kerberos, or by a delegation token of $HADOOP_TOKEN_FILE_LOCATION.",
        "metastore.sasl.enabled",
        honoured=True,
    ),
    text(
        "hive.metastore.kerberos.principal",
        "hive-metastore/_HOST@EXAMPLE.COM",
        "The metastore's Kerberos principal; `_HOST` is the full name of the server's host.",
        "metastore.kerberos.principal",
        honoured=True,
    ),
    text(
        "hive.metastore.token.signature",
        "",
        "The service of the delegation token.",
        "metastore.token.signature",
        honoured=True,
    ),
    text(
        "hadoop.rpc.protection",
        "",
        "What Kerberos and tokens do to what is said: `authentication` nothing, `integrity` or"
        " `privacy`, or several with commas; empty takes the best that the server offers.",
        honoured=True,
    ),
    words(
        "metastore.client.auth.mode",
        "nosasl plain kerberos jwt",
        "nosasl",
        "How to say who is there: `plain` is a name and a password, `kerberos` as"
        " `hive.metastore.sasl.enabled`, `jwt` a token over HTTP.",
        "hive.metastore.client.auth.mode",
        honoured=True,
    ),
    text(
        "metastore.client.plain.username",
        "",
        "The user of `plain`. `acidsql.metastore.password.file` has the password.",
        "hive.metastore.client.plain.username",
        honoured=True,
    ),
    text(
        "metastore.client.thrift.transport.mode",
        "binary",
        "`binary`, or `http`.",
        "hive.metastore.client.thrift.transport.mode",
        honoured=True,
    ),
    text(
        "metastore.client.thrift.http.path",
        "metastore",
        "The path of the URL over HTTP.",
        "hive.metastore.client.thrift.http.path",
        honoured=True,
    ),
    text(
        "metastore.client.http.additional.headers",
        "",
        "More headers over HTTP: `name=value`, several with commas. SET does not list them.",
        "hive.metastore.client.http.additional.headers",
        honoured=True,
    ),
    switch(
        "hive.metastore.thrift.framed.transport.enabled",
        False,
        "Use Thrift's framed transport, as `?framed=true` does.",
        "metastore.thrift.framed.transport.enabled",
        honoured=True,
    ),
    switch(
        "hive.metastore.thrift.compact.protocol.enabled",
        False,
        "Use Thrift's compact protocol, which acidsql does not speak: refused if true.",
        "metastore.thrift.compact.protocol.enabled",
        honoured=True,
    ),
    switch(
        "hive.metastore.use.SSL",
        False,
        "Connect by TLS. The server's name is checked.",
        "metastore.use.SSL",
        honoured=True,
    ),
    text(
        "hive.metastore.truststore.path",
        "",
        "A file of the certificates that TLS trusts, PEM or JKS; empty trusts those of the system.",
        "metastore.truststore.path",
        honoured=True,
    ),
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
