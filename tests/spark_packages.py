"""Packages of Maven's that a Spark of a test fetches by its own means (Ivy)."""

from __future__ import annotations

from pathlib import Path

IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""


def spark_packages(folder: Path, *names: str) -> dict[str, str]:
    """Spark's settings for packages, each ``group:artifact:version``. A file is written to
    ``folder``: by it Ivy leaves Maven's own folder out, which may hold the description of a package
    without its jar, and that ends Spark's start.
    """
    ivy_settings = folder / "ivysettings.xml"
    ivy_settings.write_text(IVY_SETTINGS, encoding="utf-8")
    return {
        "spark.jars.packages": ",".join(names),
        "spark.jars.ivySettings": str(ivy_settings),
    }
