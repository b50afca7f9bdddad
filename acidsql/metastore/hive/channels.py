"""How messages lie on a connection: as they are, in frames, in frames that SASL has sealed, or in
requests of HTTP. A channel sends the bytes of a call and receives those of its answer.
"""

from __future__ import annotations

from typing import Protocol

from acidsql.metastore.hive.protocol import MESSAGE_BYTES, WireError, foreign_speech
from acidsql.metastore.hive.wire import Wire


class Channel(Protocol):
    """OSError and WireError end it."""

    def send(self, message: bytes, seconds: float) -> None:
        """Sends a call, whose answer has to be there after so many seconds."""

    def receive(self) -> bytes:
        """The next bytes of the answer, at least one."""

    def end(self) -> None:
        """The answer is whole. WireError if there is more of it."""

    @property
    def is_closed_there(self) -> bool:
        """Whether another call could not be answered any more."""

    def close(self) -> None: ...


class PlainChannel:
    """Messages one after the other, as Hive has them by default."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def send(self, message: bytes, seconds: float) -> None:
        self._wire.begin(seconds)
        self._wire.send(message)

    def receive(self) -> bytes:
        return self._wire.receive()

    def end(self) -> None: ...

    @property
    def is_closed_there(self) -> bool:
        return self._wire.is_closed_there

    def close(self) -> None:
        self._wire.close()


class FramedChannel(PlainChannel):
    """Each message behind its length: ``hive.metastore.thrift.framed.transport.enabled``."""

    def send(self, message: bytes, seconds: float) -> None:
        self._wire.begin(seconds)
        self._wire.send(framed(message))

    def receive(self) -> bytes:
        return received_frame(self._wire)


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


def received_frame(wire: Wire) -> bytes:
    """The next frame. WireError for one that cannot be."""
    head = wire.receive_exactly(4)
    size = int.from_bytes(head, "big")
    if not 0 < size <= MESSAGE_BYTES:
        raise WireError(foreign_speech(head) or f"it sends a frame of {size} bytes")
    return wire.receive_exactly(size)
