"""The gate: verdicts on systems, losses that no gain excuses, and its error rates."""

from dataclasses import replace

import numpy as np
import pytest

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError, NmtError
from nmt_core.base.random import make_generator
from nmt_core.evaluation import gate as judging
from nmt_core.evaluation.gate import (
    Candidate,
    Effect,
    compare_literals,
    judge,
    judge_effects,
    measure_effect,
)
from nmt_core.evaluation.metrics import Bleu
from nmt_core.evaluation.registry import GateConfig, load_metric

FAST = {"resamples": 200, "trials": 200}
METRICS = {name: load_metric(name, "en") for name in ("bleu", "chrf")}
WORDS = np.array([f"{first}{rest}" for first in "bdfgklmn" for rest in ("a", "ero", "ilun", "os")])


class Language:
    """Sentences, and systems that get each word right with a probability per sentence."""

    def __init__(self, sentences, *, name):
        self.draw = make_generator(1, "language", name)
        self.lengths = self.draw.integers(6, 30, size=sentences)
        places = int(self.lengths.sum())
        self.words = self.draw.choice(WORDS, size=places)
        self.hardness = np.repeat(self.draw.normal(0, 0.1, size=sentences), self.lengths)
        # systems trained on nearly the same text get most words right or wrong together
        self.luck = self.draw.random(places)
        self.shared = self.draw.random(places) < 0.7
        self.references = self._lines(self.words)

    def system(self, right):
        """Return a system that gets a given share of the words right."""
        luck = np.where(self.shared, self.luck, self.draw.random(len(self.words)))
        wrong = self.draw.choice(WORDS, size=len(self.words))
        written = np.where(luck < right + self.hardness, self.words, wrong)
        return Candidate(str(right), self.references, self.references, self._lines(written))

    def count(self, right):
        """Return the counts of a system's sentences, by metric."""
        hypotheses = self.system(right).hypotheses
        return {name: m.counts(hypotheses, self.references, []) for name, m in METRICS.items()}

    def _lines(self, words):
        return [" ".join(line) for line in np.split(words, self.lengths.cumsum()[:-1])]


def decide(champion, challenger, languages=("en", "en"), **settings):
    return judge(champion, challenger, GateConfig(**settings), languages=languages)


def candidate(hypotheses, references=None, sources=None):
    references = references or [f"This is line {n}." for n in range(len(hypotheses))]
    return Candidate("it", sources or references, references, hypotheses)


def effect_of(metric, difference, *, better=1.0, worse=1.0):
    values = {"champion": 30.0, "challenger": 30.0 + difference, "difference": difference}
    return Effect(
        metric=metric, better=better, worse=worse, bootstrap=better, randomization=better, **values
    )


# systems


@pytest.mark.parametrize(("right", "outcome"), [(0.8, "promote"), (0.6, "hold"), (0.4, "reject")])
def test_the_better_is_promoted_and_the_worse_rejected(right, outcome):
    language = Language(150, name="three")
    verdict = decide(language.system(0.6), language.system(right))

    assert (verdict.outcome, verdict.sentences) == (outcome, 150)
    assert type(verdict).model_validate_json(verdict.model_dump_json()) == verdict


def test_equal_translations_are_held():
    lines = [f"This is line {n} of some." for n in range(20)]
    verdict = decide(candidate(lines), candidate(lines))

    assert (verdict.outcome, verdict.effects[0].better) == ("hold", 1.0)
    assert "+0.00" in verdict.reason


def test_language_without_spaces_is_judged_in_its_words():
    lines = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 9
    worse = candidate([line[:-3] for line in lines], lines)
    verdict = decide(worse, candidate(lines, lines), languages=("en", "zh"))

    assert verdict.outcome == "promote"
    assert 0 < verdict.effects[0].champion < 99 < verdict.effects[0].challenger
    assert "|tok:zh|" in verdict.signatures[0]


def test_both_tests_must_be_sure():
    """A gain in 4 of 200 sentences, equal otherwise: chance gives that in one of 2**4 trials."""
    references = [f"The council number {n} has met in the old house." for n in range(200)]
    few = [line.replace("old", "big") for line in references]
    better, worse = candidate([*references[:4], *few[4:]], references), candidate(few, references)
    gain, loss = (decide(*pair, minimum_effect=0.0) for pair in ((worse, better), (better, worse)))
    assert gain.outcome == loss.outcome == "hold"
    for effect in loss.effects:
        assert effect.worse == pytest.approx(1 / 16, abs=0.01)
    for effect in gain.effects:
        assert effect.better == pytest.approx(1 / 16, abs=0.01)
        assert effect.randomization == pytest.approx(1 / 16, abs=0.01)
        assert effect.bootstrap == pytest.approx(np.exp(-4), abs=0.01)
        assert effect.worse == pytest.approx(1.0, abs=0.001)


