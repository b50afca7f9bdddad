"""Thrift's SASL: who is there is found out before the first call, and what is said behind that may
be sealed. Hive: TSaslTransport, TSaslClientTransport.

While it is found out, a message is a status byte, its length and its payload; behind that a frame
is its length and what the mechanism makes of its bytes. A message may be several frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum
from typing import Protocol

from acidsql.metastore.hive.channels import framed, received_frame
from acidsql.metastore.hive.protocol import WireError, foreign_speech
from acidsql.metastore.hive.sockets import Wire

_LONGEST_TOKEN = 1 << 24
_LONGEST_REASON = 300


class Status(IntEnum):
    """What a message says while it is found out who is there."""

    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class Protection(StrEnum):
    """What is done to the bytes of calls; the words are SASL's."""

    NONE = "auth"
    INTEGRITY = "auth-int"
    PRIVACY = "auth-conf"


class Mechanism(Protocol):
    """A way to prove who one is, for one connection. ``step`` and ``unseal`` raise WireError for
    what a server must not say.
    """

    @property
    def name(self) -> str:
        """SASL's name of it."""

    def start(self) -> bytes:
        """The first words; empty where the server speaks first."""

    def step(self, challenge: bytes) -> bytes:
        """The answer to what the server says."""

    @property
    def is_complete(self) -> bool:
        """Whether all is said, and the server has proven what the mechanism has it prove."""

    @property
    def protection(self) -> Protection: ...

    @property
    def sealed_at_once(self) -> int:
        """The most bytes that one frame takes."""

    def seal(self, message: bytes) -> bytes: ...

    def unseal(self, sealed: bytes) -> bytes: ...

    @property
    def is_over(self) -> bool:
        """Whether the proof does not hold for much longer."""


class Plain:
    """A name and a password, which the server reads: only TLS keeps others from it."""

    name = "PLAIN"
    protection = Protection.NONE
    sealed_at_once = 1 << 20
    is_over = False

    def __init__(self, user: str, password: str) -> None:
        self._words = b"\0".join((b"", user.encode(), password.encode()))
        self.is_complete = False

    def start(self) -> bytes:
        self.is_complete = True
        return self._words

    def step(self, challenge: bytes) -> bytes:
        raise WireError("it asks for more than a password")

    def seal(self, message: bytes) -> bytes:
        return message

    def unseal(self, sealed: bytes) -> bytes:
        return sealed


class SaslChannel:
    """Messages behind the proof of who is there."""

    def __init__(self, wire: Wire, mechanism: Mechanism) -> None:
        self._wire = wire
        self._mechanism = mechanism

    def send(self, message: bytes, seconds: float) -> None:
        self._wire.begin(seconds)
        self._wire.send(b"".join(self._frames(message)))

    def receive(self) -> bytes:
        while True:
            frame = received_frame(self._wire)
            if self._mechanism.protection is not Protection.NONE:
                frame = self._mechanism.unseal(frame)
            if frame:
                return frame

    def end(self) -> None: ...

    def _frames(self, message: bytes) -> Iterator[bytes]:
        if self._mechanism.protection is Protection.NONE:
            yield framed(message)
            return
        size = self._mechanism.sealed_at_once
        for start in range(0, len(message), size):
            yield framed(self._mechanism.seal(message[start : start + size]))

    @property
    def is_closed_there(self) -> bool:
        return self._mechanism.is_over or self._wire.is_closed_there

    def close(self) -> None:
        self._wire.close()


def negotiated(wire: Wire, mechanism: Mechanism, seconds: float) -> SaslChannel:
    """A channel on which the server knows who is there, within so many seconds."""
    wire.begin(seconds)
    first = mechanism.start()
    status = Status.COMPLETE if mechanism.is_complete else Status.OK
    name = mechanism.name.encode()
    wire.send(_message(Status.START, name) + _message(status, first))
    while True:
        answer, payload = _received(wire)
        if not mechanism.is_complete:
            reply = mechanism.step(payload)
        elif answer is not Status.COMPLETE:
            raise WireError("it goes on with SASL where all is said")
        if answer is Status.COMPLETE:
            break
        wire.send(_message(Status.COMPLETE if mechanism.is_complete else Status.OK, reply))
    if not mechanism.is_complete:
        raise WireError("it ends SASL before it has proven who it is")
    return SaslChannel(wire, mechanism)


def _message(status: Status, payload: bytes) -> bytes:
    return bytes([status]) + framed(payload)


def _received(wire: Wire) -> tuple[Status, bytes]:
    head = wire.receive_exactly(5)
    status, size = head[0], int.from_bytes(head[1:], "big")
    if status not in set(Status) - {Status.START} or size > _LONGEST_TOKEN:
        raise WireError(foreign_speech(head[:4]) or "what it answers is not SASL")
    payload = wire.receive_exactly(size)
    if status in (Status.BAD, Status.ERROR):
        words = " ".join(payload.decode("utf-8", "replace").split())[:_LONGEST_REASON]
        raise WireError(f"it refuses who is there: {words or 'it says no reason'}")
    return Status(status), payload


def chosen(offered: Iterable[str], wanted: Sequence[Protection]) -> Protection:
    """The first of the wanted protections that a server offers. WireError if it offers none of
    them.
    """
    offers = set(offered)
    for one in wanted:
        if one in offers:
            return one
    raise WireError(
        f"it offers the protection {', '.join(sorted(offers)) or 'of nothing'}, of which"
        " hadoop.rpc.protection allows none"
    )
