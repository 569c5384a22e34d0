"""The gate: statistical tests that decide whether a challenger replaces the champion.

Both systems have translated the same test set. The gate promotes a challenger that is better in the
first metric, significantly and by a useful amount, and not worse in the other metrics. Two
one-sided tests must agree: paired bootstrap and approximate randomization. The gate rejects a
challenger that is significantly worse in any metric, keeps literals in fewer sentences, is worse on
text in another letter case, or loses too many points on a slice. P-values of losses are corrected
for their number (Holm 1979). The gate holds all other challengers. The tests judge one training,
not its settings: another seed may differ.
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
from nmt_core.base.languages import group_rows, read_languages
from nmt_core.base.random import find_binomial_tail
from nmt_core.evaluation.metric import Counts, Mask, SlicedText, SummedMetric, check_pairs
from nmt_core.evaluation.quality import find_kept_literals
from nmt_core.evaluation.registry import METRICS, GateConfig, SliceName, find_label, load_metric
from nmt_core.evaluation.significance import correct_holm, run_paired_test
from nmt_core.evaluation.slices import find_slice


@dataclass(frozen=True)
class Candidate:
    """A system and its translations of the test set."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]
    recased: Mapping[int, str] = field(default_factory=dict)
    """Translations of some sentences after a change of letter case, by sentence number."""
    directions: Sequence[str] = ()
    """The direction of each sentence, of a multilingual model."""


class Condition(Config):
    """A condition, with the scores of both systems."""

    name: Annotated[str, Field(pattern="^(literals|case|slice_.+)$")]
    label: str
    """Description for people."""
    sentences: int
    """Number of compared sentences; without sentences, the condition holds."""
    champion: float = 0.0
    challenger: float = 0.0
    worse: float = 1.0
    """P-value of the loss; for a slice, of the loss beyond its bound."""
    bound: float | None = None
    """Points that a slice may lose; None if every significant loss counts."""
    lost: float = 0.0
    """Lost points; negative for a gain."""

    @property
    def exceeds(self) -> bool:
        """Whether a slice lost more than its bound, significantly or not."""
        return self.bound is not None and self.lost > self.bound

    @property
    def loss(self) -> str:
        """A description of the loss for people."""
        limit = "" if self.bound is None else f", where it may lose {self.bound:g}"
        return f"{self.label}: {self.challenger:.2f} instead of {self.champion:.2f}{limit}"


class Effect(Config):
    """The difference between challenger and champion in one metric."""

    metric: str
    """Name of the metric."""
    champion: float
    challenger: float
    difference: float
    """Challenger minus champion."""
    better: float
    """P-value of a gain: the larger p-value of both tests."""
    worse: float
    """P-value of a loss: the larger p-value of both tests."""
    bootstrap: float
    """P-value of a gain by paired bootstrap: the share of resampled test sets without a gain."""
    randomization: float
    """P-value of a gain by approximate randomization."""

    @property
    def gain(self) -> float:
        """Points by which the challenger is better; negative if it is worse."""
        return self.difference if METRICS.load(self.metric).higher_is_better else -self.difference


class Verdict(Config):
    """The decision on a challenger, with its reason."""

    outcome: Literal["promote", "hold", "reject"]
    reason: str
    """One sentence for people."""
    effects: tuple[Effect, ...]
    """The difference in each metric of the gate."""
    conditions: tuple[Condition, ...] = ()
    refused_by: tuple[str, ...] = ()
    """Metrics and conditions that reject the challenger; ``reason`` describes the first."""
    sentences: int
    test_set: str
    """SHA-256 of sources and references."""
    signatures: list[str]
    """Signature of each metric."""
    gate: GateConfig


