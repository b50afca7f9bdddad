"""Where S3 is, for Hadoop's driver as for pyarrow's: of one set of settings for both.

Credentials of the environment Spark itself hands to its executors (SparkHadoopUtil).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from acidsql.settings import Settings
from acidsql.spark import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_USUAL_REGION = "us-east-1"


def hadoop_settings(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Settings of ``hadoop-aws`` that say what pyarrow is told, as far as anything is."""
    endpoint = settings.text("acidsql.s3.endpoint")
    region = settings.text("acidsql.s3.region") or next(
        (environ[name] for name in _REGIONS if environ.get(name)), ""
    )
    if not endpoint:
        return {"fs.s3a.endpoint.region": region} if region else {}
    path_style = settings.flag("acidsql.s3.path.style")
    return {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": region or _USUAL_REGION,
        "fs.s3a.path.style.access": "true" if path_style else "false",
    }


def hand_over(spark: SparkSession, settings: Settings, handed: set[str]) -> None:
    """Tells the session where S3 is, but for what others have said already. ``handed``: the names
    that were given so before, to which those of now are added.
    """
    for name, value in hadoop_settings(settings).items():
        if name in handed or not jvm.is_set_for_hadoop(spark, name):
            spark.conf.set(name, value)
            handed.add(name)
