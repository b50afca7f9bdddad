"""File systems behind one protocol: local ones, and those pyarrow opens."""