def judge(
    champion: Candidate, challenger: Candidate, config: GateConfig, *, languages: tuple[str, str]
) -> Verdict:
    """Return the decision on the challenger; without evidence, it is held.

    Raises:
        ConfigError: if the word tokenizer of the target language is not installed.
        NmtError: if the test sets differ, a metric cannot be tested, or the text does not support
            a slice.
        CorpusError: if the numbers of translations and references differ.
    """
    for kind in ("sources", "references"):
        if list(getattr(champion, kind)) != list(getattr(challenger, kind)):
            raise NmtError(
                f"{champion.name} and {challenger.name} have different {kind}; use one test set"
            )
    if not challenger.references:
        raise NmtError("the test set is empty; the gate needs test sentences")
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
    kept = (list_kept_literals(system, languages) for system in (champion, challenger))
    recased = count_with_other_case(champion, challenger, first[1])
    conditions = [
        compare_literals(*kept),
        compare_subset("case", f"{label} in other letter case", first, recased, config=config),
    ]
    old, new = counts[first[0]]
    for name, bound in config.slices.items():
        mask = find_configured_slice(name, text)
        subset, title = (old[mask], new[mask]), f"{label} of the slice {name}"
        conditions.append(
            compare_subset(f"slice_{name}", title, first, subset, config=config, bound=bound)
        )
    for direction, rows in group_rows(challenger.directions).items():
        bound, title = config.direction_loss, f"{label} of {direction}"
        subset = old[rows], new[rows]
        conditions.append(
            compare_subset(f"slice_{direction}", title, first, subset, config=config, bound=bound)
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


def list_kept_literals(system: Candidate, languages: tuple[str, str]) -> list[bool]:
    """Return whether each sentence keeps its literals, direction by direction."""
    kept: list[bool] = []
    directions = group_rows(system.directions or [""] * len(system.sources))
    for direction, rows in directions.items():
        kept += find_kept_literals(
            [system.sources[row] for row in rows],
            [system.hypotheses[row] for row in rows],
            [system.references[row] for row in rows],
            read_languages(direction).codes if direction else languages,
        )
    return kept


def load_testable_metric(name: str, language: str) -> SummedMetric:
    """Return a metric for which differences can be tested.

    Raises:
        ConfigError: if the word tokenizer of the target language is not installed.
        NmtError: if the metric is not a ``SummedMetric``.
    """
    metric = load_metric(name, language)
    if not isinstance(metric, SummedMetric):
        raise NmtError(
            f"{find_label(name)} has no significance test, because it is not computed from sums "
            f"over sentences; remove {name} from the gate's metrics"
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
    """Return the tested difference of champion and challenger; losing ``margin`` is allowed."""
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
    gain, loss = test.compute_gain(), test.compute_loss(margin)
    old, new = metric.score_of_sums(np.stack([champion.sum(axis=0), challenger.sum(axis=0)]))
    return Effect(
        metric=name,
        champion=float(old),
        challenger=float(new),
        difference=sign * test.observed,
        better=max(gain),
        worse=max(loss),
        bootstrap=gain[0],
        randomization=gain[1],
    )


def compare_literals(champion: Sequence[bool], challenger: Sequence[bool]) -> Condition:
    """Test whether the challenger keeps the literals of fewer sentences.

    The test is McNemar's (1947), exact and one-sided, over sentences that only one system keeps.
    """
    label = "sentences that keep all numbers and other literals, in %"
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


def count_with_other_case(
    champion: Candidate, challenger: Candidate, metric: SummedMetric
) -> tuple[Counts, Counts]:
    """Return the counts of both systems on sentences in other letter case, ignoring case."""
    numbers = sorted(champion.recased.keys() & challenger.recased.keys())
    references = [challenger.references[number].casefold() for number in numbers]
    sources = [challenger.sources[number] for number in numbers]
    old, new = (
        metric.counts([system.recased[n].casefold() for n in numbers], references, sources)
        if numbers
        else np.zeros((0, 1))
        for system in (champion, challenger)
    )
    return old, new


def find_configured_slice(name: SliceName, text: SlicedText) -> Mask:
    """Return which sentences belong to a configured slice.

    Raises:
        NmtError: if the slice is not supported for these languages.
    """
    mask = find_slice(name, text)
    if mask is None:
        raise NmtError(
            f"the slice {name!r} does not support {' and '.join(text.languages)}; remove it"
        )
    return mask


def compare_subset(
    name: str,
    label: str,
    metric: tuple[str, SummedMetric],
    counts: tuple[Counts, Counts],
    *,
    config: GateConfig,
    bound: float | None = None,
) -> Condition:
    """Test whether the challenger is worse on a subset, by more than the bound if there is one."""
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
    """Return the outcome, its reason, and the metrics and conditions that reject."""
    level = config.significance
    losses = [(effect.metric, describe_change(effect), effect.worse) for effect in effects]
    losses += [(each.name, each.loss, each.worse) for each in conditions if each.sentences]
    corrected = correct_holm([worse for _, _, worse in losses])
    significant = [
        (name, loss, probability)
        for (name, loss, _), probability in zip(losses, corrected, strict=True)
        if probability <= level
    ]
    if significant:
        _, loss, p_value = significant[0]
        correction = f", corrected for {len(losses)} tests" if len(losses) > 1 else ""
        reason = f"{loss} (p-value {p_value:.4f}{correction})"
        return "reject", reason, tuple(name for name, _, _ in significant)
    outcome, reason = judge_gain(effects, config)
    for each in conditions:
        if outcome == "promote" and each.exceeds:
            return "hold", f"{each.loss}, not significant; more test sentences may decide", ()
    return outcome, reason, ()


def judge_gain(
    effects: Sequence[Effect], config: GateConfig
) -> tuple[Literal["promote", "hold"], str]:
    """Return the outcome of a challenger that nothing rejects, and its reason."""
    first, level = effects[0], config.significance
    if first.better > level:
        return "hold", (
            f"{find_label(first.metric)} differs by {first.difference:+.2f}, which is not "
            f"significant (p-value {first.better:.4f}, above {level})"
        )
    if first.gain < config.minimum_effect:
        return "hold", (
            f"{find_label(first.metric)} is better by {first.gain:.2f}, which is significant but "
            f"below the minimum effect of {config.minimum_effect}"
        )
    if worse := next((other for other in effects[1:] if other.gain < 0), None):
        change = describe_change(worse)
        return "hold", f"{describe_change(first)}, but {change}; both metrics must agree"
    change = describe_change(first)
    return "promote", f"{change} (p-value {first.better:.4f}), and no other score is worse"


def describe_change(effect: Effect) -> str:
    """Return a description such as ``BLEU is 0.50 higher``."""
    direction = "higher" if effect.difference > 0 else "lower"
    return f"{find_label(effect.metric)} is {abs(effect.difference):.2f} {direction}"


def digest_test_set(sources: Sequence[str], references: Sequence[str]) -> str:
    """Return the SHA-256 digest of a test set."""
    return hashlib.sha256(json.dumps([[*sources], [*references]]).encode()).hexdigest()
