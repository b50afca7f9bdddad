"""Text read and written as Hive does: hive_text_values.json and the lines below are what Hive 4.0.1
printed and wrote.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from acidsql.catalog.model import Column
from acidsql.catalog.text import TextFormat
from acidsql.catalog.types import parse_type
from acidsql.spark.read.text_values import cells, line, texts, values

pytestmark = pytest.mark.spark

PRINTED: dict[str, dict[str, str | None]] = json.loads(
    (Path(__file__).parent / "hive_text_values.json").read_text("utf-8")
)
PLAIN = TextFormat(
    separators="\x01\x02\x03\x04\x05\x06\x07\x08", escape=None, null="\\N", header_lines=0
)
ESCAPED = TextFormat(separators=",;:\x04\x05\x06\x07\x08", escape="\\", null="nil", header_lines=0)


def columns(*types: str) -> tuple[Column, ...]:
    return tuple(Column(name=f"x{i}", type=parse_type(text)) for i, text in enumerate(types))


def parsed(
    spark: SparkSession,
    path: Path,
    lines: Sequence[str | bytes],
    found: tuple[Column, ...],
    text: TextFormat,
) -> list[Any]:
    path.write_bytes(
        b"".join((one if isinstance(one, bytes) else one.encode()) + b"\n" for one in lines)
    )
    read = spark.read.text(f"file://{path}").coalesce(1)
    return [
        tuple(row)
        for row in read.selectExpr(*cells(found, text))
        .selectExpr(*texts(found, text))
        .selectExpr(*values(found, text))
        .collect()
    ]


@pytest.mark.parametrize("hive_type", PRINTED)
def test_a_value_is_read_as_hive_reads_it(
    spark: SparkSession, tmp_path: Path, hive_type: str
) -> None:
    """And so is what is no value: it is NULL."""
    expected = PRINTED[hive_type]
    shown = {"binary": "hex(x1)", "decimal(38,18)": "replace(format_number(x1, 18), ',', '')"}.get(
        hive_type, "CAST(x1 AS string)"
    )
    found = columns("int", hive_type)
    path = tmp_path / "t"
    path.write_text("".join(f"{i}\x01{text}\n" for i, text in enumerate(expected)), "utf-8")
    read = (
        spark.read.text(f"file://{path}")
        .selectExpr(*cells(found, PLAIN))
        .selectExpr(*texts(found, PLAIN))
        .selectExpr(*values(found, PLAIN))
    )
    ours = {row[0]: row[1] for row in read.selectExpr("x0", shown).collect()}
    assert {text: ours[i] for i, text in enumerate(expected)} == expected


def test_escapes(spark: SparkSession, tmp_path: Path) -> None:
    """An escaped separator separates nothing; \\n and \\r are line breaks, in strings only; NULL is
    told before.
    """
    lines = [r"a\,b,x\;y;z,1,k\:1:v", r"a\\,b,2,k:v", r"a\nb\rc\tq,x\ny,3,k\n:v\n", r"\nil,nil;\nil,4,nil:1;a:nil", "trail\\",
             r"a\\\,b,c,5", r"x,y,\6,k:v:w", r"x,y,1\,2,a:1;a:2;:3;b", "", ",,,", "a,b,7,c:1,extra", "nil", r"x,\,10,k"]  # fmt: skip
    found = parsed(
        spark,
        tmp_path / "t",
        lines,
        columns("string", "array<string>", "int", "map<string,string>"),
        ESCAPED,
    )
    assert found == [
        ("a,b", ["x;y", "z"], 1, {"k:1": "v"}),
        ("a\\", ["b"], 2, {"k": "v"}),
        ("a\nb\rctq", ["x\ny"], 3, {"k\n": "v\n"}),
        ("\nil", [None, "\nil"], 4, {"a": None}),
        ("trail\\", None, None, None),
        ("a\\,b", ["c"], 5, None),
        ("x", ["y"], None, {"k": "v:w"}),
        ("x", ["y"], None, {"a": "1", "": "3", "b": None}),
        ("", None, None, None),
        ("", [], None, {}),
        ("a", ["b"], 7, {"c": "1"}),
        (None, None, None, None),
        ("x", [",10"], None, None),
    ]


def test_nested_values(spark: SparkSession, tmp_path: Path) -> None:
    """Each level has its separator; an empty text is an empty array or map; a missing part is NULL;
    the first of equal keys counts.
    """
    lines = ["1\x022\x02x\x01k\x031\x02l\x03\x01 1\x02\x02 3\x01a\x03b\x02c", "\x01\x01\x01", "\\N\x01\\N\x01\\N\x01\\N",
             "1\x02\\N\x02\x01\\N\x031\x02a\x03\\N\x02a\x034\x01\\N\x02\\N\x02\\N\x01\\N\x02\\N\x03x", "\x02\x01\x02\x01\x02\x01\x02"]  # fmt: skip
    types = (
        "array<int>",
        "map<string,int>",
        "struct<x:int,y:string,z:array<int>>",
        "array<array<string>>",
    )
    assert parsed(spark, tmp_path / "t", lines, columns(*types), PLAIN) == [
        ([1, 2, None], {"k": 1, "l": None}, (None, "", [None]), [["a", "b"], ["c"]]),
        ([], {}, (None, None, None), []),
        (None, None, None, None),
        ([1, None, None], {"a": None}, (None, None, None), [None, [None, "x"]]),
        ([None, None], {"": None}, (None, "", None), [[], []]),
    ]
    keys = parsed(
        spark,
        tmp_path / "m",
        ["1\x03a\x021\x03b\x02x\x03c\x02\x03d\x02 1\x03e\x022"],
        columns("map<int,string>"),
        PLAIN,
    )
    assert keys == [({1: "a", 2: None},)]


def test_bytes_of_another_encoding_stay(spark: SparkSession, tmp_path: Path) -> None:
    """A line that is not UTF-8 is cut like any other, and its strings keep their bytes."""
    path = tmp_path / "t"
    path.write_bytes(b"a\xff\x01b\xe9\x025\x01\xe9=\n\xc3\xa4\x01\xc3\xb6\x01YQ\n")
    found = columns("string", "array<string>", "binary")
    read = (
        spark.read.text(f"file://{path}")
        .selectExpr(*cells(found, PLAIN))
        .selectExpr(*texts(found, PLAIN))
        .selectExpr(*values(found, PLAIN))
    )
    shown = [
        tuple(row)
        for row in read.selectExpr("hex(x0)", "transform(x1, x -> hex(x))", "hex(x2)").collect()
    ]
    assert shown == [("61FF", ["62E9", "35"], "E93D"), ("C3A4", ["C3B6"], "61")]


@pytest.mark.parametrize(
    ("types", "text", "row", "written"),
    [
        ("boolean,tinyint,bigint,float,double,decimal(20,8),string,char(5),varchar(9),binary,date,timestamp", PLAIN,
         "true, 1Y, -5L, CAST(1.5 AS float), 1.0E10D, 12.5, 'str', 'ab', 'vc', unhex('00ff10'), DATE '2020-02-29', TIMESTAMP '2020-02-29 12:34:56.789'",
         "true\x011\x01-5\x011.5\x011.0E10\x0112.50000000\x01str\x01ab   \x01vc\x01AP8Q\x012020-02-29\x012020-02-29 12:34:56.789"),
        ("boolean,float,double,decimal(20,8),string,char(5),binary,date,timestamp", PLAIN,
         "false, CAST('NaN' AS float), CAST('-Infinity' AS double), 0.00000001, '', '', unhex('61'), DATE '0099-01-01', TIMESTAMP '2020-01-01 00:00:00.120'",
         "false\x01NaN\x01-Infinity\x010.00000001\x01\x01     \x01YQ\x010099-01-01\x012020-01-01 00:00:00.12"),
        ("boolean,decimal(20,8),string,array<int>,map<int,int>,struct<x:int>", PLAIN, "NULL, 0, NULL, NULL, NULL, NULL",
         "\\N\x010.00000000\x01\\N\x01\\N\x01\\N\x01\\N"),
        ("array<int>,map<string,int>,struct<x:int,y:string>,array<array<string>>,array<map<string,int>>,map<string,struct<p:int,q:array<int>>>,array<string>",
         PLAIN,
         "array(1, NULL, 3), map('k', 1, 'l', NULL), named_struct('x', 1, 'y', NULL), array(array('a', 'b'), array('c')), "
         "array(map('k', 1, 'l', 2), map('m', 3)), map('k', named_struct('p', 1, 'q', array(7, 8))), array('')",
         "1\x02\\N\x023\x01k\x031\x02l\x03\\N\x011\x02\\N\x01a\x03b\x02c\x01k\x041\x03l\x042\x02m\x043\x01k\x031\x047\x058\x01"),
        ("string,array<string>,int,char(4),timestamp", ESCAPED, "'a,b;c:d\\\\e', array('x,y', 'z;w', 'nil'), 1, ',', TIMESTAMP '2020-01-01 00:00:00'",
         "a\\,b\\;c\\:d\\\\e,x\\,y;z\\;w;nil,1,\\,   ,2020-01-01 00:00:00"),
        ("string,int", ESCAPED, "concat('l', char(1), char(4), char(8), char(9)), NULL", "l\x01\\\x04\\\x08\t,nil"),
    ],
    ids=["primitive", "odd", "null", "nested", "escaped", "control"],
)  # fmt: skip
def test_a_line_is_written_as_hive_writes_it(
    spark: SparkSession, types: str, text: TextFormat, row: str, written: str
) -> None:
    """Byte for byte; only strings are escaped."""
    found = columns(*_split(types))
    named = spark.sql(f"SELECT {row}").toDF(*[c.name for c in found])
    casts = [
        f"CAST({c.name} AS {'string' if 'char' in str(c.type) else c.type}) AS {c.name}"
        for c in found
    ]
    assert (
        named.selectExpr(*casts)
        .selectExpr(line([c.name for c in found], found, text))
        .collect()[0][0]
        == written
    )


def _split(types: str) -> list[str]:
    found, depth = [""], 0
    for mark in types:
        depth += (mark in "<(") - (mark in ">)")
        if mark == "," and not depth:
            found.append("")
        else:
            found[-1] += mark
    return found
