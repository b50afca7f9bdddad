"""Files that settings name: their bytes, and what is read of these piece by piece."""

from __future__ import annotations

from pathlib import Path

from acidsql.errors import MetastoreError


def given_bytes(path: str, what: str, setting: str) -> bytes:
    """The content of a file. MetastoreError with the name of the setting if it cannot be read;
    ``what``: what it is, in words.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MetastoreError(
            f'cannot read {what} "{path}": {error.strerror}', hint=f"{setting} names it."
        ) from error


class ByteReader:
    """Bytes from the first to the last."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def has_more(self) -> bool:
        return self._at < len(self._content)

    def take(self, size: int) -> bytes:
        """The next bytes. ValueError if there are not so many."""
        start, self._at = self._at, self._at + size
        if size < 0 or self._at > len(self._content):
            raise ValueError("it ends too early")
        return self._content[start : self._at]
