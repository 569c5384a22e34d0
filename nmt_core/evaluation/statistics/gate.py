"""The gate: statistical tests whether a challenger may replace the champion.

Both have translated the same untouched test set. The challenger is promoted if it is better in the
first metric by a useful amount, and by more than chance gives according to two tests at once
(paired bootstrap and approximate randomisation, one-sided), while it is no worse in the others. It
is rejected if it is shown to be worse in any, or to fall short of a condition: to keep numbers,
placeholders and the like in no fewer sentences, to translate text in other case no worse, and to
lose no slice that the settings name by more than they allow. These p-values are corrected for their
number (Holm 1979): more tests are no more occasions to be rejected by chance. Anything else is
held, a slice that seems to have lost more than it may among it: the champion stays, and neither is
proved better.

All this is of two models as they are, on the choice of test sentences. It says nothing of the
settings that made them: with another seed the same settings may lose.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from nmt_core.base.config import Config
from nmt_core.evaluation.kept_literals import find_kept_literals
from nmt_core.evaluation.metric import Counts, SummedMetric, check_pairs
from nmt_core.evaluation.registered import METRICS, find_label, load_metric
from nmt_core.evaluation.slice import Mask, SlicedText
from nmt_core.evaluation.slices import find_slice
from nmt_core.evaluation.statistics.conditions import Condition, compare_literals
from nmt_core.evaluation.statistics.resampling import correct_holm, run_paired_test
from nmt_core.evaluation.statistics.settings import GateConfig, GateError
from nmt_core.literals.literal import LiteralFinder


@dataclass(frozen=True)
class Candidate:
    """A system and how it translated the test set."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    recased: Mapping[int, str] = field(default_factory=dict)
    """Translations of some sentences whose case was changed, by their numbers."""


class Effect(Config):
    """The difference between challenger and champion in one metric."""

    metric: str
    """By its name."""
    champion: float
    challenger: float
    difference: float
    """Challenger minus champion."""
    better: float
    """Probability of so large a gain by chance: the larger one of both tests."""
    worse: float
    """Probability of so large a loss by chance."""
    bootstrap: float
    """Of a gain, by paired bootstrap: the share of test sets on which there is none."""
    randomization: float
    """Of a gain, by approximate randomisation."""

    @property
    def gain(self) -> float:
        """By how much the challenger is better: below 0 where it is worse."""
        return self.difference if METRICS.load(self.metric).higher_is_better else -self.difference


class Verdict(Config):
    """The decision on a challenger, with its reason."""

    outcome: Literal["promote", "hold", "reject"]
    reason: str
    """One sentence."""
    effects: tuple[Effect, ...]
    """In each metric of the gate."""
    conditions: tuple[Condition, ...] = ()
    refused_by: tuple[str, ...] = ()
    """Metrics and conditions for which the challenger is rejected; the reason tells the first."""
    sentences: int
    test_set: str
    """SHA-256 of sources and references."""
    signatures: list[str]
    """How each metric is computed."""
    gate: GateConfig


def judge(
    champion: Candidate,
    challenger: Candidate,
    config: GateConfig,
    *,
    languages: tuple[str, str],
    terms: Sequence[LiteralFinder] = (),
) -> Verdict:
    """Decide on the challenger.

    Args:
        champion: holds its place without evidence to the contrary.
        challenger: has to bring it.
        config: how much evidence.
        languages: codes of source and target.
        terms: those of a glossary, whose sentences can be a slice.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
        GateError: if the two did not translate the same test set, a metric cannot be tested, or
            a slice cannot be told.
        CorpusError: if translations do not pair up with references.
    """
    check_outputs(champion, challenger)
    references = challenger.references
    for system in (champion, challenger):
        check_pairs(system.hypotheses, references)
    metrics = {name: load_testable_metric(name, languages[1]) for name in config.metrics}
    counts = {
        name: [
            metric.counts(system.hypotheses, references, challenger.sources)
            for system in (champion, challenger)
        ]
        for name, metric in metrics.items()
    }
    effects = tuple(
        measure_effect(name, metric, *counts[name], config=config)
        for name, metric in metrics.items()
    )
    first, metric = next(iter(metrics.items()))
    text = SlicedText(challenger.sources, references, languages, terms=terms)
    conditions = (
        compare_literals(
            *(
                find_kept_literals(challenger.sources, system.hypotheses, references, languages)
                for system in (champion, challenger)
            )
        ),
        compare_recased(champion, challenger, first, metric, config=config),
        *(
            compare_slice(name, text, first, metric, *counts[first], config=config)
            for name in config.slices
        ),
    )
    outcome, reason, refused_by = judge_effects(effects, config, conditions)
    return Verdict(
        outcome=outcome,
        reason=reason,
        effects=effects,
        conditions=conditions,
        refused_by=refused_by,
        sentences=len(references),
        test_set=digest_test_set(challenger.sources, references),
        signatures=[metric.signature for metric in metrics.values()],
        gate=config,
    )


