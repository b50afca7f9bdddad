"""Property tests of the format have no deadline: how fast an example runs is the machine's business."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("acid", deadline=None)
settings.load_profile("acid")
