"""Expressions over Arrow batches, with the answers Spark gives or none at all: compiled without
Arrow (``vectorized``), run on it (``Vector.run``).
"""

from acidsql.expressions.vectors.compiler import vectorized
from acidsql.expressions.vectors.storing import store_cast
from acidsql.expressions.vectors.vector import Refusal, Uncertain, Vector

__all__ = ["Refusal", "Uncertain", "Vector", "store_cast", "vectorized"]
