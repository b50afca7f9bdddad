"""Files of Hadoop's tokens in both formats, and the proof of who knows a token."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.authentication import digest
from acidsql.metastore.hive.authentication.digest import DigestMd5, rc4
from acidsql.metastore.hive.authentication.login import Token, find_token, owner_of, parse_tokens
from acidsql.metastore.hive.authentication.sasl import Protection
from acidsql.metastore.hive.protocol import WireError

KIND = "HIVE_DELEGATION_TOKEN"
TOKENS = [
    Token(identifier=b"\x01\x02", password=b"p" * 200, kind="HDFS_DELEGATION_TOKEN", service="nn:8020"),
    Token(identifier=b"\x00\x0eann@REALM.TEST\x00", password=b"\x00\xff", kind=KIND, service=""),
    Token(identifier=b"i" * 70000, password=b"", kind=KIND, service="signed"),
]  # fmt: skip


def writable(tokens: list[Token]) -> bytes:
    def vint(number: int) -> bytes:
        if number < 128:
            return bytes([number])
        size = (number.bit_length() + 7) // 8
        return bytes([256 - 112 - size]) + number.to_bytes(size, "big")

    def block(content: bytes) -> bytes:
        return vint(len(content)) + content

    parts = [
        block(one)
        for token in tokens
        for one in (b"an alias", token.identifier, token.password, token.kind.encode(), token.service.encode())
    ]  # fmt: skip
    secret_keys = vint(1) + block(b"key") + block(b"\x03")
    return b"HDTS\x00" + vint(len(tokens)) + b"".join(parts) + secret_keys


def protobuf(tokens: list[Token]) -> bytes:
    def varint(number: int) -> bytes:
        more = number >> 7
        return (bytes([number & 127 | 128]) + varint(more)) if more else bytes([number])

    def field(number: int, content: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(content)) + content

    message = b""
    for one in tokens:
        parts = (one.identifier, one.password, one.kind.encode(), one.service.encode())
        token = b"".join(field(number, part) for number, part in enumerate(parts, 1))
        message += field(1, field(1, b"an alias") + field(2, token) + b"\x28\x07")  # one unknown
    message += field(2, field(1, b"key") + field(3, b"\x03"))
    return b"HDTS\x01" + varint(len(message)) + message


@pytest.mark.parametrize("form", [writable, protobuf])
def test_tokens_are_read(form: object, tmp_path: Path) -> None:
    """By kind and service; the owner is in what they say of themselves."""
    content = form(TOKENS)
    assert parse_tokens(content) == TOKENS
    path = tmp_path / "tokens"
    path.write_bytes(content)
    assert find_token(str(path), "") == TOKENS[1]
    assert find_token(str(path), "signed") == TOKENS[2]
    assert find_token(str(path), "nn:8020") is None
    assert [owner_of(one) for one in TOKENS] == [None, "ann@REALM.TEST", None]


@pytest.mark.parametrize("form", [writable, protobuf])
def test_what_is_cut_off_is_an_error(form: object) -> None:
    """Wherever a token ends too early; and no error repeats a secret."""
    content = form(TOKENS[:2])
    whole = content.index(b"key") - 4 if form is writable else len(content)
    for size in range(whole):
        with pytest.raises(ValueError, match=r"too early|does not begin") as caught:
            parse_tokens(content[:size])
        assert "ppp" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"HDTS", b"XXXX\x00\x00", b"HDTS\x02\x00", b"HDTS\x00\x01" + b"\x01\xff" * 5]
)
def test_other_files_are_an_error(content: bytes, tmp_path: Path) -> None:  # fmt: skip
    """As is one that is not there."""
    path = tmp_path / "tokens"
    with pytest.raises(MetastoreError, match="No such file"):
        find_token(str(path), "")
    path.write_bytes(content)
    with pytest.raises(MetastoreError, match="is no file of Hadoop's tokens"):
        find_token(str(path), "")


def test_no_secret_is_shown() -> None:
    """Neither of the parts of a token that prove something."""
    assert repr(TOKENS[0]) == "Token(kind='HDFS_DELEGATION_TOKEN', service='nn:8020')"


def test_digests_are_those_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of RFC 2831, with its URI."""
    monkeypatch.setattr(digest, "URI", "imap/elwood.innosoft.com")
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: "OA6MHXh6VqTrRk")
    mechanism = DigestMd5("chris", "secret", [Protection.NONE])
    response = mechanism.step(
        b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'
    )
    assert b"response=d388dad90d4bbd760a152321f2143af7" in response
    assert b'username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh"' in response
    assert not mechanism.is_complete
    assert mechanism.step(b"rspauth=ea40f60335c427b5527b84dbabcdfffd") == b""
    assert mechanism.is_complete


@pytest.mark.parametrize(
    ("key", "texts", "expected"),
    [
        (b"Key", [b"Plaintext"], "bbf316e8d940af0ad3"),
        (b"Wiki", [b"ped", b"ia"], "1021bf0420"),
        (b"Secret", [b"Attack at ", b"", b"dawn"], "45a01f645fc35b383552544b9bf5"),
    ],
)
def test_rc4(key: bytes, texts: list[bytes], expected: str) -> None:
    """Known texts, in one piece or several."""
    encrypt = rc4(key)
    assert b"".join(map(encrypt, texts)).hex() == expected


@pytest.mark.parametrize(
    "challenge",
    [b"", b"nonsense", b'nonce="n"', b'nonce="n",algorithm=md5', b'nonce="n",algorithm=md5-sess,maxbuf=3'],
)  # fmt: skip
def test_other_challenges_are_an_error(challenge: bytes) -> None:
    """Nothing is proven to whoever does not ask as the standard says."""
    with pytest.raises(WireError, match="its challenge"):
        DigestMd5("u", "p", [Protection.NONE]).step(challenge)