def check_outputs(champion: Candidate, challenger: Candidate) -> None:
    """Refuse systems that cannot be compared.

    Raises:
        GateError: naming what differs.
    """
    for what in ("sources", "references"):
        ours, theirs = getattr(champion, what), getattr(challenger, what)
        if list(ours) != list(theirs):
            where = next(
                (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False), 1) if a != b),
                min(len(ours), len(theirs)) + 1,
            )
            raise GateError(
                f"{champion.name} and {challenger.name} were tested on different {what} (first at "
                f"line {where}); translate one test set with both"
            )
    if not challenger.references:
        raise GateError("the test set is empty; a model cannot be judged without one")


def load_testable_metric(name: str, language: str) -> SummedMetric:
    """Return a metric of which differences can be tested.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
        GateError: if it is another.
    """
    metric = load_metric(name, language)
    if not isinstance(metric, SummedMetric):
        raise GateError(
            f"{find_label(name)} is no function of sums over sentences, so that differences cannot "
            f"be tested; leave {name} out of the gate's metrics"
        )
    return metric


def measure_effect(
    name: str,
    metric: SummedMetric,
    champion: Counts,
    challenger: Counts,
    *,
    config: GateConfig,
    margin: float = 0.0,
) -> Effect:
    """Measure and test the difference in one metric, from counts of sentences.

    A loss is tested against one by the margin, which is allowed.
    """
    test = run_paired_test(
        metric.score_of_sums,
        challenger,
        champion,
        resamples=config.resamples,
        trials=config.trials,
        seed=config.seed,
    )
    gain, loss = test.above(), test.below(margin)
    if not metric.higher_is_better:
        gain, loss = test.below(), test.above(margin)
    old, new = metric.score_of_sums(np.stack([champion.sum(axis=0), challenger.sum(axis=0)]))
    return Effect(
        metric=name,
        champion=float(old),
        challenger=float(new),
        difference=test.seen,
        better=max(gain),
        worse=max(loss),
        bootstrap=gain.bootstrap,
        randomization=gain.randomization,
    )


def compare_recased(
    champion: Candidate, challenger: Candidate, name: str, metric: SummedMetric, config: GateConfig
) -> Condition:
    """Test whether the challenger translates text in other case worse, case ignored."""
    label = f"{find_label(name)} in other case"
    numbers = sorted(champion.recased.keys() & challenger.recased.keys())
    if not numbers:
        return Condition(name="case", label=label, sentences=0)
    references = [challenger.references[number].casefold() for number in numbers]
    sources = [challenger.sources[number] for number in numbers]
    effect = measure_effect(
        name,
        metric,
        *(
            metric.counts([system.recased[n].casefold() for n in numbers], references, sources)
            for system in (champion, challenger)
        ),
        config=config,
    )
    return Condition(
        name="case",
        label=label,
        sentences=len(numbers),
        champion=effect.champion,
        challenger=effect.challenger,
        worse=effect.worse,
    )


