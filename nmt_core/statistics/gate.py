"""Whether a challenger may take the champion's place: promoted on evidence, or not at all.

Both have translated the same untouched test set. The challenger is promoted if its BLEU is better
by a useful amount, and by more than chance gives according to two tests at once (paired bootstrap
and approximate randomisation, one-sided), while its chrF is no lower. It is rejected if either is
shown to be worse. Anything else is held: the champion stays, and nobody was proved wrong.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from nmt_core.config import Config
from nmt_core.errors import NmtError
from nmt_core.evaluation.scores import bleu, chrf
from nmt_core.evaluation.scores import check as check_hypotheses
from nmt_core.statistics.resampling import (
    FORMULAS,
    Counts,
    MetricName,
    bootstrapped,
    counts_of,
    difference,
    exchanged,
    p_value,
)


class GateError(NmtError):
    """Two systems cannot be compared."""


class GateConfig(Config):
    """How much evidence a promotion takes."""

    significance: float = Field(0.04, gt=0, lt=0.5)
    """Probability up to which a difference is taken for more than chance; of equal systems, about
    this share is promoted. It keeps some distance to the usual 0.05, which is the promise."""

    minimum_effect: float = Field(0.3, ge=0)
    """BLEU points below which a better model is not worth a change, however sure one is."""

    resamples: int = Field(1000, ge=100)
    """Of the bootstrap."""

    trials: int = Field(10_000, ge=100)
    """Of the randomisation; no probability comes out below one in so many."""

    seed: int = Field(1, ge=0)
    """Draws resamples and trials."""


@dataclass(frozen=True)
class Candidate:
    """A system and how it translated the test set."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Sequence[str]


class Effect(Config):
    """How the challenger differs from the champion in one metric."""

    metric: MetricName
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


class Verdict(Config):
    """What becomes of the challenger, and why."""

    outcome: Literal["promote", "hold", "reject"]
    reason: str
    """One sentence."""
    effects: tuple[Effect, ...]
    """In BLEU, then in chrF2."""
    sentences: int
    test_set: str
    """SHA-256 of sources and references."""
    signatures: tuple[str, str]
    """sacreBLEU's, of BLEU and of chrF2."""
    gate: GateConfig


def judge(
    champion: Candidate, challenger: Candidate, config: GateConfig, *, language: str
) -> Verdict:
    """Return what becomes of the challenger.

    Args:
        champion: holds its place without evidence to the contrary.
        challenger: has to bring it.
        config: how much evidence.
        language: the target language's code.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
        GateError: if the two did not translate the same test set.
        CorpusError: if translations do not pair up with references.
    """
    check(champion, challenger)
    references = challenger.references
    for system in (champion, challenger):
        check_hypotheses(system.hypotheses, references)
    effects = tuple(
        effect(
            name,
            *(
                counts_of(name, system.hypotheses, references, language=language)
                for system in (champion, challenger)
            ),
            config=config,
        )
        for name in FORMULAS
    )
    outcome, reason = decide(effects, config)
    return Verdict(
        outcome=outcome,
        reason=reason,
        effects=effects,
        sentences=len(references),
        test_set=digest(challenger.sources, references),
        signatures=signatures(language),
        gate=config,
    )


def check(champion: Candidate, challenger: Candidate) -> None:
    """Refuse what would mean nothing.

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


def effect(
    metric: MetricName, champion: Counts, challenger: Counts, *, config: GateConfig
) -> Effect:
    """Measure and test the difference in one metric, from what each sentence counts."""
    formula, ours, theirs = FORMULAS[metric], challenger, champion
    found = difference(formula, ours, theirs)
    drawn = bootstrapped(formula, ours, theirs, resamples=config.resamples, seed=config.seed)
    chance = exchanged(formula, ours, theirs, trials=config.trials, seed=config.seed)
    gain, loss = p_value(chance >= found), p_value(chance <= found)
    no_gain, no_loss = p_value(drawn <= 0), p_value(drawn >= 0)
    scores = (formula(counts.sum(axis=0)[None])[0] for counts in (theirs, ours))
    return Effect(
        metric=metric,
        champion=float(next(scores)),
        challenger=float(next(scores)),
        difference=found,
        better=max(gain, no_gain),
        worse=max(loss, no_loss),
        bootstrap=no_gain,
        randomization=gain,
    )


def decide(
    effects: Sequence[Effect], config: GateConfig
) -> tuple[Literal["promote", "hold", "reject"], str]:
    """Return the outcome and its reason."""
    level = config.significance
    for found in effects:
        if found.worse <= level:
            return "reject", (
                f"{found.metric} is {-found.difference:.2f} lower, which chance alone would give "
                f"with probability {found.worse:.4f}"
            )
    first = effects[0]
    if first.better > level:
        return "hold", (
            f"{first.metric} differs by {first.difference:+.2f}, which chance alone would give "
            f"with probability {first.better:.4f}, more than {level}"
        )
    if first.difference < config.minimum_effect:
        return "hold", (
            f"{first.metric} is surely higher, but by {first.difference:.2f} only; a change is "
            f"worth it from {config.minimum_effect} on"
        )
    for other in effects[1:]:
        if other.difference < 0:
            return "hold", (
                f"{first.metric} is {first.difference:.2f} higher, but {other.metric} "
                f"{-other.difference:.2f} lower; the two should agree"
            )
    return "promote", (
        f"{first.metric} is {first.difference:.2f} higher, which chance alone would give with "
        f"probability {first.better:.4f}, and no other score is lower"
    )


def digest(sources: Sequence[str], references: Sequence[str]) -> str:
    """Return a digest of a test set."""
    return hashlib.sha256(json.dumps([[*sources], [*references]]).encode()).hexdigest()


def signatures(language: str) -> tuple[str, str]:
    """Return sacreBLEU's signatures of BLEU and of chrF2, as all scores of the gate are made.

    Raises:
        ConfigError: if what cuts the language into words is not installed.
    """
    line = ["any"]
    return bleu(line, line, language=language).signature, chrf(line, line).signature
