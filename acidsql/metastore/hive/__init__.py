"""Hive's metastore as a service, over Thrift: its ``calls/``, and the ``authentication/`` that it
asks for.

protocol.py      values and messages as bytes, and back
reaching.py      which servers a URL names, and how they are reached, by the settings and by
                 Hive's and Hadoop's own files
sockets.py       sockets with a deadline, by TLS or not, and whom TLS trusts
channels.py      messages on a socket: as they are, framed, or as requests of HTTP
authorizers.py   whether policies hold that do not reach us
client.py        connections, each to one of several servers, that a session uses again and again
"""
