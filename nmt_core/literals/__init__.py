"""Literals: parts of a line that must come through a translation, as they are or in its form."""
