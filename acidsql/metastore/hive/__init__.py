"""Hive's metastore as a service, over Thrift: its ``calls/``, and the ``authentication/`` that it
asks for.

protocol.py      values and messages as bytes, and back
reaching.py      how servers are reached, by the settings
site.py          Hive's and Hadoop's own files of settings
wire.py          a socket with a deadline, by TLS or not
trust.py         whom TLS trusts, by files that settings name
channels.py      messages on a socket: as they are, framed, or as requests of HTTP
connection.py    a connection to one server, and which of several answers
authorizers.py   whether policies hold that do not reach us
client.py        connections that a session uses again and again
lists.py         lists of transactions and write ids
urls.py          the servers that a URL names
"""
