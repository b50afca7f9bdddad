"""Passwords in what a user wrote, so that nothing that is shown or kept repeats them."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"""(?<=://)([^\s:/@'"]*):([^\s'"]+)@""")
_OPTION = re.compile(r"""(?<=[?&])((?:ssl)?password|passwd)=([^\s&'"]+)""", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """The text, as long as before, with asterisks for the passwords of URLs:
    ``postgresql://hive:******@host/metastore``.
    """
    if "://" not in text:
        return text
    text = _IN_URL.sub(lambda match: f"{match[1]}:{'*' * len(match[2])}@", text)
    return _OPTION.sub(lambda match: f"{match[1]}={'*' * len(match[2])}", text)
