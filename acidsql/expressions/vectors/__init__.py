"""Expressions over Arrow batches, with the answers Spark gives or none at all: compiled without
Arrow (``vectorized``), run on it (``Vector.run``).
"""

from acidsql.expressions.not_here import NotHere
from acidsql.expressions.vectors.compiler import store_cast, vectorized
from acidsql.expressions.vectors.operators import Vector

__all__ = ["NotHere", "Vector", "store_cast", "vectorized"]
