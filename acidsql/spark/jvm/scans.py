"""Scans of files, with what DataFrameReader would find out again or cannot be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from acidsql.spark.jvm.java import (
    TYPES,
    JavaObject,
    Jvm,
    array_of,
    class_object,
    java_class,
    java_strings,
    jvm,
    longs,
    need_java,
    none,
    remembered,
    scala_map,
    scala_object,
    seq,
    takes,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SOURCES = "org.apache.spark.sql.execution.datasources"
_ROOT = "https://acidsql.invalid/files"
"""A file system that lists nothing: REFRESH of a view fails there, where one that merely finds
no such directory would give no rows. Each list of files has a directory of its own there: Spark
takes two scans for the same by the roots they were told, and then reads one of them for both.
"""
_FILES_OPTION = "acidsql.files"
"""A read option that no reader knows. Spark compares it where it compares scans."""
_BLOCK_BYTES = 128 << 20


def read_files(
    spark: SparkSession,
    kind: str,
    paths: Sequence[str],
    schema: StructType | str,
    options: Mapping[str, str],
    *,
    identity: str,
) -> DataFrame:
    """``spark.read.format(kind).load(..)``, told all paths in one call: PySpark would make one for
    each of them, as it does on Spark Connect.

    ``identity``: a text that no other files have, nor these once they are others under the same
    paths. Scans of one identity may be read once for all of them, or be answered by a DataFrame
    that is cached.
    """
    options = {**options, _FILES_OPTION: identity}
    reader = spark.read.format(kind).options(**options).schema(schema)
    door = jvm(spark)
    if door is None:
        return reader.load(list(paths))
    from pyspark.sql import DataFrame

    texts = java_class(door, "java.util.regex.Pattern").compile("\0").split("\0".join(paths))
    return DataFrame(cast(Any, reader)._jreader.load(texts), spark)


def read_listed_orc(
    spark: SparkSession,
    urls: Sequence[str],
    sizes: Sequence[int],
    schema: StructType | str,
    options: Mapping[str, str],
    *,
    identity: str,
) -> DataFrame | None:
    """A scan of files whose sizes in bytes are known, which Spark then does not list again; None
    where it will not take our word, and on Spark Connect.

    ``urls`` are not escaped, as Hadoop's Path wants them. ``identity``: as of ``read_files``, of
    letters and digits.

    ``DataFrameReader.load`` asks the file system three times for each path, and for thousands of
    paths runs a job of its own. Here an InMemoryFileIndex finds the files of its only root in the
    cache that is handed to it.
    """
    from pyspark.sql import DataFrame

    door = jvm(spark)
    if door is None:
        return None
    java = cast(Any, spark)._jsparkSession
    root = java_class(door, "org.apache.hadoop.fs.Path")(f"{_ROOT}/{identity}")
    cache = java_class(door, f"{_SOURCES}.FileStatusCache").getOrCreate(java)
    cache.putLeafFiles(root, _file_statuses(spark, urls, sizes))
    if not cache.getLeafFiles(root).isDefined():  # no cache, or too many for it
        return None
    fields = java.parseDataType((struct_of(schema) if isinstance(schema, str) else schema).json())
    nothing = scala_object(door, f"{_SOURCES}.PartitionSpec").emptySpec()
    some = java_class(door, "scala.Some")
    everywhere = scala_map(door, [("recursiveFileLookup", "true")])
    index = java_class(door, f"{_SOURCES}.InMemoryFileIndex")(
        java, seq(door, root), everywhere, some(fields), cache, some(nothing), none(door)
    )
    cache.invalidateAll()  # the index has its own list; the cache is one of all sessions
    if index.allFiles().size() != len(urls):
        return None
    empty = java_class(door, f"{TYPES}.StructType")()
    kind = java_class(door, f"{_SOURCES}.orc.OrcFileFormat")()
    relation = java_class(door, f"{_SOURCES}.HadoopFsRelation")(
        index, empty, fields, none(door), kind, scala_map(door, options.items()), java
    )
    return DataFrame(java.baseRelationToDataFrame(relation), spark)


def _file_statuses(spark: SparkSession, urls: Sequence[str], sizes: Sequence[int]) -> JavaObject:
    """FileStatus[] in one go: a call for each file would take a third of a millisecond."""
    door = need_java(spark)
    texts = java_class(door, "java.util.regex.Pattern").compile("\0").split("\0".join(urls))
    paths = java_class(door, "org.apache.hadoop.util.StringUtils").stringToPath(texts)
    lengths = longs(spark, np.array(sizes, np.int64))
    handles = java_class(door, "java.lang.invoke.MethodHandles")
    make = handles.filterArguments(
        _status_maker(spark),
        0,
        array_of(
            spark,
            "java.lang.invoke.MethodHandle",
            [_getter(spark, array) for array in (lengths, paths)],
        ),
    )
    kind, integer = (
        class_object(door, "org.apache.hadoop.fs.FileStatus"),
        java_class(door, "java.lang.Integer").TYPE,
    )
    one_place = java_class(door, "java.lang.invoke.MethodType").methodType(kind, integer)
    make = handles.permuteArguments(
        make, one_place, cast(Any, spark.sparkContext._gateway).new_array(door.int, 2)
    )
    array = remembered(
        door,
        "FileStatus[]",
        lambda: _int_function(
            door, handles.arrayConstructor(class_object(door, "[Lorg.apache.hadoop.fs.FileStatus;"))
        ),
    )
    return (
        java_class(door, "java.util.stream.IntStream")
        .range(0, len(urls))
        .mapToObj(_int_function(door, make))
        .toArray(array)
    )


def _status_maker(spark: SparkSession) -> JavaObject:
    """The function from a length and a path to a FileStatus, as a MethodHandle."""
    door = need_java(spark)

    def make() -> JavaObject:
        handles = java_class(door, "java.lang.invoke.MethodHandles")
        long, integer, boolean = (
            java_class(door, f"java.lang.{name}").TYPE for name in ("Long", "Integer", "Boolean")
        )
        types = array_of(
            spark,
            "java.lang.Class",
            [long, boolean, integer, long, long, class_object(door, "org.apache.hadoop.fs.Path")],
        )
        constructor = class_object(door, "org.apache.hadoop.fs.FileStatus").getConstructor(types)
        # no directory, one replica, modified at no time
        fixed = array_of(spark, "java.lang.Object", [False, 1, _BLOCK_BYTES, 0])
        return handles.insertArguments(
            handles.publicLookup().unreflectConstructor(constructor), 1, fixed
        )

    return remembered(door, "FileStatus of length and path", make)


def _getter(spark: SparkSession, array: JavaObject) -> JavaObject:
    """The function from an index to that element of ``array``, as a MethodHandle."""
    handles = java_class(need_java(spark), "java.lang.invoke.MethodHandles")
    return handles.insertArguments(
        handles.arrayElementGetter(array.getClass()),
        0,
        array_of(spark, "java.lang.Object", [array]),
    )


def _int_function(door: Jvm, handle: JavaObject) -> JavaObject:
    return java_class(door, "java.lang.invoke.MethodHandleProxies").asInterfaceInstance(
        class_object(door, "java.util.function.IntFunction"), handle
    )


def struct_of(ddl: str) -> StructType:
    """The type of rows with columns that are written as in CREATE TABLE."""
    from pyspark.sql import types

    if hasattr(types.StructType, "fromDDL"):
        return cast("StructType", types.StructType.fromDDL(ddl))
    return cast("StructType", types._parse_datatype_string(ddl))


def search_argument_options(
    spark: SparkSession,
    ddl: str,
    names: Sequence[str],
    tests: Sequence[tuple[str, str, tuple[Any, ...]]],
) -> dict[str, str]:
    """Read options that hand ORC's readers a search argument: the conjunction of ``tests``, each
    (filter class, column, arguments).

    The classes are those of ``org.apache.spark.sql.sources``; ``ddl`` gives the types of the
    columns tested, ``names`` are all columns of the files. {} if none of the tests can be a search
    argument. UnsupportedStatementError on Spark Connect.
    """
    door = need_java(spark)
    filters = [
        java_class(door, f"org.apache.spark.sql.sources.{kind}")(column, *arguments)
        for kind, column, arguments in tests
    ]
    schema = java_class(door, f"{TYPES}.StructType").fromDDL(ddl)
    orc = f"{_SOURCES}.orc.OrcFilters"
    options = [none(door)] if takes(door, orc, "createFilter", 3) else []
    argument = java_class(door, orc).createFilter(schema, seq(door, *filters), *options)
    if not argument.isDefined():
        return {}
    conf = java_class(door, "org.apache.hadoop.conf.Configuration")(False)
    java_class(door, "org.apache.orc.mapred.OrcInputFormat").setSearchArgument(
        conf, argument.get(), java_strings(spark, names)
    )
    return {key: str(conf.get(key)) for key in ("orc.kryo.sarg", "orc.sarg.column.names")}
