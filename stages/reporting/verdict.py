"""The verdict on a run: whether the model is ready, why not, and what to do next."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nmt_core.base.random import FEWEST_SENTENCES, find_share_interval
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.registered import METRICS, find_label
from stages.reporting.evaluation import Evaluation, Remark, RunVerdict

WIDEST = 6.0
"""Width of the first metric's interval, in points, beyond which the test set is too small."""

MOST_UNUSABLE = 0.01
"""Share of translations that may be empty, copied, looping or too long."""

LEAST_KEPT = 0.95
"""Share of the sentences with literals whose literals must come through."""

SHORTEST, LONGEST = 0.96, 1.06
"""Words of translations to those of references between which nothing need be done."""

STILL_FALLING = 0.005
"""Share by which the validation loss fell at the last validation, if training ended too early."""

MOST_SHARE = 1.5
"""Maximum ratio of a corpus's share of the errors to its share of the sentences."""

LARGEST_ERROR = 0.1
"""Maximum expected calibration error of a confidence that can be believed."""

LEAST_AREA = 0.65
"""Minimum area under the ROC curve of a useful confidence."""

FEWEST_OF_SLICE = 30
"""Minimum sentences of a slice, a corpus or a part for a remark."""

BEST = 100 - 1e-6
"""Scores from here on can hardly be any better."""

UNUSABLE = {"empty": "empty", "copied": "copied", "looping": "in loops", "too_long": "too long"}
"""Failures that make a translation unusable, in words."""

BY_CONFIDENCE = ("sure", "unsure")
"""Slices that are meant to differ."""

HELD = ("short", "middling", "long", "numbers", "names", "negation", "questions")
"""Slices that the gate can find by the text alone."""


def judge_run(
    evaluation: Evaluation,
    training: Mapping[str, Any],
    *,
    good: int,
    good_chrf: float,
    good_share: float,
    errors: Mapping[str, tuple[int, float]],
    greedy: bool,
) -> RunVerdict:
    """Return the verdict on a run.

    Args:
        evaluation: result of the evaluate stage.
        training: ``training.json``, with its validations and its budget.
        good: test sentences whose chrF is at least ``good_chrf``.
        good_chrf: chrF from which on a sentence is translated well.
        good_share: share of the test sentences that must be.
        errors: of each corpus, its test sentences and its share of all errors.
        greedy: whether the search keeps one hypothesis, which no length penalty changes.
    """
    longer = _suggest_budget(training["params"]["budget"])
    share = good / max(1, evaluation.sentences)
    found = [
        *_judge_quality(share, good_chrf, good_share, longer=longer),
        *_judge_test_set(evaluation),
        *_judge_output(evaluation),
        *_judge_length(evaluation, greedy=greedy),
        *_judge_curve(training["history"], longer=longer),
        *_judge_corpora(errors),
        *_judge_slices(evaluation),
        *_judge_confidence(evaluation),
    ]
    remarks = sorted(found, key=lambda remark: not remark.blocks)
    ready = not any(remark.blocks for remark in remarks)
    good_part = f"{_write_share(share)} of {evaluation.sentences:,} test sentences"
    return RunVerdict(
        ready=ready,
        summary=(
            f"Ready for text like that of the test set: {good_part} are translated well (chrF of "
            f"at least {good_chrf:g})."
            if ready
            else f"Not ready: {remarks[0].what[0].lower()}{remarks[0].what[1:]}"
        ),
        remarks=tuple(remarks),
    )


def _set(setting: str, value: object) -> str:
    """Return the command that changes a setting and keeps all others."""
    return f'make repro SET="{setting}={value}"'


def _suggest_budget(budget: Mapping[str, float | None]) -> str:
    """Return the command that trains twice as long."""
    [(unit, limit), *_] = [(unit, limit) for unit, limit in budget.items() if limit]
    return _set(f"train.budget.{unit}", f"{2 * limit:.12g}")


def _write_share(share: float) -> str:
    """Return a share in per cent, rounded down."""
    return f"{math.floor(100 * share + 1e-9)}%"


def _judge_quality(
    share: float, good_chrf: float, good_share: float, *, longer: str
) -> Iterator[Remark]:
    if share < good_share:
        yield Remark(
            what=f"{_write_share(share)} of the test sentences are translated well (chrF of at "
            f"least {good_chrf:g}), fewer than the {good_share:.0%} of evaluate.good_share.",
            advice=f"Train on more text, or longer: {longer}, or, with DATA and SET as in this "
            f"run: make repro MODEL=auto TRAIN=auto TIME=1h (omitted ones revert to their "
            f"defaults).",
            blocks=True,
        )


def _judge_test_set(evaluation: Evaluation) -> Iterator[Remark]:
    name, score = evaluation.first_metric, evaluation.first_score
    width = score.high - score.low
    if evaluation.sentences < FEWEST_SENTENCES or width > WIDEST:
        known = f", and {find_label(name)} is anywhere within {width:.1f} points" if width else ""
        yield Remark(
            what=f"The test set is too small to tell: {evaluation.sentences:,} sentences{known}.",
            advice="Hold out more: raise download.split.test_per_10000, or sessions.test_pairs "
            "there; a test set that was given, or is drawn, has to be larger.",
            blocks=True,
        )
    if _lacks_interval(score):
        yield Remark(
            what=f"It is unknown how sure the scores are: {find_label(name)} has no interval.",
            advice=f"{_set('evaluate.resamples', 1000)} computes it, without a new training.",
            blocks=False,
        )
    novel = evaluation.novel
    if novel and novel.sentences >= FEWEST_OF_SLICE and _is_below(evaluation, novel.scores[name]):
        yield Remark(
            what=f"Sentences near none of training score {novel.scores[name].value:.1f} "
            f"{find_label(name)}, all {score.value:.1f}: much of the score is remembered.",
            advice="Believe the lower score; remove near duplicates (download.near_duplicates).",
            blocks=False,
        )


