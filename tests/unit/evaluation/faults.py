"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "an interval of which one end is a step too far",
        "nmt_core/evaluation/sacrebleu.py",
        "drawn[-1 - beyond]",
        "drawn[-beyond]",
    ),
    (
        "validation hypotheses in the order of their length",
        "nmt_core/evaluation/validation.py",
        "hypotheses[number] =",
        "hypotheses[first + numbers.index(number)] =",
    ),
    (
        "a slice with the score of all sentences",
        "nmt_core/evaluation/slices.py",
        "counts[mask], resamples",
        "counts, resamples",
    ),
]
