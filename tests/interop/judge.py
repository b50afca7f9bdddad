"""Hive's own reader and footer parser as a long-running process: what it reads is what Hive would
read.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = tuple[int, int, int, dict[str, Any]]
"""(write id, bucket property, row id, the data columns by name), values as Hive prints them into
JSON.
"""


class JudgementError(AssertionError):
    """Hive refused what it was given, its readers disagreed, or a footer has problems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    lines: list[dict[str, Any]]
    exit_code: int


class Judge:
    """One ``acidcat --batch`` process of one Hive version. Not for several threads."""

    def __init__(self, command: Path, version: int) -> None:
        self.version = version
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  (closed by close)
        self._process = subprocess.Popen(
            [str(command), "--hive", str(version), "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
        )

    def compare(
        self, directory: Path, write_ids: str, schema: str, buckets: int | None = None
    ) -> list[Row]:
        """The visible rows of a table or partition directory, sorted by id; JudgementError unless
        all of Hive's readers agree.
        """
        options = [
            "--dir",
            str(directory),
            "--writeids",
            write_ids,
            "--schema",
            schema,
            "--compare",
        ]
        answer = self._ask([*options, "--buckets", str(buckets)] if buckets else options)
        verdict = next((line for line in answer.lines if "compare" in line), None)
        if answer.exit_code or not verdict or not verdict["same"]:
            raise JudgementError(
                f"hive {self.version} on {directory}: {_troubles(answer) or verdict}"
            )
        rows = [line for line in answer.lines if "ROW__ID" in line]
        ids = [
            (r["ROW__ID"]["writeid"], r["ROW__ID"]["bucketid"], r["ROW__ID"]["rowid"]) for r in rows
        ]
        return sorted(
            ((*key, row["row"]) for key, row in zip(ids, rows, strict=True)), key=lambda r: r[:3]
        )

    def check_footers(self, directory: Path) -> list[str]:
        """The bucket files below a directory that Hive checked; JudgementError if one has a
        problem.
        """
        answer = self._ask(["--dir", str(directory), "--check-footers"])
        if answer.exit_code:
            raise JudgementError(f"hive {self.version} on {directory}: {_troubles(answer)}")
        return [line["file"] for line in answer.lines if "file" in line]

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
        self._log.close()

    def _ask(self, options: list[str]) -> Answer:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(shlex.quote(o) for o in options) + "\n")
        self._process.stdin.flush()
        lines: list[dict[str, Any]] = []
        for text in self._process.stdout:
            if "{" not in text:
                continue
            line = json.loads(text[text.index("{") :])
            if "done" in line:
                return Answer(lines=lines, exit_code=line["done"])
            lines.append(line)
        self._log.seek(0)
        raise JudgementError(f"hive {self.version} died: {self._log.read()[-2000:]}")


def _troubles(answer: Answer) -> list[dict[str, Any]]:
    return [line for line in answer.lines if "error" in line or line.get("problems")]
