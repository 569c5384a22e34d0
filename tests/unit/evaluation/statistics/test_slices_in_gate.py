"""A challenger may not lose a slice that the settings name by more than they allow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.base.random import make_generator
from nmt_core.evaluation.metrics.bleu import Bleu
from nmt_core.evaluation.registered import load_metric
from nmt_core.evaluation.slice import SlicedText
from nmt_core.evaluation.statistics.gate import (
    Candidate,
    GateConfig,
    GateError,
    compare_slice,
    judge,
    judge_effects,
    measure_effect,
)
from nmt_core.evaluation.statistics.resampling import PairedTest
from nmt_core.literals.glossary import Glossary

DENIED, PLAIN = "Das geht nicht mehr {}", "Das geht immer weiter {}"
SOURCES = [(DENIED if n % 4 == 0 else PLAIN).format("x" * (n % 7 + 1)) for n in range(400)]
REFERENCES = [f"This is the line of number {n} and it goes on." for n in range(400)]
BAD = "This is the line of some other"
BLEU = load_metric("bleu", "en")


def decide(champion, challenger, terms=(), **slices):
    """Judge two systems that get the given lines wrong."""
    gate = GateConfig(metrics=["bleu"], resamples=200, trials=200, slices=slices)
    systems = [
        Candidate("it", SOURCES, REFERENCES, [BAD if n in wrong else REFERENCES[n] for n in LINES])
        for wrong in (champion, challenger)
    ]
    return judge(*systems, gate, languages=("de", "en"), terms=terms)


LINES = range(400)
NEGATED = {n for n in LINES if n % 4 == 0}
OTHERS = [n for n in LINES if n % 4]


def test_a_gain_elsewhere_is_no_excuse_for_a_lost_slice():
    """As of a memory in which every "not" was dropped."""
    champion, challenger = {*OTHERS[:150]}, {*sorted(NEGATED)[:60]}
    free, kept = decide(champion, challenger), decide(champion, challenger, negation=1.0)

    assert free.outcome == "promote"
    assert (kept.outcome, kept.refused_by) == ("reject", ("slice_negation",))
    assert kept.reason.startswith("BLEU of the slice negation: ")
    assert ", where it may lose 1, which" in kept.reason
    condition = kept.conditions[-1]
    assert (condition.sentences, condition.champion) == (100, pytest.approx(100))
    assert condition.lost == pytest.approx(condition.champion - condition.challenger)
    assert type(kept).model_validate_json(kept.model_dump_json()) == kept


def test_a_slice_may_lose_as_much_as_its_bound():
    champion, challenger = {*OTHERS[:150]}, {*sorted(NEGATED)[:60]}

    assert decide(champion, challenger, negation=99.0).outcome == "promote"
    without = decide(champion, challenger, questions=1.0)
    assert (without.outcome, without.conditions[-1].sentences) == ("promote", 0)


def test_what_seems_lost_is_held_where_it_is_not_proved():
    verdict = decide({*OTHERS[:150], 0, 4}, {8, 12, 16}, negation=0.1)

    assert (verdict.outcome, verdict.refused_by) == ("hold", ())
    assert verdict.reason.endswith("which is not proved; more test sentences may decide")
    assert decide({*OTHERS[:150], 0, 4}, {8, 12, 16}, negation=3.0).outcome == "promote"


def test_a_glossary_is_a_slice_where_there_is_one():
    terms = Glossary.parse(["nicht mehr\tno longer"], ("de", "en")).finders
    lost = decide({*OTHERS[:150]}, {*sorted(NEGATED)[:60]}, terms, glossary=1.0)

    assert lost.refused_by == ("slice_glossary",)
    with pytest.raises(GateError, match="the slice 'glossary' cannot be told"):
        decide({}, {}, glossary=1.0)


@pytest.mark.parametrize(
    ("slices", "told"),
    [
        ({"nubmers": 1.0}, "did you mean 'numbers'"),
        ({"numbers": -1.0}, "numbers"),
        ({"numbers": float("inf")}, "numbers"),
    ],
)
def test_settings_are_checked(slices, told):
    with pytest.raises(ConfigError, match=told):
        build(GateConfig, {"slices": slices}, at="promotion")


differences = st.lists(st.integers(-9, 9), min_size=1, max_size=20).map(np.array)


@given(differences, differences, st.integers(-9, 9), st.integers(0, 9))
def test_a_margin_is_a_loss_that_was_there_before(drawn, exchanged, seen, margin):
    test = PairedTest(seen, drawn, exchanged)
    lost = PairedTest(seen + margin, drawn + margin, exchanged)
    won = PairedTest(seen - margin, drawn - margin, exchanged)

    assert test.below(margin) == lost.below()
    assert test.above(margin) == won.above()
    assert all(np.array(test.below(margin)) >= test.below())


class ErrorRate(Bleu):
    """What BLEU lacks."""

    higher_is_better = False

    def score_of_sums(self, sums):
        return 100 - super().score_of_sums(sums)


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_of_an_error_rate_more_is_a_loss(margin):
    draw = make_generator(1, "rate")
    pair = [counts_of(np.full(100, right), draw) for right in (0.7, 0.68)]
    gate = GateConfig(metrics=["bleu"], resamples=200, trials=200)
    scored, lacking = (
        measure_effect("bleu", metric, *pair, config=gate, margin=margin)
        for metric in (BLEU, ErrorRate("en"))
    )

    assert 0 < scored.worse < 1
    assert (lacking.better, lacking.worse) == (scored.better, scored.worse)


def counts_of(accuracies, draw):
    """Count words of sentences, each right with a probability of its sentence."""
    lengths = draw.integers(8, 25, size=len(accuracies))
    right = draw.binomial(lengths, accuracies)
    rows = [lengths, lengths, *(np.maximum(0, right - n) for n in range(4))]
    return np.stack([*rows, *(lengths - n for n in range(4))], axis=1).astype(float)


def simulate(lost, *, bound, draw, sentences=400, share=0.25):
    """Return what the gate says of systems that differ in a slice alone, by so much accuracy."""
    own = draw.random(sentences) < share
    sources = [DENIED if one else PLAIN for one in own]
    text = SlicedText(sources, sources, ("de", "en"))
    hard = np.clip(draw.normal(0.7, 0.1, size=sentences), 0.05, 0.95)
    pair = [counts_of(np.clip(hard - own * by, 0, 1), draw) for by in (0.0, lost)]
    gate = GateConfig(metrics=["bleu"], resamples=200, trials=200, slices={"negation": bound})
    condition = compare_slice("negation", text, "bleu", BLEU, *pair, config=gate)
    effect = measure_effect("bleu", BLEU, *pair, config=gate)
    return judge_effects([effect], gate, [condition])[0], condition


@pytest.fixture(scope="module")
def price():
    """Points of BLEU that a slice loses for some accuracy, measured on very many sentences."""
    [by] = [simulate(0.03, bound=0.0, draw=make_generator(1, "price"), sentences=40_000)[1].lost]
    return by / 0.03


@pytest.mark.slow
def test_of_equal_systems_few_are_rejected_for_a_slice():
    """As few as without: the level is shared by Holm's correction."""
    draw = make_generator(1, "equal")
    outcomes = [simulate(0.0, bound=0.0, draw=draw)[0] for _ in range(200)]

    assert outcomes.count("reject") <= 0.06 * len(outcomes)


@pytest.mark.slow
def test_who_loses_just_the_bound_is_seldom_rejected_and_who_loses_more_mostly(price):
    draw = make_generator(1, "bound")
    at_bound = [simulate(0.04, bound=0.04 * price, draw=draw)[1].worse for _ in range(200)]
    beyond = [simulate(0.15, bound=0.04 * price, draw=draw) for _ in range(60)]
    level = GateConfig().significance

    assert np.mean(np.array(at_bound) <= level) <= 0.07
    assert np.mean([condition.worse <= level / 2 for _, condition in beyond]) >= 0.8
    assert "promote" not in {outcome for outcome, _ in beyond}
