"""The catalog's statements: `commands` carries them out, which most processes never ask for."""
