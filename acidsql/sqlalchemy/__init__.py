"""The SQLAlchemy dialect ``acidsql``: engines over ``acidsql.dbapi``, and Hive's nested types."""

from acidsql.sqlalchemy.dialect import AcidSqlDialect
from acidsql.sqlalchemy.types import DOUBLE, STRING, TINYINT, Array, Map, Struct

__all__ = ["DOUBLE", "STRING", "TINYINT", "AcidSqlDialect", "Array", "Map", "Struct"]
