"""Outcomes of trainings that did not run."""

from dataclasses import replace

from nmt_core.training.settings import Budget
from stages.reporting.comparison import Outcome, Run, ScoreInterval

REFERENCES = ["The owl hears the fox.", "Nobody sees the river.", "The bridge is old."] * 4


def outcome(system, seed, hypotheses, bleu, *, scores=None, **changes):
    run = Run(
        system=system,
        seed=seed,
        experiment=f"{system}-seed{seed}",
        fingerprint="f",
        scores=scores
        or {
            "bleu": ScoreInterval(value=bleu, low=bleu - 1, high=bleu + 1),
            "chrf": ScoreInterval(value=bleu + 10, low=bleu + 9, high=bleu + 11),
        },
        perplexity=4.0,
        parameters=1_500_000,
        steps=800,
        epochs=2,
        target_tokens=250_000,
        threads=1,
        train_seconds=125.0,
        sentences_per_second=None,
    )
    found = Outcome(
        run=run,
        budget=Budget(seconds=125.0),
        sources=REFERENCES,
        references=REFERENCES,
        hypotheses=hypotheses,
        signatures={"bleu": "BLEU|a", "chrf": "chrF2|a"},
        language="en",
    )
    return replace(found, **changes)
