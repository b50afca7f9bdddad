"""Property tests of the parser have no deadline: the first example of a run loads the tokenizer and the grammar."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("parser", deadline=None)
settings.load_profile("parser")
