"""Servers that are no metastore, or a bad one: each is an error that says what it does, in time, and
the connection is closed.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.hive import client as connections
from acidsql.metastore.hive.calls.reading import GET_PARTITION_NAMES
from acidsql.metastore.hive.client import ask_first
from acidsql.metastore.hive.reaching import Access
from tests.attach.thrift_bytes import message, number, record, text, texts

Behaviour = Callable[[socket.socket, Event], None]
LONGEST_WAIT = 30


@contextmanager
def server(behave: Behaviour) -> Iterator[int]:
    """A server of one connection; its port. The client must have closed that behind the block."""
    done = Event()
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            connection, _ = listening.accept()
            with connection:
                behave(connection, done)
                connection.settimeout(LONGEST_WAIT)
                done.wait(LONGEST_WAIT)
                while connection.recv(1 << 16):  # what was sent before the end
                    pass
        except (ConnectionError, ClosedError):  # as the client may, with bytes unread
            pass
        except BaseException as error:
            failures.append(error)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            done.set()
            thread.join(LONGEST_WAIT)
            assert not thread.is_alive()
    assert not failures


def ask(port: int, *, framed: bool = False) -> Any:
    return ask_first(
        [("127.0.0.1", port)],
        lambda connection: connection.call(
            GET_PARTITION_NAMES, db_name="sales", tbl_name="t", max_parts=-1
        ),
        access=Access(framed=framed),
        user="hive",
        shown="thrift://there",
    )


def says(raw: bytes) -> Behaviour:
    """Reads what comes first, answers the same, whatever it was, and says no more."""

    def behave(connection: socket.socket, done: Event) -> None:
        connection.recv(1 << 16)
        connection.sendall(raw)
        with suppress(OSError):  # it may have been heard enough of
            connection.shutdown(socket.SHUT_WR)

    return behave


class ClosedError(Exception):
    """A server has closed its connection itself."""


def closes_at_once(connection: socket.socket, done: Event) -> None:
    connection.close()
    raise ClosedError


def resets(connection: socket.socket, done: Event) -> None:
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    raise ClosedError


def is_silent(connection: socket.socket, done: Event) -> None:
    done.wait(LONGEST_WAIT)


def trickles(connection: socket.socket, done: Event) -> None:
    """A byte at a time, of an answer that never ends."""
    connection.sendall(struct.pack(">I", 0x80010002) + struct.pack(">i", 1000))
    while not done.wait(0.02):
        connection.sendall(b"x")


REPLY = message(2, "set_ugi", 1, record({0: texts(["hive"])}))
BAD = {
    "closes at once": (closes_at_once, r"closed the connection without an answer.*Kerberos.*framed=true"),
    "resets": (resets, "closed the connection without an answer"),
    "closes within its answer": (says(REPLY[:-3]), "closed the connection within its answer"),
    "SASL": (says(b"\x04" + struct.pack(">i", 19) + b"Invalid status -128"), r"wants SASL \(Kerberos"),
    "TLS": (says(b"\x15\x03\x03\x00\x02\x02\x46"), "wants TLS"),
    "HTTP": (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "speaks HTTP"),
    "compact": (says(b"\x82\x41\x01\x07set_ugi"), "compact protocol"),
    "garbage": (says(b"\x00\xff garbage \x00" * 9), "not Thrift's binary protocol"),
    "huge": (says(struct.pack(">Ii", 0x80010002, 2**31 - 1) + b"x" * 99), "value of 2147483647 bytes"),
    "another call": (says(message(2, "get_table", 1, record({}))), 'answers another call: "get_table"'),
    "another number": (says(message(2, "set_ugi", 9, record({}))), "answers another call"),
    "a call": (says(message(1, "set_ugi", 1, record({}))), "is no answer"),
    "nothing": (says(message(2, "set_ugi", 1, record({}))), "set_ugi has no result"),
    "more": (says(REPLY + b"more"), "does not end where it should"),
    "another type": (says(message(2, "set_ugi", 1, record({0: number("i64", 1)}))), '"success" of type 10'),
    "not UTF-8": (says(message(2, "set_ugi", 1, record({0: texts([])})).replace(b"set_ugi", b"set_\xff\xfei")), "not UTF-8"),
    "fails": (says(message(3, "set_ugi", 1, record({1: text("Internal error processing set_ugi"), 2: number("i32", 6)}))),
              "set_ugi failed there: Internal error"),
    "refuses": (says(message(2, "set_ugi", 1, record({1: record({1: text("who are you")})}))), "refuses: who are you"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_servers_are_told(name: str) -> None:
    """What they do, with the URL, in an error of the metastore."""
    behave, words = BAD[name]
    with server(behave) as port, pytest.raises(MetastoreError, match=words) as caught:
        ask(port)
    assert "the metastore thrift://there" in caught.value.message


@pytest.mark.parametrize("behave", [is_silent, trickles])
def test_nobody_waits_for_long(behave: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for the first byte of an answer nor for the last."""
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 0.3)
    begun = time.monotonic()
    with server(behave) as port, pytest.raises(MetastoreError, match="does not answer in time"):
        ask(port)
    assert time.monotonic() - begun < LONGEST_WAIT / 2


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (struct.pack(">I", 2**31), "frame of 2147483648 bytes"),
        (struct.pack(">I", 0), "frame of 0 bytes"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "wants TLS"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP"),
        (struct.pack(">I", len(REPLY) - 5) + REPLY[:-5], "closed the connection within"),
        (b"\x00", "closed the connection within"),
    ],
)
def test_frames_are_not_believed_either(raw: bytes, words: str) -> None:
    """Their size is what there is of a message."""
    with server(says(raw)) as port, pytest.raises(MetastoreError, match=words):
        ask(port, framed=True)


def test_whoever_is_not_there_is_told() -> None:
    """With the reason of the system, for each server."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MetastoreError, match=r"cannot ask the metastore thrift://there: .*refused"):
        ask(port)
    with pytest.raises(MetastoreError) as caught:
        ask_first([("127.0.0.1", port), ("no-such-host.invalid", 9083)], lambda one: None, access=Access(), user="hive", shown="thrift://x")  # fmt: skip
    assert f"127.0.0.1:{port}: " in caught.value.message
    assert "; no-such-host.invalid:9083: " in caught.value.message