@pytest.mark.parametrize(
    ("ours", "theirs", "error", "named"),
    [
        ((["a"] * 2, ["a", "b"]), (["a"] * 2, ["a", "x"]), NmtError, "different sources"),
        ((["a"], ["b"], ["c"]), (["a"], ["x"], ["c"]), NmtError, "different references"),
        ((["a"] * 3,), (["a"] * 2,), NmtError, "different sources"),
        (([], [], []), ([], [], []), NmtError, "empty"),
        ((["a"], ["a", "b"]), (["a"], ["a", "b"]), CorpusError, "1 hypotheses"),
    ],
)
def test_different_test_sets_are_refused(ours, theirs, error, named):
    with pytest.raises(error, match=named):
        decide(candidate(*ours), candidate(*theirs))


# effects


@pytest.mark.parametrize(
    ("effects", "outcome", "refused_by"),
    [
        ([effect_of("bleu", 0.3, better=0.04), effect_of("chrf", 0.0)], "promote", ()),
        ([effect_of("bleu", 0.3, better=0.0401), effect_of("chrf", 0.0)], "hold", ()),
        ([effect_of("bleu", 0.2999, better=0.04), effect_of("chrf", 0.0)], "hold", ()),
        ([effect_of("bleu", 9.0, better=0.01), effect_of("chrf", -0.1, worse=0.3)], "hold", ()),
        # a loss must be twice as certain with two metrics, three times with three
        ([effect_of("bleu", -1.0, worse=0.04)], "reject", ("bleu",)),
        ([effect_of("bleu", -1.0, worse=0.02), effect_of("chrf", 0.0)], "reject", ("bleu",)),
        ([effect_of("bleu", -1.0, worse=0.0201), effect_of("chrf", 0.0)], "hold", ()),
        ([effect_of("bleu", -1.0, worse=0.02), *[effect_of("chrf", 0.0)] * 2], "hold", ()),
        (
            [effect_of("bleu", -1.0, worse=0.02), effect_of("chrf", -1.0, worse=0.04)],
            "reject",
            ("bleu", "chrf"),
        ),
        (
            [effect_of("bleu", 1.0, better=0.001), effect_of("chrf", -1.0, worse=0.001)],
            "reject",
            ("chrf",),
        ),
    ],
)
def test_outcome_follows_from_effects(effects, outcome, refused_by):
    config = GateConfig(significance=0.04, minimum_effect=0.3)
    found = judge_effects(effects, config)
    assert (found[0], found[2]) == (outcome, refused_by)


def test_reason_names_the_first_loss_and_its_correction():
    losses = [effect_of("bleu", -1.0, worse=0.02), effect_of("chrf", -2.0, worse=0.001)]
    _, reason, _ = judge_effects(losses, GateConfig())
    assert reason.startswith("BLEU is 1.00 lower")
    assert "0.0200, corrected for 2 tests" in reason


@pytest.fixture(scope="module")
def near():
    """Return the counts of two systems with a small difference."""
    language = Language(150, name="settings")
    return [language.count(right)["bleu"] for right in (0.6, 0.61)]


def measure(pair, metric=METRICS["bleu"], margin=0.0, **settings):
    config = GateConfig(**(FAST | settings))
    return measure_effect("bleu", metric, tuple(pair), config=config, margin=margin)


@pytest.mark.parametrize(
    ("setting", "other", "moved"),
    [
        ("seed", 2, {"bootstrap", "randomization"}),
        ("resamples", 300, {"bootstrap"}),
        ("trials", 300, {"randomization"}),
    ],
)
def test_each_setting_reaches_its_test(near, setting, other, moved):
    first, again, changed = (measure(near, **more) for more in ({}, {}, {setting: other}))
    assert first == again
    kinds = ("bootstrap", "randomization")
    assert {kind for kind in kinds if getattr(first, kind) != getattr(changed, kind)} == moved


class ErrorRate(Bleu):
    """The improvement that BLEU lacks."""

    higher_is_better = False

    def score_of_sums(self, sums):
        return 100 - super().score_of_sums(sums)


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_higher_error_rate_is_a_loss(near, margin):
    pair = near[::-1]
    scored = measure(pair, margin=margin)
    lacking = measure(pair, ErrorRate("en"), margin=margin)
    assert 0 < scored.worse < 1
    assert (lacking.better, lacking.worse) == (scored.better, scored.worse)
    assert lacking.difference == pytest.approx(-scored.difference)
    assert lacking.champion == pytest.approx(100 - scored.champion)


