"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "dates drawn twice",
        "stages/dates/generate.py",
        ".permutation(days)",
        ".integers(days, size=days)",
    ),
]
