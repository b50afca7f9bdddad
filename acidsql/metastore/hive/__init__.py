"""Hive's metastore as a service: its calls over Thrift; ``authentication/`` says to it who we are.

protocol.py      values and messages as bytes, and back
calls.py         the calls that only read and the structs in them, as data
writing.py       the calls of who takes part
reaching.py      how servers are reached, by the settings
site.py          Hive's and Hadoop's own files of settings
wire.py          a socket with a deadline, by TLS or not
given_files.py   files that settings name, and their bytes
trust.py         whom TLS trusts
channels.py      messages on a socket: as they are, or framed
http_channel.py  messages as requests of HTTP
connection.py    a connection to one server, and which of several answers
authorizers.py   whether policies hold that do not reach us
client.py        connections that a session uses again and again
lists.py         lists of transactions and write ids
urls.py          the servers that a URL names
"""
