"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "p-values corrected as if all were the smallest",
        "nmt_core/evaluation/statistics/holm.py",
        "(len(p_values) - rank) * p_values[number]",
        "len(p_values) * p_values[number]",
    ),
    (
        "the same thousand exchanges again and again",
        "nmt_core/evaluation/statistics/resampling.py",
        'generator(seed, "exchange", number)',
        'generator(seed, "exchange", 0)',
    ),
    (
        "the same thousand test sets again and again",
        "nmt_core/evaluation/statistics/resampling.py",
        'generator(seed, "bootstrap", number)',
        'generator(seed, "bootstrap", 0)',
    ),
    (
        "a comparison that asks about one side",
        "nmt_core/evaluation/statistics/resampling.py",
        "np.abs(self.exchanged) >= far",
        "self.exchanged >= self.seen",
    ),
    (
        "a slice whose bound is on the wrong side",
        "nmt_core/evaluation/statistics/resampling.py",
        "self.drawn >= -margin",
        "self.drawn >= margin",
    ),
    (
        "a slice that is judged by all sentences",
        "nmt_core/evaluation/statistics/gate.py",
        "champion[mask],",
        "champion,",
    ),
    (
        "a slice that seems lost is promoted",
        "nmt_core/evaluation/statistics/gate.py",
        'outcome == "promote" and one.exceeds',
        'outcome == "promote" and one.exceeds is None',
    ),
]