def test_margin_is_an_allowed_loss(near):
    lost = near[::-1]
    probabilities = [measure(lost, margin=margin).worse for margin in (0.0, 1.0, 50.0)]
    assert probabilities == sorted(probabilities)
    assert probabilities[0] < probabilities[1] < probabilities[2] == 1.0
    assert measure(lost, margin=1.0).better == measure(lost).better


# conditions

SOURCES = [f"Im Jahr {1000 + n} kamen {'nicht ' * (n % 4 == 0)}viele Leute." for n in range(120)]
REFERENCES = [f"In the year {1000 + n} many people came here." for n in range(120)]
NEGATED, OTHERS = range(0, 120, 4), [n for n in range(120) if n % 4]
RECASED = dict(enumerate(REFERENCES[:60]))
BAD_CASE = dict.fromkeys(RECASED, "IM JAHR")


def write(bad=(), no_number=(), recased=None):
    """Translate some lines badly, or without their number but with as many words."""
    lines = [
        f"In the year {1000 + n} a few of them went" if n in {*bad} else line
        for n, line in enumerate(REFERENCES)
    ]
    for n in no_number:
        lines[n] = "In the year MDX many people came here."
    return Candidate("it", SOURCES, REFERENCES, lines, recased or {})


def contend(champion, challenger, **settings):
    settings = FAST | {"metrics": ["bleu"]} | settings
    return decide(champion, challenger, languages=("de", "en"), **settings)


@pytest.mark.parametrize(
    ("champion", "challenger", "slices", "outcome", "refused_by"),
    [
        (write(), write(no_number=range(9)), {}, "reject", ("bleu", "literals")),
        (write(bad=OTHERS), write(no_number=range(9)), {}, "reject", ("literals",)),
        (write(bad=OTHERS, no_number=range(9)), write(), {}, "promote", ()),
        (write(no_number=[1]), write(no_number=[2]), {}, "hold", ()),
        (write(recased=RECASED), write(recased=BAD_CASE), {}, "reject", ("case",)),
        (write(recased=BAD_CASE), write(recased=RECASED), {}, "hold", ()),
        (write(recased=RECASED), write(), {}, "hold", ()),
        (
            write(recased=RECASED),
            write(bad=OTHERS, no_number=range(9), recased=BAD_CASE),
            {},
            "reject",
            ("bleu", "literals", "case"),
        ),
        (write(bad=OTHERS), write(bad=NEGATED), {}, "promote", ()),
        (write(bad=OTHERS), write(bad=NEGATED), {"negation": 1.0}, "reject", ("slice_negation",)),
        (write(bad=OTHERS), write(bad=NEGATED), {"negation": 99.0}, "promote", ()),
        (write(bad=OTHERS), write(bad=NEGATED), {"long": 1.0}, "promote", ()),
        (write(bad=[*OTHERS, 0, 4]), write(bad=[8, 12, 16]), {"negation": 0.1}, "hold", ()),
    ],
)
def test_no_gain_excuses_a_violated_condition(champion, challenger, slices, outcome, refused_by):
    verdict = contend(champion, challenger, slices=slices)
    assert (verdict.outcome, verdict.refused_by) == (outcome, refused_by)
    assert type(verdict).model_validate_json(verdict.model_dump_json()) == verdict


def test_conditions_hold_what_was_measured():
    verdict = contend(
        write(recased={n: line.upper() for n, line in RECASED.items()}),
        write(bad=NEGATED, no_number=[1, 2, 3], recased=RECASED),
        slices={"negation": 1.0, "long": 2.0},
    )
    literals, case, negation, long = verdict.conditions
    assert (literals.sentences, literals.champion, literals.challenger) == (120, 100.0, 97.5)
    assert literals.worse == 2**-3
    assert (case.sentences, case.bound, case.worse) == (60, None, 1.0)
    assert case.champion == case.challenger == pytest.approx(100)
    assert (negation.sentences, negation.bound) == (30, 1.0)
    assert negation.lost == pytest.approx(negation.champion - negation.challenger)
    assert "negation" in negation.loss
    assert "may lose 1" in negation.loss
    assert (long.sentences, long.worse) == (0, 1.0)


