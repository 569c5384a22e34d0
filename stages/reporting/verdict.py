"""The verdict on a run: whether the model is ready, why not, and what to do next."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nmt_core.base import config
from nmt_core.base.binomial import FEWEST_SENTENCES, find_share_interval
from nmt_core.base.config import Config
from nmt_core.evaluation.registered import METRICS, find_label, find_metric_names

WIDEST = 6.0
"""Points between the bounds of the first metric, beyond which nothing is known."""

MOST_UNUSABLE = 0.01
"""Share of translations that may be empty, copied, looping or too long."""

LEAST_KEPT = 0.95
"""Share of the sentences with literals whose literals must come through."""

LEAST_STEADY = 0.9
"""Share of changed sentences whose literals must come through."""

SHORTEST, LONGEST = 0.96, 1.06
"""Words of translations to those of references between which nothing need be done."""

STILL_FALLING = 0.005
"""Share by which the validation loss fell at the last validation, if training ended too early."""

MOST_SHARE = 1.5
"""Times its share of the sentences that a corpus may have of the errors."""

LARGEST_ERROR = 0.1
"""Expected calibration error of a confidence that can be believed."""

LEAST_AREA = 0.65
"""Area under the ROC curve of a confidence that tells good translations from others."""

FEWEST_OF_SLICE = 30
"""Sentences of a slice of which anything is said."""


class Remark(Config):
    """Something that speaks against a model, and what to do about it."""

    what: str
    """A sentence."""
    advice: str
    """A sentence."""
    blocks: bool
    """Whether the model is not ready for that."""


class RunVerdict(Config):
    """The verdict on a run."""

    ready: bool
    summary: str
    """One sentence."""
    remarks: tuple[Remark, ...]
    """Those that block first."""


def read_verdict(measured: Mapping[str, Any]) -> RunVerdict | None:
    """Return the verdict in the metrics of an evaluation; None in those of an earlier version."""
    found = measured.get("verdict")
    return config.build(RunVerdict, found, at="evaluate.verdict") if found else None


def judge_run(
    measured: Mapping[str, Any],
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
        measured: metrics of the evaluate stage.
        training: record of the train stage, with its validations and its budget.
        good: test sentences whose chrF is at least ``good_chrf``.
        good_chrf: chrF from which on a sentence is translated well.
        good_share: share of the test sentences that must be.
        errors: of each corpus, its test sentences and its share of all errors.
        greedy: whether the search keeps one hypothesis, which no length penalty changes.
    """
    longer = _suggest_budget(training["params"]["budget"])
    found = [
        *_judge_quality(measured, good, good_chrf, good_share, longer=longer),
        *_judge_test_set(measured),
        *_judge_output(measured, greedy=greedy),
        *_judge_curve(training["history"], longer=longer),
        *_judge_corpora(errors),
        *_judge_slices(measured),
        *_judge_confidence(measured),
    ]
    remarks = sorted(found, key=lambda remark: not remark.blocks)
    share = _write_share(good / max(1, measured["sentences"]))
    told = f"{share} of {measured['sentences']:,} test sentences are translated well"
    ready = not any(remark.blocks for remark in remarks)
    return RunVerdict(
        ready=ready,
        summary=(
            f"Ready for text like that of the test set: {told} (chrF of at least {good_chrf:g})."
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
    """Return a share in per cent, none of which is more than there is."""
    return f"{math.floor(100 * share + 1e-9)}%"


def _judge_quality(
    measured: Mapping[str, Any], good: int, good_chrf: float, good_share: float, *, longer: str
) -> Iterator[Remark]:
    share = good / max(1, measured["sentences"])
    if share < good_share:
        yield Remark(
            what=(
                f"{_write_share(share)} of the test sentences are translated well (chrF of at "
                f"least {good_chrf:g}), fewer than the {good_share:.0%} of evaluate.good_share."
            ),
            advice=(
                f"Train on more text, or longer: {longer}, or, with DATA and SET as in this run: "
                f"make repro MODEL=auto TRAIN=auto TIME=1h (omitted ones revert to their defaults)."
            ),
            blocks=True,
        )
    novel = measured["novel"]
    [first, *_] = find_metric_names(measured)
    enough = novel and novel["sentences"] >= FEWEST_OF_SLICE
    if enough and _is_below(first, (novel[f"{first}_low"], novel[f"{first}_high"]), measured):
        yield Remark(
            what=(
                f"Sentences that are near none of training score {novel[first]:.1f} "
                f"{find_label(first)}, all {measured[first]:.1f}: much of the score is remembered."
            ),
            advice="Believe the lower score; remove near duplicates (download.near_duplicates).",
            blocks=False,
        )


def _judge_test_set(measured: Mapping[str, Any]) -> Iterator[Remark]:
    [first, *_] = find_metric_names(measured)
    width = measured[f"{first}_high"] - measured[f"{first}_low"]
    known = f", and {find_label(first)} is anywhere within {width:.1f} points" if width else ""
    if measured["sentences"] < FEWEST_SENTENCES or width > WIDEST:
        yield Remark(
            what=(
                f"The test set is too small to tell: {measured['sentences']:,} sentences{known}."
            ),
            advice=(
                "Hold out more: raise download.split.test_per_10000, or sessions.test_pairs there; "
                "a test set that was given, or is drawn, has to be larger."
            ),
            blocks=True,
        )
    if _lacks_intervals(first, measured):
        yield Remark(
            what=f"Nobody knows how sure the scores are: {find_label(first)} has no interval.",
            advice=f"{_set('evaluate.resamples', 1000)} computes it, without a new training.",
            blocks=False,
        )


def _judge_output(measured: Mapping[str, Any], *, greedy: bool) -> Iterator[Remark]:
    failed = {kind: n for kind, n in measured["failures"].items() if n and kind in UNUSABLE}
    if sum(failed.values()) > MOST_UNUSABLE * measured["sentences"]:
        told = ", ".join(f"{count:,} {UNUSABLE[kind]}" for kind, count in failed.items())
        yield Remark(
            what=f"Too many translations are unusable: {told}.",
            advice=(
                "Train longer; look at the worst sentences for text of another kind or language "
                "than that of training."
            ),
            blocks=True,
        )
    ratio = measured["length_ratio"]
    if not SHORTEST <= ratio <= LONGEST:
        short = ratio < SHORTEST
        advice = OF_ITSELF
        if greedy:
            advice = OF_GREEDY_SEARCH
        elif not measured.get("length_penalty_trials"):
            penalty = measured.get("length_penalty", 1.0) + (0.5 if short else -0.5)
            advice = (
                f"{'Raise' if short else 'Lower'} the length penalty as long as the scores rise: "
                f"{_set('evaluate.beam.length_penalty', penalty)} does so without a new training."
            )
        yield Remark(
            what=(
                f"Translations are too {'short' if short else 'long'}: they have {ratio:.2f} of "
                f"the length of their references."
            ),
            advice=advice,
            blocks=False,
        )
    literals = measured["literals"]
    if literals["lines"] and literals["kept"] < LEAST_KEPT * literals["lines"]:
        yield Remark(
            what=(
                f"Numbers and the like do not come through: they are kept in {literals['kept']:,} "
                f"of {literals['lines']:,} sentences."
            ),
            advice=(
                "Train with symbols in the place of numbers (train.augmentation), and look at what "
                "the training text does with them (reports/data.html)."
            ),
            blocks=_is_sure(literals["kept"], literals["lines"], LEAST_KEPT),
        )
    weak = [
        name
        for name, one in measured["behaviour"].items()
        if one["kept"]["high"] < LEAST_STEADY and name != "literals as they come"
    ]
    if weak:
        yield Remark(
            what=f"What is put into a sentence gets lost: {', '.join(weak)}.",
            advice="Train with such changes (train.augmentation).",
            blocks=False,
        )


OF_ITSELF = (
    "No length penalty has a better score on validation text: train longer, or look whether the "
    "references say as much as the source text."
)
"""What to do about a length that is not the references' once length penalties were tried."""

OF_GREEDY_SEARCH = (
    "Search with several hypotheses, among which a length penalty is chosen: "
    f"{_set('evaluate.beam.beam_size', 4)} does so without a new training."
)
"""What to do about it where there is one hypothesis alone."""

UNUSABLE = {"empty": "empty", "copied": "copied", "looping": "in loops", "too_long": "too long"}
"""Failures of which nothing can be used, in words."""


def _is_sure(count: int, total: int, bound: float) -> bool:
    return find_share_interval(count, total)[1] < bound


def _judge_curve(history: Sequence[Mapping[str, Any]], *, longer: str) -> Iterator[Remark]:
    losses = [point["validation_loss"] for point in history]
    if len(losses) > 1 and min(losses[:-1]) - losses[-1] > STILL_FALLING * abs(losses[-1]):
        yield Remark(
            what=(
                f"The validation loss was still falling when training ended: from "
                f"{min(losses[:-1]):.3f} to {losses[-1]:.3f} at the last validation."
            ),
            advice=f"Train longer: {longer} keeps all other settings.",
            blocks=False,
        )


def _judge_corpora(errors: Mapping[str, tuple[int, float]]) -> Iterator[Remark]:
    total = sum(sentences for sentences, _ in errors.values())
    for name, (sentences, share) in errors.items():
        if sentences >= FEWEST_OF_SLICE and share > MOST_SHARE * sentences / total:
            yield Remark(
                what=(
                    f"The corpus {name} has {share:.0%} of the errors, and {sentences / total:.0%} "
                    f"of the test sentences."
                ),
                advice=(
                    f"Look at {name} in reports/data.html; clean it (make clean-report), or raise "
                    f"its weight."
                ),
                blocks=False,
            )


def _judge_slices(measured: Mapping[str, Any]) -> Iterator[Remark]:
    [first, *_] = find_metric_names(measured)
    for name, one in measured["slices"].items():
        score = one["scores"].get(first)
        said = one["sentences"] >= FEWEST_OF_SLICE and name not in BY_CONFIDENCE
        if score and said and _is_below(first, score[1:], measured):
            yield Remark(
                what=(
                    f"The slice {name} ({one['label']}) is worse than the rest: {score[0]:.1f} "
                    f"{find_label(first)} on {one['sentences']:,} sentences."
                ),
                advice="Add training text of that kind."
                + f" {_set('promotion.slices', f'{{{name}:1.0}}')} holds challengers to it."
                * (name in HELD),
                blocks=False,
            )


BEST = 100 - 1e-6
"""From which on a score can hardly be any better."""

BY_CONFIDENCE = ("sure", "unsure")
"""Slices that are meant to differ."""


def _is_below(metric: str, bounds: Sequence[float], measured: Mapping[str, Any]) -> bool:
    """Tell whether an interval lies beyond that of the whole test set, on the worse side."""
    low, high = bounds
    if _lacks_intervals(metric, measured):
        return False
    if METRICS.load(metric).higher_is_better:
        return bool(high < measured[f"{metric}_low"])
    return bool(low > measured[f"{metric}_high"])


def _lacks_intervals(metric: str, measured: Mapping[str, Any]) -> bool:
    """Tell whether nothing was resampled; the best score and the worst have no width either."""
    low, high = measured[f"{metric}_low"], measured[f"{metric}_high"]
    return bool(low == high and 0 < low < BEST)


HELD = ("short", "middling", "long", "numbers", "names", "negation", "questions")
"""Slices that the gate can tell by the text alone."""


def _judge_confidence(measured: Mapping[str, Any]) -> Iterator[Remark]:
    found = measured["confidence"]
    tested = (found.get("model") or {}).get("reliability")
    if "missing" in found:
        what = f"Translations have no confidence: {found['missing']}."
        advice = (
            "Hold out more validation text: raise download.split.validation_per_10000, or "
            "sessions.validation_pairs there, or give more where it was given."
        )
    elif tested and tested["error"] > LARGEST_ERROR:
        what = f"Confidence is not calibrated: it errs by {tested['error']:.2f} on test text."
        advice = "Hold out validation text of the same kind as the test text, and more of it."
    elif tested and tested["area"] < LEAST_AREA:
        what = (
            f"Confidence hardly tells good translations from others: the area under its ROC curve "
            f"is {tested['area']:.2f}."
        )
        advice = "Do not sort by confidence before more validation text is held out."
    else:
        return
    yield Remark(what=what, advice=advice, blocks=False)
