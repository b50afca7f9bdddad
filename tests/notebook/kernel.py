"""A real IPython kernel, driven as a notebook drives it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SECONDS = 60


class Cell(NamedTuple):
    """What a cell came to: the reply, the HTML of what it showed, its text streams, the traceback
    that it showed.
    """

    reply: dict[str, Any]
    html: list[str]
    text: str
    traceback: str


class Notebook:
    """A client of one kernel."""

    def __init__(self, client: Any, manager: Any) -> None:
        self.client, self.manager = client, manager

    def send(self, code: str) -> str:
        return str(self.client.execute(code))

    def run(self, code: str) -> Cell:
        """The outcome of a cell that ends."""
        return self.outcome(self.send(code))

    def outcome(self, message_id: str) -> Cell:
        html, text, shown = [], "", ""
        while True:
            message = self.client.get_iopub_msg(timeout=SECONDS)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            content = message["content"]
            match message["msg_type"]:
                case "execute_result" | "display_data" | "update_display_data":
                    html.append(content["data"].get("text/html", content["data"]["text/plain"]))
                case "error":
                    shown = "\n".join(content["traceback"])
                case "stream":
                    text += content["text"]
                case "status" if content["execution_state"] == "idle":
                    break
        while True:
            reply = self.client.get_shell_msg(timeout=SECONDS)
            if reply["parent_header"].get("msg_id") == message_id:
                return Cell(reply["content"], html, text, shown)


@contextmanager
def notebook_in(folder: Path, **variables: str) -> Iterator[Notebook]:
    """A kernel that is started in ``folder``; gone when the block is left. Skips the test where
    there is no Jupyter."""
    jupyter_client = pytest.importorskip("jupyter_client", reason="needs the extra notebook")
    manager = jupyter_client.KernelManager(kernel_name="python3")
    environment = {**os.environ, "IPYTHONDIR": str(folder / "i"), **variables}
    manager.start_kernel(cwd=str(folder), env=environment)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        yield Notebook(client, manager)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
