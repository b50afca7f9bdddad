"""Hive's metastore as a service: its calls over Thrift.

protocol.py    values and messages as bytes, and back
calls.py       the calls that only read and the structs in them, as data
writing.py     the calls of who takes part
connection.py  a connection to one server, and which of several answers
client.py      connections that a session uses again and again
lists.py       lists of transactions and write ids
urls.py        the servers that a URL names
"""
