"""Everything that reaches into Spark's Java process: the only package that may say ``_jvm``,
``_jsc``, ``_jdf`` or ``sparkContext``.

Each use stands behind a plain function, which says what it does on Spark Connect, where there is no
such process: a value with which the caller takes another way, slower and to the same rows, or an
UnsupportedStatementError. There is no other way to the ids of files without ACID columns, past
header lines, to several partitions or a MERGE by Spark's tasks and to Hadoop's file systems: those
refuse. Nor has each Spark all of that: what one has is asked of it, not of its version, and another
way stands behind the same function where it lacks something. Spark's internal classes that are
named here are pinned by tests/spark/test_jvm.py, the answers without a Java process by
tests/spark/test_jvm_connect.py.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acidsql.spark.jvm.functions import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """A session that starts no Spark loads none of it."""
        functions = vars(import_module(f"{__name__}.functions"))
        if name not in functions["__all__"]:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, functions[name])
