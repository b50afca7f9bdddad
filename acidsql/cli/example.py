"""``acidsql test``: a project to begin golden tests with."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from acidsql.errors import OperationalError, ProgrammingError


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "init lays out an example project in DIR, which must have none of its files: golden scripts"
        " with what they print, tests in Python, and a pyproject.toml. pytest runs them as they are"
        " where acidsql[pytest] is installed."
    )
    parser.add_argument("action", choices=["init"], help="what to do")
    doc = "the directory, made if it is not there (default: the current one)"
    parser.add_argument("directory", nargs="?", default=".", metavar="DIR", help=doc)


def run(args: Namespace) -> int:
    """Lays out the project and prints the paths of its files. ProgrammingError, and nothing is
    written, if one of them is there; OperationalError if one cannot be written.
    """
    directory = Path(args.directory)
    example = dict(example_files())
    for path in example:
        if (directory / path).exists():
            raise ProgrammingError(
                f'"{directory / path}" is there already',
                hint="Name a directory without such a file: acidsql test init DIR.",
            )
    try:
        for path, content in example.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            with (directory / path).open("xb") as file:
                file.write(content)
            print(directory / path)
    except OSError as error:
        raise OperationalError(f'"{error.filename}": {error.strerror}') from error
    go_to = "" if directory == Path() else f"cd {directory} && "
    print(f"{go_to}pip install 'acidsql[pytest]' && pytest", file=sys.stderr)
    return 0


def example_files() -> Iterator[tuple[Path, bytes]]:
    """The files of the example project by their paths in it."""
    with as_file(files("acidsql") / "testing" / "example_project") as root:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                yield path.relative_to(root), path.read_bytes()