def find_judged_slice(name: str, text: SlicedText) -> Mask:
    """Return which sentences belong to a slice that the settings name.

    Raises:
        GateError: if that cannot be told.
    """
    mask = find_slice(name, text)
    if mask is None:
        raise GateError(
            f"the slice {name!r} cannot be told of a test set in {' and '.join(text.languages)}, "
            f"with what the gate knows of it; leave it out of the gate's slices"
        )
    return mask


def compare_slice(
    name: str,
    text: SlicedText,
    metric_name: str,
    metric: SummedMetric,
    champion: Counts,
    challenger: Counts,
    *,
    config: GateConfig,
) -> Condition:
    """Test whether the challenger loses more of a slice than it may.

    Raises:
        GateError: if it cannot be told which sentences belong to it.
    """
    mask = find_judged_slice(name, text)
    label = f"{find_label(metric_name)} of the slice {name}"
    bound = config.slices[name]
    if not mask.any():
        return Condition(name=f"slice_{name}", label=label, sentences=0, bound=bound)
    effect = measure_effect(
        metric_name,
        metric,
        champion[mask],
        challenger[mask],
        config=config,
        margin=bound,
    )
    return Condition(
        name=f"slice_{name}",
        label=label,
        bound=bound,
        sentences=int(mask.sum()),
        champion=effect.champion,
        challenger=effect.challenger,
        worse=effect.worse,
        lost=-effect.gain,
    )


def judge_effects(
    effects: Sequence[Effect], config: GateConfig, conditions: Sequence[Condition] = ()
) -> tuple[Literal["promote", "hold", "reject"], str, tuple[str, ...]]:
    """Return the outcome, its reason, and the metrics and conditions that reject, if any do."""
    level = config.significance
    losses = [(one.metric, describe_change(one), one.worse) for one in effects]
    losses += [(one.name, one.loss, one.worse) for one in conditions if one.sentences]
    corrected = correct_holm([worse for _, _, worse in losses])
    proved = [
        (name, loss, probability)
        for (name, loss, _), probability in zip(losses, corrected, strict=True)
        if probability <= level
    ]
    if proved:
        _, loss, probability = proved[0]
        among = f", corrected for {len(losses)} tests" if len(losses) > 1 else ""
        told = "which chance alone would give with probability"
        refused_by = tuple(name for name, _, _ in proved)
        return "reject", f"{loss}, {told} {probability:.4f}{among}", refused_by
    outcome, reason = judge_gain(effects, config)
    for one in conditions:
        if outcome == "promote" and one.exceeds:
            return "hold", f"{one.loss}, which is not proved; more test sentences may decide", ()
    return outcome, reason, ()


def judge_gain(
    effects: Sequence[Effect], config: GateConfig
) -> tuple[Literal["promote", "hold"], str]:
    """Return the outcome of a challenger that is worse in nothing, and its reason."""
    first, level = effects[0], config.significance
    if first.better > level:
        return "hold", (
            f"{find_label(first.metric)} differs by {first.difference:+.2f}, which chance alone "
            f"would give with probability {first.better:.4f}, more than {level}"
        )
    if first.gain < config.minimum_effect:
        return "hold", (
            f"{find_label(first.metric)} is surely better, but by {first.gain:.2f} only; a change "
            f"is worth it from {config.minimum_effect} on"
        )
    for other in effects[1:]:
        if other.gain < 0:
            return (
                "hold",
                f"{describe_change(first)}, but {describe_change(other)}; the two should agree",
            )
    return "promote", (
        f"{describe_change(first)}, which chance alone would give with probability "
        f"{first.better:.4f}, and no other score is worse"
    )


def describe_change(effect: Effect) -> str:
    """Return in words which way a score has moved, and how far."""
    way = "higher" if effect.difference > 0 else "lower"
    return f"{find_label(effect.metric)} is {abs(effect.difference):.2f} {way}"


def digest_test_set(sources: Sequence[str], references: Sequence[str]) -> str:
    """Return a digest of a test set."""
    return hashlib.sha256(json.dumps([[*sources], [*references]]).encode()).hexdigest()