def test_conditions_without_sentences_cost_no_power():
    verdict = contend(write(), write(no_number=range(9)), slices={"long": 1.0})
    literals, case, long = verdict.conditions
    assert case.sentences == long.sentences == 0
    assert "for 2 tests" in verdict.reason
    tested = case.model_copy(update={"sentences": 10})
    assert "for 3 tests" in judge_effects(verdict.effects, GateConfig(), [literals, tested])[1]


@pytest.mark.parametrize(
    ("champion", "challenger", "worse"),
    [
        ([True] * 9, [False] * 9, 2**-9),
        ([True, True, True, False], [False, False, True, True], 0.5),
        ([False] * 4, [True] * 4, 1.0),
        ([True, False], [True, False], 1.0),
    ],
)
def test_literals_are_compared_by_mcnemars_exact_test(champion, challenger, worse):
    condition = compare_literals(champion, challenger)
    assert (condition.worse, condition.sentences) == (worse, len(champion))


@pytest.mark.parametrize(
    ("slices", "named"),
    [
        ({"nubmers": 1.0}, "'numbers'"),
        ({"numbers": -1.0}, "numbers"),
        ({"numbers": float("inf")}, "numbers"),
    ],
)
def test_settings_of_slices_are_checked(slices, named):
    with pytest.raises(ConfigError, match=named):
        build(GateConfig, {"slices": slices}, at="promotion")


def test_slice_that_cannot_be_found_is_refused():
    with pytest.raises(NmtError, match="'negation'"):
        decide(write(), write(), languages=("xx", "yy"), slices={"negation": 1.0}, **FAST)


# error rates


def exchange(champion, challenger, draw):
    """Swap the systems' outputs at random per sentence: then neither system is better."""
    flips = draw.integers(0, 2, size=len(champion["bleu"])).astype(bool)[:, None]
    return [
        {name: np.where(flips, one[name], other[name]) for name in METRICS}
        for one, other in ((champion, challenger), (challenger, champion))
    ]


def outcome_of(champion, challenger, config):
    effects = [
        measure_effect(name, metric, (champion[name], challenger[name]), config=config)
        for name, metric in METRICS.items()
    ]
    return judge_effects(effects, config)[0]


@pytest.mark.slow
def test_few_equal_systems_are_promoted_or_rejected():
    """At most 5 %, even if any gain is useful."""
    language, draw = Language(300, name="null"), make_generator(1, "exchange")
    config = GateConfig(minimum_effect=0.0, resamples=400, trials=400)
    pairs = [[language.count(0.6) for _ in range(2)] for _ in range(40)]
    outcomes = [outcome_of(*exchange(*pair, draw), config) for pair in pairs for _ in range(25)]
    assert len(outcomes) == 1000
    assert 5 <= outcomes.count("promote") <= 50  # a gate that never promotes would be useless
    assert 5 <= outcomes.count("reject") <= 50  # though there are two metrics


@pytest.mark.slow
def test_gain_of_one_point_is_seen():
    """On 2,000 sentences, at least four times in five, for systems with similar errors."""
    language, score = Language(2000, name="gain"), METRICS["bleu"].score_of_sums

    def bleu(right):
        return np.mean([score(language.count(right)["bleu"].sum(axis=0)[None]) for _ in range(5)])

    few, more = bleu(0.6), bleu(0.63)
    right = 0.6 + 0.03 / (more - few)
    champions, challengers = ([language.count(r) for _ in range(5)] for r in (0.6, right))
    config = GateConfig(resamples=400, trials=400)
    outcomes = [outcome_of(old, new, config) for old in champions for new in challengers]
    assert outcomes.count("promote") >= 0.8 * len(outcomes)


def test_verdict_names_its_test_set():
    verdict = contend(write(), write())
    assert verdict.test_set == judging.digest_test_set(SOURCES, REFERENCES)
    assert judging.digest_test_set(["a"], ["b"]) != judging.digest_test_set(["b"], ["a"])


@pytest.mark.parametrize(
    ("bound", "outcome", "refused_by"), [(0.5, "reject", ("slice_fr-en",)), (100.0, "promote", ())]
)
def test_no_direction_may_lose_more_than_its_bound(bound, outcome, refused_by):
    """The challenger is better on the whole, and worse in one of two directions."""
    half = len(REFERENCES) // 2
    directions = ["de-en"] * half + ["fr-en"] * (len(REFERENCES) - half)
    old, new = (
        replace(write(bad=bad), directions=directions)
        for bad in (range(half), range(half, half + half // 3))
    )
    verdict = contend(old, new, direction_loss=bound)

    assert (verdict.outcome, verdict.refused_by) == (outcome, refused_by)
    assert {each.name for each in verdict.conditions} >= {"slice_de-en", "slice_fr-en"}
