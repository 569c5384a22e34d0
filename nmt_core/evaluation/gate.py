"""The gate: statistical tests whether a challenger may replace the champion.

Both have translated the same untouched test set. The challenger is promoted if it is better in the
first metric by a useful amount, and by more than chance gives according to two one-sided tests
(paired bootstrap and approximate randomization), and no worse in the others. It is rejected if it
is shown to be worse in any metric, or to violate a condition: to keep literals in no fewer
sentences, to translate text in other case no worse, and to lose no slice by more than the settings
allow. These p-values are corrected for their number (Holm 1979). Otherwise it is held. The tests
say nothing of the settings: with another seed the same settings may lose.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.base.random import find_binomial_tail
from nmt_core.evaluation.metric import Counts, Mask, SlicedText, SummedMetric, check_pairs
from nmt_core.evaluation.quality import find_kept_literals
from nmt_core.evaluation.registered import METRICS, GateConfig, SliceName, find_label, load_metric
from nmt_core.evaluation.significance import correct_holm, run_paired_test
from nmt_core.evaluation.slices import find_slice


@dataclass(frozen=True)
class Candidate:
    """A system and how it translated the test set."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    recased: Mapping[int, str] = field(default_factory=dict)
    """Translations of some sentences whose case was changed, by their numbers."""


class Condition(Config):
    """A condition, with what was measured of both systems."""

    name: Annotated[str, Field(pattern="^(literals|case|slice_.+)$")]
    label: str
    """Name for people."""
    sentences: int
    """Number of sentences on which both were compared; 0 demands nothing."""
    champion: float = 0.0
    challenger: float = 0.0
    worse: float = 1.0
    """Probability of so large a loss by chance; of a slice, beyond its bound."""
    bound: float | None = None
    """Points that a slice may lose; None if any proved loss counts."""
    lost: float = 0.0
    """Points that were lost; negative after a gain."""

    @property
    def exceeds(self) -> bool:
        """Tells whether a slice has lost more than it may, proved or not."""
        return self.bound is not None and self.lost > self.bound

    @property
    def loss(self) -> str:
        """Says in words what has got worse."""
        may = "" if self.bound is None else f", where it may lose {self.bound:g}"
        return f"{self.label}: {self.challenger:.2f} instead of {self.champion:.2f}{may}"


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
) -> Verdict:
    """Decide on the challenger; the champion keeps its place without evidence to the contrary.

    Raises:
        ConfigError: if the tokenizer of the language's words is not installed.
        NmtError: if the two did not translate the same test set, a metric cannot be tested, or
            a slice cannot be found.
        CorpusError: if translations do not pair up with references.
    """
    check_outputs(champion, challenger)
    references = challenger.references
    for system in (champion, challenger):
        check_pairs(system.hypotheses, references)
    metrics = {name: load_testable_metric(name, languages[1]) for name in config.metrics}
    counts = {
        name: (
            metric.counts(champion.hypotheses, references, challenger.sources),
            metric.counts(challenger.hypotheses, references, challenger.sources),
        )
        for name, metric in metrics.items()
    }
    effects = tuple(
        measure_effect(name, metric, counts[name], config=config)
        for name, metric in metrics.items()
    )
    first = next(iter(metrics.items()))
    text, label = SlicedText(challenger.sources, references, languages), find_label(first[0])
    kept = (
        find_kept_literals(challenger.sources, system.hypotheses, references, languages)
        for system in (champion, challenger)
    )
    recased = count_recased(champion, challenger, first[1])
    conditions = [
        compare_literals(*kept),
        compare_part("case", f"{label} in other case", first, recased, config=config),
    ]
    ours, theirs = counts[first[0]]
    for name, bound in config.slices.items():
        mask = find_judged_slice(name, text)
        part, title = (ours[mask], theirs[mask]), f"{label} of the slice {name}"
        conditions.append(
            compare_part(f"slice_{name}", title, first, part, config=config, bound=bound)
        )
    outcome, reason, refused_by = judge_effects(effects, config, conditions)
    return Verdict(
        outcome=outcome,
        reason=reason,
        effects=effects,
        conditions=tuple(conditions),
        refused_by=refused_by,
        sentences=len(references),
        test_set=digest_test_set(challenger.sources, references),
        signatures=[metric.signature for metric in metrics.values()],
        gate=config,
    )


def check_outputs(champion: Candidate, challenger: Candidate) -> None:
    """Refuse systems that cannot be compared.

    Raises:
        NmtError: naming what differs.
    """
    for what in ("sources", "references"):
        ours, theirs = getattr(champion, what), getattr(challenger, what)
        if list(ours) != list(theirs):
            raise NmtError(
                f"{champion.name} and {challenger.name} were tested on different {what}; translate "
                f"one test set with both"
            )
    if not challenger.references:
        raise NmtError("the test set is empty; a model cannot be judged without one")


