"""The verdict on a run: whether the model is ready, why not, and what to do next."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from nmt_core.base.random import MIN_TEST_SENTENCES, find_share_interval
from nmt_core.evaluation.registry import find_label
from stages.params import EvaluateParams
from stages.reporting.evaluation import Evaluation, Remark, RunVerdict

WIDEST = 6.0
"""Maximum width in points of the first metric's interval; a wider one needs a larger test set."""

MAX_UNUSABLE = 0.01
"""Maximum share of translations that are empty, copied, looping or too long."""

MIN_KEPT = 0.95
"""Minimum share of sentences whose literals are preserved, among sentences with literals."""

SHORTEST, LONGEST = 0.96, 1.06
"""Bounds of the ratio of translated words to reference words."""

STILL_FALLING = 0.005
"""Relative fall of the validation loss at the last validation from which training was too short."""

LARGEST_ERROR = 0.1
"""Maximum expected calibration error of a useful confidence."""

UNUSABLE = {"empty": "empty", "copied": "copied", "looping": "in loops", "too_long": "too long"}
"""Failures that make a translation unusable, in words."""


def judge_run(
    evaluation: Evaluation, training: Mapping[str, Any], params: EvaluateParams, *, good: int
) -> RunVerdict:
    """Return the verdict on a run.

    ``training`` is ``training.json``; ``good`` is the number of test sentences with a chrF of at
    least ``params.good_chrf``.
    """
    share = good / max(1, evaluation.sentences)
    well = f"translated well (chrF of at least {params.good_chrf:g})"
    budget = training["params"]["budget"]
    [(unit, limit), *_] = [(unit, limit) for unit, limit in budget.items() if limit]
    longer = _set(f"train.budget.{unit}", f"{2 * limit:.12g}")
    remarks = [
        *_judge_training(share, params.good_share, well, training, longer),
        *_judge_test_set(evaluation),
        *_judge_output(evaluation),
        *_judge_confidence(evaluation),
    ]
    remarks.sort(key=lambda remark: not remark.blocks)
    ready = not any(remark.blocks for remark in remarks)
    good_part = f"{_write_share(share)} of {evaluation.sentences:,} test sentences"
    return RunVerdict(
        ready=ready,
        summary=(
            f"Ready for text like that of the test set: {good_part} are {well}."
            if ready
            else f"Not ready: {remarks[0].what[0].lower()}{remarks[0].what[1:]}"
        ),
        remarks=tuple(remarks),
    )


def _set(setting: str, value: object) -> str:
    """Return the command that changes a setting and keeps all others."""
    return f'make repro SET="{setting}={value}"'


def _write_share(share: float) -> str:
    """Return a share in per cent, rounded down."""
    return f"{math.floor(100 * share + 1e-9)}%"


def _judge_training(
    share: float, good_share: float, well: str, training: Mapping[str, Any], longer: str
) -> Iterator[Remark]:
    if share < good_share:
        yield Remark(
            what=f"{_write_share(share)} of the test sentences are {well}, fewer than the "
            f"{good_share:.0%} of evaluate.good_share.",
            advice=f"Train on more text, or train longer: {longer}, or repeat the command of this "
            f"run with TIME=1h.",
            blocks=True,
        )
    *earlier, last = [point["validation_loss"] for point in training["history"]]
    if earlier and min(earlier) - last > STILL_FALLING * abs(last):
        yield Remark(
            what=f"The validation loss was still falling when training ended: from "
            f"{min(earlier):.3f} to {last:.3f} at the last validation.",
            advice=f"Train longer: {longer} keeps all other settings.",
            blocks=False,
        )


def _judge_test_set(evaluation: Evaluation) -> Iterator[Remark]:
    label, score = find_label(evaluation.first_metric), evaluation.first_score
    width = score.high - score.low
    if evaluation.sentences < MIN_TEST_SENTENCES or width > WIDEST:
        interval = f", and {label} has an interval of {width:.1f} points" if width else ""
        yield Remark(
            what=f"The test set is too small: {evaluation.sentences:,} sentences{interval}.",
            advice="Hold out more: raise download.split.test_per_10000, or provide a larger test "
            "set.",
            blocks=True,
        )


def _judge_output(evaluation: Evaluation) -> Iterator[Remark]:
    failures = {kind: n for kind, n in evaluation.failures.items() if n and kind in UNUSABLE}
    if sum(failures.values()) > MAX_UNUSABLE * evaluation.sentences:
        kinds = ", ".join(f"{count:,} {UNUSABLE[kind]}" for kind, count in failures.items())
        yield Remark(
            what=f"Too many translations are unusable: {kinds}.",
            advice="Train longer, and check whether the worst sentences differ from the training "
            "text in kind or language.",
            blocks=True,
        )
    kept, lines = evaluation.literals.kept, evaluation.literals.lines
    if lines and kept < MIN_KEPT * lines:
        yield Remark(
            what=f"Numbers and other literals are lost: {kept:,} of {lines:,} sentences keep them.",
            advice="Train with symbols in place of numbers (train.augmentation), and check the "
            "numbers of the training text (reports/data.html).",
            blocks=find_share_interval(kept, lines)[1] < MIN_KEPT,
        )
    ratio = evaluation.length_ratio
    if not SHORTEST <= ratio <= LONGEST:
        raised = ratio < SHORTEST
        penalty = evaluation.length_penalty + (0.5 if raised else -0.5)
        yield Remark(
            what=f"Translations are too {'short' if raised else 'long'}: they have {ratio:.2f} of "
            f"the length of their references.",
            advice=f"{'Raise' if raised else 'Lower'} the length penalty as long as the scores "
            f"improve, without a new training: {_set('evaluate.beam.length_penalty', penalty)}. If "
            f"no value helps, train longer.",
            blocks=False,
        )


def _judge_confidence(evaluation: Evaluation) -> Iterator[Remark]:
    model = evaluation.confidence.model
    reliability = model.reliability if model else None
    if missing := evaluation.confidence.missing:
        yield Remark(
            what=f"Translations have no confidence: {missing}.",
            advice="Hold out more validation text: raise download.split.validation_per_10000, or "
            "provide more.",
            blocks=False,
        )
    elif reliability and reliability.error > LARGEST_ERROR:
        yield Remark(
            what=f"Confidence is not calibrated: it errs by {reliability.error:.2f} on test text.",
            advice="Hold out more validation text, of the same kind as the test text.",
            blocks=False,
        )
