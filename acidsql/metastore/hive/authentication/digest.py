"""SASL's DIGEST-MD5 (RFC 2831), by which delegation tokens are shown: both sides prove that they
know the password, and neither says it. Hive: HadoopThriftAuthBridge.Client, by Java's own.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import md5

from acidsql.metastore.hive.authentication.sasl import Protection, chosen
from acidsql.metastore.hive.protocol import WireError

URI = "null/default"
"""What Java makes of no protocol and Hadoop's realm."""
CIPHER = "rc4"
"""The one that every peer of DIGEST-MD5 knows; the others are DES."""
_COUNT = "00000001"
_MAC_BYTES, _TAIL_BYTES = 10, 6
_TYPE = b"\x00\x01"
_BUFFER = 65536
_LEAST_BUFFER, _MOST_BUFFER = 17, 1 << 24
_FIELD = re.compile(r'\s*([A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]*))\s*(?:,|\Z)')
_NO_BODY = ":" + "0" * 32
_SIGNING = b"Digest session key to %s signing key magic constant"
_SEALING = b"Digest H(A1) to %s sealing key magic constant"
_TO_SERVER, _TO_CLIENT = b"client-to-server", b"server-to-client"


class DigestMd5:
    """``wanted``: the protections that may be, the best first."""

    name = "DIGEST-MD5"
    is_over = False

    def __init__(self, user: str, password: str, wanted: Sequence[Protection]) -> None:
        self._user, self._password = user, password
        self._wanted = wanted
        self._expected: bytes | None = None
        self._sealed = self._unsealed = 0
        self.protection = Protection.NONE
        self.sealed_at_once = _BUFFER
        self.is_complete = False

    def start(self) -> bytes:
        return b""

    def step(self, challenge: bytes) -> bytes:
        if self._expected is None:
            return self._response(_fields(challenge))
        proof = _fields(challenge).get("rspauth", "").encode()
        if not hmac.compare_digest(proof, self._expected):
            raise WireError("it does not prove that it knows the token")
        self.is_complete = True
        return b""

    def _response(self, fields: dict[str, str]) -> bytes:
        nonce, realm = fields.get("nonce", ""), fields.get("realm", "")
        if fields.get("algorithm") != "md5-sess" or not nonce:
            raise WireError("its challenge is not DIGEST-MD5's")
        offered = fields.get("qop", Protection.NONE).replace(" ", "").split(",")
        if CIPHER not in fields.get("cipher", "").replace(" ", "").split(","):
            offered = [one for one in offered if one != Protection.PRIVACY]
        self.protection = chosen(offered, self._wanted)
        self._limit(fields.get("maxbuf", str(_BUFFER)))
        own_nonce = secrets.token_urlsafe(24)
        secret = _md5(":".join((self._user, realm, self._password)).encode())
        session = _md5(secret + f":{nonce}:{own_nonce}".encode())
        self._make_keys(session)

        def proof(method: str) -> str:
            body = "" if self.protection is Protection.NONE else _NO_BODY
            asked = _md5(f"{method}:{URI}{body}".encode()).hex()
            parts = (session.hex(), nonce, _COUNT, own_nonce, self.protection.value, asked)
            return _md5(":".join(parts).encode()).hex()

        self._expected = proof("").encode()
        answers = {
            "charset": "utf-8",
            "username": _quoted(self._user),
            "realm": _quoted(realm),
            "nonce": _quoted(nonce),
            "nc": _COUNT,
            "cnonce": _quoted(own_nonce),
            "digest-uri": _quoted(URI),
            "maxbuf": str(_BUFFER),
            "response": proof("AUTHENTICATE"),
            "qop": self.protection.value,
        }
        if self.protection is Protection.PRIVACY:
            answers["cipher"] = _quoted(CIPHER)
        return ",".join(f"{key}={value}" for key, value in answers.items()).encode()

    def _limit(self, buffer: str) -> None:
        size = int(buffer) if buffer.isdigit() else 0
        if not _LEAST_BUFFER <= size <= _MOST_BUFFER:
            raise WireError("its challenge names no size of a frame that can be")
        self.sealed_at_once = size - _MAC_BYTES - _TAIL_BYTES

    def _make_keys(self, session: bytes) -> None:
        sign, seal = (partial(_key, session, words) for words in (_SIGNING, _SEALING))
        self._own_key, self._their_key = sign(_TO_SERVER), sign(_TO_CLIENT)
        if self.protection is Protection.PRIVACY:
            self._encrypt = rc4(seal(_TO_SERVER))
            self._decrypt = rc4(seal(_TO_CLIENT))
        else:
            self._encrypt = self._decrypt = bytes

    def seal(self, message: bytes) -> bytes:
        number = self._sealed.to_bytes(4, "big")
        self._sealed += 1
        return self._encrypt(message + _mac(self._own_key, number, message)) + _TYPE + number

    def unseal(self, sealed: bytes) -> bytes:
        number = self._unsealed.to_bytes(4, "big")
        self._unsealed += 1
        if sealed[-_TAIL_BYTES:] != _TYPE + number:
            raise WireError("its frames are not in their order")
        opened = self._decrypt(sealed[:-_TAIL_BYTES])
        message, mac = opened[:-_MAC_BYTES], opened[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, _mac(self._their_key, number, message)):
            raise WireError("a frame of it was changed on its way")
        return message


def rc4(key: bytes) -> Callable[[bytes], bytes]:
    """Returns what encrypts, or decrypts, one text after the other."""
    state = list(range(256))
    at = 0
    for index in range(256):
        at = (at + state[index] + key[index % len(key)]) & 255
        state[index], state[at] = state[at], state[index]
    first = second = 0

    def apply(text: bytes) -> bytes:
        nonlocal first, second
        x, y, box, result = first, second, state, bytearray(len(text))
        for index, byte in enumerate(text):
            x = (x + 1) & 255
            one = box[x]
            y = (y + one) & 255
            other = box[y]
            box[x], box[y] = other, one
            result[index] = byte ^ box[(one + other) & 255]
        first, second = x, y
        return bytes(result)

    return apply


def _md5(text: bytes) -> bytes:
    return md5(text, usedforsecurity=False).digest()


def _key(session: bytes, words: bytes, way: bytes) -> bytes:
    return _md5(session + words % way)


def _mac(key: bytes, number: bytes, message: bytes) -> bytes:
    return hmac.digest(key, number + message, "md5")[:_MAC_BYTES]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fields(challenge: bytes) -> dict[str, str]:
    """The fields of what a server says; of a repeated one, the first. WireError for what is not
    like that.
    """
    text, at, fields = challenge.decode("utf-8", "replace"), 0, dict[str, str]()
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise WireError("its challenge is not DIGEST-MD5's")
        value = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
        fields.setdefault(match[1].lower(), value)
        at = match.end()
    return fields
