"""What the footer of a stripe tells."""

from __future__ import annotations

import pytest

from acidsql.acid.orc_footer_pb2 import ColumnEncoding, Stream, StripeFooter
from acidsql.acid.orc_tail import OrcCodec, writer_zone

ENCRYPTED = b"\x22\x02\x08\x01"
"""StripeFooter.encryption, which nobody here reads."""


@pytest.mark.parametrize("zone", ["", "GMT", "America/Argentina/Buenos_Aires"])
def test_the_zone_of_the_writer_is_told(zone: str) -> None:
    """Among what else a footer holds, also of fields that have no name here; empty if none is."""
    footer = StripeFooter(
        streams=[Stream(kind=1, column=1, length=300)], columns=[ColumnEncoding(kind=2)] * 3
    )
    if zone:
        footer.writerTimezone = zone
    assert writer_zone(footer.SerializeToString() + ENCRYPTED, OrcCodec.NONE) == zone


def test_a_zone_that_is_no_text_is_an_error() -> None:
    """As any other broken footer."""
    with pytest.raises(ValueError, match="utf-8"):
        writer_zone(b"\x1a\x02\xff\xfe", OrcCodec.NONE)
