"""Hive's metastore as a service: its calls over Thrift. They only read.

protocol.py    values and messages as bytes, and back
calls.py       the calls that are made and the structs in them, as data
connection.py  a connection to one server, and which of several answers
"""
