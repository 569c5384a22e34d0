"""Test a model fine-tuned on corrections: on the earlier test set, and on held-out corrections."""

import math
from collections.abc import Mapping

from nmt_core.base.config import Config
from nmt_core.evaluation.gate import Verdict, judge
from nmt_core.evaluation.metric import SlicedText
from nmt_core.evaluation.registry import GateConfig, SliceName
from nmt_core.evaluation.slices import find_slice
from stages.learning.correction_corpus import CorrectionCorpus, LearningConfig, read_held_out
from stages.params import EvaluateParams, PromotionParams
from stages.registry.exported import Exported
from stages.registry.promotion import Contest, keep_result, run_contest, translate_by_both
from stages.registry.registry import Registry
from stages.reporting.pages import render_template

GUARDS: Mapping[SliceName, float] = {"negation": 2.0, "numbers": 2.0}
"""Maximum loss in slices of the earlier test set, in points. Poisoned corrections may also be in
the held-out set, so only the earlier test set can reveal them."""

MIN_SLICE_SENTENCES = 100
"""Minimum number of sentences of a guarded slice; smaller ones often lose by chance."""

MIN_HELD_OUT = 10
"""Minimum number of held-out corrections for a test."""

HELD_OUT_METRIC = "chrf"
"""The first metric on held-out corrections: it detects a gain in fewer sentences than BLEU
(docs/results.md)."""

REASONS = {
    "superseded": "another correction of the same text is newer, or approved",
    "dropped_by_hand": "dropped by hand",
    "other_languages": "in other languages",
    "also_tested": "already in validation or test",
    "already_learnt": "drawn for the held-out set, but already in the training text",
    "near_held_out": "too close to a held-out correction",
}
"""Reasons for dropping a correction, in words; filters have names of their own."""


class Learned(Config):
    """The result of fine-tuning on corrections."""

    contest: Contest
    """Comparison on the earlier test set, with the outcome and reason of both tests."""
    corrections: CorrectionCorpus
    held_out: Verdict | None = None
    """Verdict on held-out corrections; None if they are too few, or there is no champion."""


def judge_learning(
    registry: Registry,
    challenger: Exported,
    corrections: CorrectionCorpus,
    params: EvaluateParams,
    *,
    gate: GateConfig,
    promotion: PromotionParams,
) -> Learned:
    """Return the result of comparing a fine-tuned model with the champion.

    The model wins if it is better on held-out corrections, and the gate does not reject it on the
    earlier test set. Negation and numbers are added to the gate's slices; slices of ``promotion``
    may set narrower bounds.

    Raises:
        NmtError: if the models cannot be compared.
        RegistryError: if MLflow does not answer, or lacks the champion.
    """
    guards = {
        name: min(bound, promotion.slices.get(name, bound))
        for name, bound in list_guards(challenger).items()
    }
    guarded = gate.model_copy(update={"slices": {**guards, **gate.slices}})
    contest = run_contest(registry, challenger, params, gate=guarded, promotion=promotion)
    if contest.verdict is None:
        return Learned(contest=contest, corrections=corrections)
    held_out, verdict = read_held_out(), None
    if len(held_out.sources) >= MIN_HELD_OUT:
        assert contest.champion
        champion = registry.version(contest.champion)
        old, new = translate_by_both(registry, champion, challenger, held_out, params, recased={})
        verdict = judge(old, new, adapt_gate(gate), languages=challenger.languages.codes)
    return Learned(contest=decide_both(contest, verdict), corrections=corrections, held_out=verdict)


def list_guards(challenger: Exported) -> dict[SliceName, float]:
    """Return the guarded slices of the earlier test set, with their maximum losses in points."""
    text = SlicedText(*challenger.held_out[:2], challenger.languages.codes)
    masks = {name: find_slice(name, text) for name in GUARDS}
    return {
        name: GUARDS[name]
        for name, mask in masks.items()
        if mask is not None and mask.sum() >= MIN_SLICE_SENTENCES
    }


def adapt_gate(gate: GateConfig) -> GateConfig:
    """Return the gate for held-out corrections: chrF is the first metric, and slices are off."""
    others = [name for name in gate.metrics if name != HELD_OUT_METRIC]
    return gate.model_copy(update={"metrics": [HELD_OUT_METRIC, *others], "slices": {}})


def decide_both(contest: Contest, held_out: Verdict | None) -> Contest:
    """Return the contest with the outcome of both tests; ``held_out`` is None if not tested."""
    if contest.outcome == "reject":
        return contest
    if held_out is None:
        outcome, reason = "hold", f"fewer than {MIN_HELD_OUT} corrections are held out for a test"
    else:
        outcome, reason = held_out.outcome, f"on held-out corrections, {held_out.reason}"
    earlier = f"on the earlier test set: {contest.reason}"
    return contest.model_copy(update={"outcome": outcome, "reason": f"{reason}; {earlier}"})


def record_learned(learned: Learned, challenger: Exported) -> None:
    """Write the result to the challenger's run, and send it to MLflow."""
    numbers = {"corrections_learnt": float(learned.corrections.learnt)}
    for effect in learned.held_out.effects if learned.held_out else ():
        numbers[f"corrections_{effect.metric}_difference"] = effect.difference
    keep_result("learned", learned, render_learned(learned), challenger, numbers)


def name_reason(why: str) -> str:
    """Return the reason for dropping a correction, in words."""
    return REASONS.get(why, f"filter {why}")


def count_uses(corrections: CorrectionCorpus) -> dict[str, int]:
    """Return the numbers of corrections to train on, held out, and dropped for each reason."""
    dropped = {name_reason(why): n for why, n in corrections.dropped.items()}
    return {"to train on": corrections.learnt, "held out": corrections.held_out, **dropped}


def render_corrections(corrections: CorrectionCorpus) -> str:
    """Return a table of the uses of the corrections, in Markdown."""
    return render_template("corrections.md", corrections=corrections, uses=count_uses(corrections))


def explain_shortage(corrections: CorrectionCorpus, config: LearningConfig) -> str | None:
    """Return a message about missing corrections; None if they suffice for a verdict."""
    to_learn = config.least - corrections.learnt
    to_test = MIN_HELD_OUT - corrections.held_out
    if max(to_learn, to_test) <= 0:
        return None
    missing = math.ceil(max(to_learn / (1 - config.held_out), to_test / config.held_out))
    return (
        f"about {missing:,} more corrections are needed for a verdict: {corrections.learnt:,} are "
        f"to train on, but at least {config.least:,} must be, and {corrections.held_out:,} are "
        f"held out, but at least {MIN_HELD_OUT} must be"
    )


def render_learned(learned: Learned) -> str:
    """Return the report of the fine-tuning and of its tests, in Markdown."""
    return render_template(
        "learned.md",
        learned=learned,
        contest=learned.contest,
        corrections=learned.corrections,
        uses=count_uses(learned.corrections),
        name_reason=name_reason,
    )
