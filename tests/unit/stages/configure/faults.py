"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a choice that overrules who chose",
        "stages/configure/compose.py",
        "apply_changes(apply_changes(start, chosen.settings), settings)",
        "apply_changes(apply_changes(start, settings), chosen.settings)",
    ),
    (
        "much text read but once as little text is read often",
        "stages/configure/auto.py",
        "if tokens >= row.passes * epoch]",
        "if tokens >= row.passes]",
    ),
]