def load_testable_metric(name: str, language: str) -> SummedMetric:
    """Return a metric of which differences can be tested.

    Raises:
        ConfigError: if the tokenizer of the language's words is not installed.
        NmtError: if differences cannot be tested.
    """
    metric = load_metric(name, language)
    if not isinstance(metric, SummedMetric):
        raise NmtError(
            f"{find_label(name)} is not a function of sums over sentences and cannot be tested; "
            f"leave {name} out of the gate's metrics"
        )
    return metric


def measure_effect(
    name: str,
    metric: SummedMetric,
    counts: tuple[Counts, Counts],
    *,
    config: GateConfig,
    margin: float = 0.0,
) -> Effect:
    """Test the difference of champion's and challenger's counts; losing the margin is allowed."""
    champion, challenger = counts
    sign = 1 if metric.higher_is_better else -1
    test = run_paired_test(
        lambda sums: sign * metric.score_of_sums(sums),
        challenger,
        champion,
        resamples=config.resamples,
        trials=config.trials,
        seed=config.seed,
    )
    gain, loss = test.above(), test.below(margin)
    old, new = metric.score_of_sums(np.stack([champion.sum(axis=0), challenger.sum(axis=0)]))
    return Effect(
        metric=name,
        champion=float(old),
        challenger=float(new),
        difference=sign * test.seen,
        better=max(gain),
        worse=max(loss),
        bootstrap=gain[0],
        randomization=gain[1],
    )


def compare_literals(champion: Sequence[bool], challenger: Sequence[bool]) -> Condition:
    """Test whether the challenger keeps the literals of fewer sentences.

    The test is McNemar's (1947), exact and one-sided: of sentences in which one alone of both keeps
    them, a fair coin says which.
    """
    label = "sentences whose numbers and the like all come through, in %"
    pairs = list(zip(champion, challenger, strict=True))
    if not pairs:
        return Condition(name="literals", label=label, sentences=0)
    lost, won = pairs.count((True, False)), pairs.count((False, True))
    return Condition(
        name="literals",
        label=label,
        sentences=len(pairs),
        champion=100 * sum(champion) / len(pairs),
        challenger=100 * sum(challenger) / len(pairs),
        worse=find_binomial_tail(lost, lost + won),
    )


def count_recased(
    champion: Candidate, challenger: Candidate, metric: SummedMetric
) -> tuple[Counts, Counts]:
    """Return the counts of both on sentences in other case, case ignored."""
    numbers = sorted(champion.recased.keys() & challenger.recased.keys())
    references = [challenger.references[number].casefold() for number in numbers]
    sources = [challenger.sources[number] for number in numbers]
    ours, theirs = (
        metric.counts([system.recased[n].casefold() for n in numbers], references, sources)
        if numbers
        else np.zeros((0, 1))
        for system in (champion, challenger)
    )
    return ours, theirs


def find_judged_slice(name: SliceName, text: SlicedText) -> Mask:
    """Return which sentences belong to a slice that the settings name.

    Raises:
        NmtError: if the slice cannot be found.
    """
    mask = find_slice(name, text)
    if mask is None:
        raise NmtError(
            f"the slice {name!r} cannot be found in a test set in {' and '.join(text.languages)}; "
            f"leave it out of the gate's slices"
        )
    return mask


def compare_part(
    name: str,
    label: str,
    metric: tuple[str, SummedMetric],
    counts: tuple[Counts, Counts],
    *,
    config: GateConfig,
    bound: float | None = None,
) -> Condition:
    """Test whether the challenger is worse on a part of the text, by more than the bound if any."""
    if not len(counts[0]):
        return Condition(name=name, label=label, sentences=0, bound=bound)
    effect = measure_effect(*metric, counts, config=config, margin=bound or 0.0)
    return Condition(
        name=name,
        label=label,
        bound=bound,
        sentences=len(counts[0]),
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
        reason = f"{loss}, which chance alone would give with probability {probability:.4f}{among}"
        return "reject", reason, tuple(name for name, _, _ in proved)
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
    if worse := next((other for other in effects[1:] if other.gain < 0), None):
        change = describe_change(worse)
        return "hold", f"{describe_change(first)}, but {change}; the two should agree"
    return "promote", (
        f"{describe_change(first)}, which chance alone would give with probability "
        f"{first.better:.4f}, and no other score is worse"
    )


def describe_change(effect: Effect) -> str:
    """Return in words which way a score has moved, and how far."""
    direction = "higher" if effect.difference > 0 else "lower"
    return f"{find_label(effect.metric)} is {abs(effect.difference):.2f} {direction}"


def digest_test_set(sources: Sequence[str], references: Sequence[str]) -> str:
    """Return a digest of a test set."""
    return hashlib.sha256(json.dumps([[*sources], [*references]]).encode()).hexdigest()
