"""Test a model fine-tuned on corrections: on the earlier test set, and on held-out corrections."""

import math
from collections.abc import Mapping
from pathlib import Path

from nmt_core.base.config import Config
from nmt_core.evaluation.gate import Verdict, judge
from nmt_core.evaluation.metric import SlicedText
from nmt_core.evaluation.registered import GateConfig, SliceName
from nmt_core.evaluation.slices import find_slice
from stages.learning.correction_corpus import (
    FOLDER,
    CorrectionCorpus,
    LearningConfig,
    read_held_out,
)
from stages.params import EvaluateParams, PromotionParams
from stages.registry.exported import Exported
from stages.registry.promotion import (
    Contest,
    keep_result,
    run_contest,
    translate_by_both,
)
from stages.registry.registry import Registry
from stages.reporting.pages import render_template

GUARDS: Mapping[SliceName, float] = {"negation": 2.0, "numbers": 2.0}
"""Points that fine-tuning may lose in a slice of the earlier test set. Poisoned corrections are
among the held-out ones, too, so only the earlier text can reveal them."""

LEAST_SENTENCES = 100
"""Minimum sentences of such a slice: a smaller one seems to lose by chance."""

LEAST_HELD_OUT = 10
"""Minimum held-out corrections of a test."""

HELD_OUT_METRIC = "chrf"
"""Must be better on corrections set aside: these are few, and it finds a gain in fewer sentences
than BLEU does (docs/results.md), which may be no worse there."""

REASONS = {
    "superseded": "another correction of the same text is newer, or approved",
    "dropped_by_hand": "dropped by hand",
    "other_languages": "of other languages",
    "also_tested": "stands in validation or test",
    "already_learnt": "to be tested on, but stands in the training text",
    "near_held_out": "near to one that is tested on",
}
"""Why a correction is not learnt, but for filters, which have names of their own."""


class Learned(Config):
    """The result of fine-tuning on corrections."""

    contest: Contest
    """On the earlier test set, with the outcome and reason of both tests."""
    corrections: CorrectionCorpus
    held_out: Verdict | None = None
    """On the held-out corrections; None if they are too few, or there was no champion to meet."""


def judge_learning(
    registry: Registry,
    challenger: Exported,
    corrections: CorrectionCorpus,
    params: EvaluateParams,
    *,
    gate: GateConfig,
    promotion: PromotionParams,
    folder: Path = FOLDER,
) -> Learned:
    """Test a fine-tuned model against the champion.

    It wins if it is better on the corrections that were set aside, and the gate, to which negation
    and numbers are added as slices, does not reject it on the test set of before. Slices of
    ``promotion`` may set narrower bounds.

    Raises:
        NmtError: if the two cannot be compared.
        RegistryError: if MLflow is away, or lacks the champion.
    """
    guards = {
        name: min(bound, promotion.slices.get(name, bound))
        for name, bound in list_guards(challenger).items()
    }
    guarded = gate.model_copy(update={"slices": {**guards, **gate.slices}})
    contest = run_contest(registry, challenger, params, gate=guarded, promotion=promotion)
    if contest.verdict is None:
        return Learned(contest=contest, corrections=corrections)
    held_out, verdict = read_held_out(folder), None
    if len(held_out.sources) >= LEAST_HELD_OUT:
        assert contest.champion
        champion = registry.version(contest.champion)
        old, new = translate_by_both(registry, champion, challenger, held_out, params, recased={})
        verdict = judge(old, new, adapt_gate(gate), languages=challenger.languages.codes)
    return Learned(
        contest=decide_both(contest, verdict),
        corrections=corrections,
        held_out=verdict,
    )


def list_guards(challenger: Exported) -> dict[SliceName, float]:
    """Return the slices of the earlier test set that may not get worse, with their bounds."""
    text = SlicedText(*challenger.held_out, challenger.languages.codes)
    found = {name: find_slice(name, text) for name in GUARDS}
    return {
        name: GUARDS[name]
        for name, mask in found.items()
        if mask is not None and mask.sum() >= LEAST_SENTENCES
    }


def adapt_gate(gate: GateConfig) -> GateConfig:
    """Return the gate for corrections set aside: by chrF first, and without slices."""
    others = [name for name in gate.metrics if name != HELD_OUT_METRIC]
    return gate.model_copy(update={"metrics": [HELD_OUT_METRIC, *others], "slices": {}})


def decide_both(contest: Contest, held_out: Verdict | None) -> Contest:
    """Return the contest with the outcome of the tests on both texts."""
    if contest.outcome == "reject":
        return contest
    if held_out is None:
        outcome, reason = (
            "hold",
            f"fewer than {LEAST_HELD_OUT} corrections are set aside to test on",
        )
    else:
        outcome, reason = held_out.outcome, f"on corrections set aside, {held_out.reason}"
    before = f"on the text of before: {contest.reason}"
    return contest.model_copy(update={"outcome": outcome, "reason": f"{reason}; {before}"})


def record_learned(learned: Learned, challenger: Exported) -> None:
    """Keep the result with the run of the challenger, and send it to MLflow."""
    numbers = {"corrections_learnt": float(learned.corrections.learnt)}
    for effect in learned.held_out.effects if learned.held_out else ():
        numbers[f"corrections_{effect.metric}_difference"] = effect.difference
    keep_result("learned", learned, render_learned(learned), challenger, numbers)


def name_reason(why: str) -> str:
    """Return in words why a correction is not learnt."""
    return REASONS.get(why, f"filter {why}")


def list_fates(corrections: CorrectionCorpus) -> dict[str, int]:
    """Return how many corrections are learnt, are set aside, or are left out for each reason."""
    left_out = {name_reason(why): n for why, n in corrections.dropped.items()}
    return {
        "learnt": corrections.learnt,
        "set aside, to be tested on": corrections.held_out,
        **left_out,
    }


def render_corrections(corrections: CorrectionCorpus) -> str:
    """Return in Markdown what became of the corrections."""
    return render_template("corrections.md", corrections=corrections, fates=list_fates(corrections))


def explain_shortage(corrections: CorrectionCorpus, config: LearningConfig) -> str | None:
    """Return why no verdict can come, and what is missing; None if one can."""
    to_learn = config.least - corrections.learnt
    to_test = LEAST_HELD_OUT - corrections.held_out
    if max(to_learn, to_test) <= 0:
        return None
    missing = math.ceil(max(to_learn / (1 - config.held_out), to_test / config.held_out))
    return (
        f"about {missing:,} more corrections are needed for a verdict: {corrections.learnt:,} can "
        f"be learnt, of at least {config.least:,}, and {corrections.held_out:,} are set aside to "
        f"test on, of at least {LEAST_HELD_OUT}"
    )


def render_learned(learned: Learned) -> str:
    """Return in Markdown what was learnt, what was not and why, and what has got worse."""
    return render_template(
        "learned.md",
        learned=learned,
        contest=learned.contest,
        corrections=learned.corrections,
        fates=list_fates(learned.corrections),
        name_reason=name_reason,
    )
