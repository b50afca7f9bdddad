"""The errors of pyarrow's file systems as OSErrors with a number and a path."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

# What stores say in their messages, for lack of an error number.
_WORDS = (
    (
        errno.ENOENT,
        (
            "NO_SUCH_KEY",
            "NO_SUCH_BUCKET",
            "HTTP status 404",
            "[BlobNotFound]",
            "[ContainerNotFound]",
            "No such directory",
        ),
    ),
    (
        errno.EACCES,
        (
            "ACCESS_DENIED",
            "INVALID_ACCESS_KEY_ID",
            "SIGNATURE_DOES_NOT_MATCH",
            "HTTP status 403",
            "HTTP status 401",
        ),
    ),
    (
        errno.EACCES,
        (
            "[AuthorizationFailure]",
            "[AuthorizationPermissionMismatch]",
            "[AuthenticationFailed]",
            "PERMISSION_DENIED",
        ),
    ),
)


@contextlib.contextmanager
def os_errors(path: str) -> Iterator[None]:
    """pyarrow's errors come out as OSErrors that name ``path``."""
    try:
        yield
    except NotImplementedError as error:
        raise OSError(errno.ENOTSUP, _first_line(error), path) from error
    except (ValueError, EOFError) as error:
        raise OSError(errno.EINVAL, _first_line(error), path) from error
    except OSError as error:
        if error.filename is not None:
            raise
        text = _first_line(error)
        code = error.errno or next(
            (code for code, words in _WORDS if any(word in text for word in words)), errno.EIO
        )
        raise OSError(code, text, path) from error


def _first_line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.partition("\n")[0].partition(" Detail: ")[0]


def os_error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)
