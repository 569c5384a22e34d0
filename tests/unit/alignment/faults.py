"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "an aligner's empty word that forgets its place",
        "nmt_core/alignment/lattice.py",
        "after = arrived + none[word] * state",
        "after = arrived + none[word] * start",
    ),
    (
        "an aligner's jumps that are only counted",
        "nmt_core/alignment/jumps.py",
        "weights = (jumps + smoothing) / offered",
        "weights = jumps + smoothing",
    ),
    (
        "links chosen by one direction",
        "nmt_core/alignment/links.py",
        "likely = forward * backward > threshold**2",
        "likely = forward * forward > threshold**2",
    ),
]