def _judge_output(evaluation: Evaluation) -> Iterator[Remark]:
    failures = {kind: n for kind, n in evaluation.failures.items() if n and kind in UNUSABLE}
    if sum(failures.values()) > MOST_UNUSABLE * evaluation.sentences:
        kinds = ", ".join(f"{count:,} {UNUSABLE[kind]}" for kind, count in failures.items())
        yield Remark(
            what=f"Too many translations are unusable: {kinds}.",
            advice="Train longer; look at the worst sentences for text of another kind or language "
            "than that of training.",
            blocks=True,
        )
    kept, lines = evaluation.literals.kept, evaluation.literals.lines
    if lines and kept < LEAST_KEPT * lines:
        yield Remark(
            what=f"Numbers and the like do not come through: they are kept in {kept:,} of "
            f"{lines:,} sentences.",
            advice="Train with symbols in the place of numbers (train.augmentation), and look at "
            "what the training text does with them (reports/data.html).",
            blocks=find_share_interval(kept, lines)[1] < LEAST_KEPT,
        )


def _judge_length(evaluation: Evaluation, *, greedy: bool) -> Iterator[Remark]:
    ratio = evaluation.length_ratio
    if SHORTEST <= ratio <= LONGEST:
        return
    short = ratio < SHORTEST
    if greedy:
        advice = (
            "Search with several hypotheses, among which a length penalty is chosen: "
            f"{_set('evaluate.beam.beam_size', 4)} does so without a new training."
        )
    elif evaluation.length_penalty_trials:
        advice = (
            "No length penalty has a better score on validation text: train longer, or look "
            "whether the references say as much as the source text."
        )
    else:
        penalty = evaluation.length_penalty + (0.5 if short else -0.5)
        advice = (
            f"{'Raise' if short else 'Lower'} the length penalty as long as the scores rise: "
            f"{_set('evaluate.beam.length_penalty', penalty)} does so without a new training."
        )
    yield Remark(
        what=f"Translations are too {'short' if short else 'long'}: they have {ratio:.2f} of the "
        f"length of their references.",
        advice=advice,
        blocks=False,
    )


def _judge_curve(history: Sequence[Mapping[str, Any]], *, longer: str) -> Iterator[Remark]:
    *earlier, last = [point["validation_loss"] for point in history]
    if earlier and min(earlier) - last > STILL_FALLING * abs(last):
        yield Remark(
            what=f"The validation loss was still falling when training ended: from "
            f"{min(earlier):.3f} to {last:.3f} at the last validation.",
            advice=f"Train longer: {longer} keeps all other settings.",
            blocks=False,
        )


def _judge_corpora(errors: Mapping[str, tuple[int, float]]) -> Iterator[Remark]:
    total = sum(sentences for sentences, _ in errors.values())
    for name, (sentences, share) in errors.items():
        if sentences >= FEWEST_OF_SLICE and share > MOST_SHARE * sentences / total:
            yield Remark(
                what=f"The corpus {name} has {share:.0%} of the errors, and "
                f"{sentences / total:.0%} of the test sentences.",
                advice=f"Look at {name} in reports/data.html; clean it (make clean-report), or "
                f"raise its weight.",
                blocks=False,
            )


def _judge_slices(evaluation: Evaluation) -> Iterator[Remark]:
    for name, part in evaluation.slices.items():
        if part.sentences < FEWEST_OF_SLICE or name in BY_CONFIDENCE:
            continue
        if (bounds := part.scores.get(evaluation.first_metric)) is None:
            continue
        score = ScoreInterval(value=bounds[0], low=bounds[1], high=bounds[2])
        if _is_below(evaluation, score):
            hold = f" {_set('promotion.slices', f'{{{name}:1.0}}')} holds challengers to it."
            yield Remark(
                what=f"The slice {name} ({part.label}) is worse than the rest: {score.value:.1f} "
                f"{find_label(evaluation.first_metric)} on {part.sentences:,} sentences.",
                advice=f"Add training text of that kind.{hold if name in HELD else ''}",
                blocks=False,
            )


def _is_below(evaluation: Evaluation, part: ScoreInterval) -> bool:
    """Tell whether an interval lies beyond that of the whole test set, on the worse side."""
    whole = evaluation.first_score
    if _lacks_interval(whole):
        return False
    if METRICS.load(evaluation.first_metric).higher_is_better:
        return part.high < whole.low
    return part.low > whole.high


def _lacks_interval(score: ScoreInterval) -> bool:
    """Tell whether nothing was resampled; the best score and the worst have no width either."""
    return score.low == score.high and 0 < score.low < BEST


def _judge_confidence(evaluation: Evaluation) -> Iterator[Remark]:
    model = evaluation.confidence.model
    reliability = model.reliability if model else None
    if evaluation.confidence.missing:
        what = f"Translations have no confidence: {evaluation.confidence.missing}."
        advice = (
            "Hold out more validation text: raise download.split.validation_per_10000, or "
            "sessions.validation_pairs there, or give more where it was given."
        )
    elif reliability and reliability.error > LARGEST_ERROR:
        what = f"Confidence is not calibrated: it errs by {reliability.error:.2f} on test text."
        advice = "Hold out validation text of the same kind as the test text, and more of it."
    elif reliability and reliability.area < LEAST_AREA:
        what = (
            f"Confidence hardly tells good translations from others: the area under its ROC curve "
            f"is {reliability.area:.2f}."
        )
        advice = "Do not sort by confidence before more validation text is held out."
    else:
        return
    yield Remark(what=what, advice=advice, blocks=False)
