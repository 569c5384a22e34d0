"""Parallel text, from wherever it comes to splits that may be trained on."""
