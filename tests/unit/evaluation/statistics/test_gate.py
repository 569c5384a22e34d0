"""The gate: its scores are sacreBLEU's, its errors as rare as it says, its verdicts in words."""

from functools import partial
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from nmt_core.base.errors import CorpusError
from nmt_core.base.random import make_generator
from nmt_core.evaluation.registered import load_metric
from nmt_core.evaluation.statistics import gate as judging
from nmt_core.evaluation.statistics.gate import (
    Candidate,
    Effect,
    GateConfig,
    GateError,
    judge_effects,
    measure_effect,
)
from nmt_core.evaluation.statistics.resampling import (
    RESAMPLES_AT_ONCE,
    compute_p_value,
    run_paired_test,
)

judge = partial(judging.judge, languages=("en", "en"))
METRICS = {name: load_metric(name, "en") for name in ("bleu", "chrf")}
SCORERS = {"bleu": BLEU, "chrf": CHRF}
WORDS = np.array([f"{first}{rest}" for first in "bdfgklmn" for rest in ("a", "ero", "ilun", "os")])
sentence = st.lists(st.sampled_from(["a", "bb", "cab", "."]), max_size=9).map(" ".join)


class Language:
    """Sentences, and systems that get each word right with a probability that sentences share."""

    def __init__(self, sentences, *, name, shared=0.7):
        self.draw = make_generator(1, "language", name)
        self.lengths = self.draw.integers(6, 30, size=sentences)
        places = int(self.lengths.sum())
        self.words = self.draw.choice(WORDS, size=places)
        self.hardness = np.repeat(self.draw.normal(0, 0.1, size=sentences), self.lengths)
        # systems trained on nearly the same text get most words right or wrong together
        self.luck = self.draw.random(places)
        self.shared = self.draw.random(places) < shared
        self.references = self._lines(self.words)

    def system(self, right):
        """What a system that gets so many words right would write."""
        luck = np.where(self.shared, self.luck, self.draw.random(len(self.words)))
        wrong = self.draw.choice(WORDS, size=len(self.words))
        written = np.where(luck < right + self.hardness, self.words, wrong)
        return Candidate(str(right), self.references, self.references, self._lines(written))

    def _lines(self, words):
        return [" ".join(line) for line in np.split(words, self.lengths.cumsum()[:-1])]


def counts(language, system):
    """What the sentences of a system count, in each metric."""
    return {
        name: metric.counts(system.hypotheses, language.references, language.references)
        for name, metric in METRICS.items()
    }


def bleu_of(language, right):
    hypotheses = language.system(right).hypotheses
    return BLEU().corpus_score(hypotheses, [language.references]).score


def outcome(champion, challenger, gate):
    effects = [
        measure_effect(n, m, champion[n], challenger[n], config=gate) for n, m in METRICS.items()
    ]
    return judge_effects(effects, gate)[0]


def candidate(hypotheses, references=None, sources=None, name="it"):
    references = references or [f"This is line {n}." for n in range(len(hypotheses))]
    return Candidate(name, sources or references, references, hypotheses)


@settings(max_examples=60)
@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=6))
@pytest.mark.parametrize("metric", METRICS)
def test_scores_of_sums_are_sacrebleus(metric, pairs):
    """Whatever matches, or does not, or is empty."""
    hypotheses, references = map(list, zip(*pairs, strict=True))
    sums = METRICS[metric].counts(hypotheses, references, []).sum(axis=0)
    expected = SCORERS[metric]().corpus_score(hypotheses, [references]).score

    assert expected == pytest.approx(METRICS[metric].score_of_sums(sums[None])[0], abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_resamples_are_scored_as_sacrebleu_would(metric):
    """The distributions have the mean and spread that sacreBLEU's own tests see."""
    language = Language(60, name="resamples")
    first, second = (language.system(right).hypotheses for right in (0.7, 0.6))
    pair = [METRICS[metric].counts(lines, language.references, []) for lines in (first, second)]
    test = run_paired_test(
        METRICS[metric].score_of_sums, *pair, resamples=1500, trials=1500, seed=1
    )
    drawn, chance, seen = test.drawn, test.exchanged, test.seen
    theirs = {
        kind: PairedTest(
            [("a", first), ("b", second)],
            {"": SCORERS[metric]()},
            [language.references],
            kind,
            n_samples=1500,
        )()[1]
        for kind in ("bs", "ar")
    }
    [(one, other)] = [found for name, found in theirs["ar"].items() if name != "System"]

    assert len(drawn) == len(chance) == 1500
    assert one.score - other.score == pytest.approx(seen)
    assert drawn.mean() == pytest.approx(seen, abs=0.3 * drawn.std())
    assert abs(chance.mean()) < 0.1 * chance.std()
    assert test.apart().randomization == pytest.approx(other.p_value, abs=0.03)
    [(one, other)] = [found for name, found in theirs["bs"].items() if name != "System"]
    assert test.apart().bootstrap == pytest.approx(other.p_value, abs=0.03)


def test_every_resample_is_another():
    """Also those that are drawn in the next chunk."""
    language = Language(60, name="chunks")
    pair = [counts(language, language.system(right))["bleu"] for right in (0.7, 0.6)]
    amounts = {"resamples": 2 * RESAMPLES_AT_ONCE, "trials": 2 * RESAMPLES_AT_ONCE}
    test = run_paired_test(METRICS["bleu"].score_of_sums, *pair, **amounts, seed=1)

    for found in (test.drawn, test.exchanged):
        assert len(np.unique(found.round(9))) > 1.9 * RESAMPLES_AT_ONCE


def test_what_was_seen_is_one_of_the_trials():
    """However few are as extreme, chance is never ruled out."""
    assert compute_p_value(np.zeros(999, dtype=bool)) == 1 / 1000
    assert compute_p_value(np.ones(999, dtype=bool)) == 1
    assert compute_p_value(np.array([True, False, False])) == 1 / 2


def test_equal_translations_are_held():
    lines = [f"This is line {n} of some." for n in range(20)]
    verdict = judge(candidate(lines), candidate(lines), GateConfig())

    assert (verdict.outcome, verdict.effects[0].better) == ("hold", 1.0)
    assert "+0.00" in verdict.reason


@pytest.mark.parametrize(("right", "outcome"), [(0.8, "promote"), (0.6, "hold"), (0.4, "reject")])
def test_the_better_is_promoted_and_the_worse_rejected(right, outcome):
    language = Language(150, name="three")
    verdict = judge(language.system(0.6), language.system(right), GateConfig())

    assert outcome == verdict.outcome
    assert verdict.sentences == 150
    assert verdict == judge_again(verdict)


def judge_again(verdict):
    """A verdict survives JSON, in which it is kept."""
    return type(verdict).model_validate_json(verdict.model_dump_json())


BETTER_IN_FOUR = [f"The council number {n} has met in the old house." for n in range(500)]
FEW = [line.replace("old", "big") for line in BETTER_IN_FOUR]


def test_a_language_without_spaces_is_judged_in_its_words():
    lines = ["欧洲议会昨天批准了这项建议。", "理事会主席表示同意。"] * 9
    worse = [line[:-3] for line in lines]
    verdict = judging.judge(
        candidate(worse, lines), candidate(lines, lines), GateConfig(), languages=("en", "zh")
    )

    assert verdict.outcome == "promote"
    assert 0 < verdict.effects[0].champion < 99 < verdict.effects[0].challenger
    assert "|tok:zh|" in verdict.signatures[0]


def test_both_tests_must_be_sure():
    """Better in 4 of 500 sentences, equal elsewhere: chance gives that in one of 2**4 trials."""
    references = BETTER_IN_FOUR
    better, worse = candidate([*references[:4], *FEW[4:]], references), candidate(FEW, references)
    lenient = GateConfig(minimum_effect=0.0)
    gain, loss = judge(worse, better, lenient), judge(better, worse, lenient)

    for verdict, side in ((gain, "better"), (loss, "worse")):
        assert verdict.outcome == "hold"
        for found in verdict.effects:
            assert getattr(found, side) == pytest.approx(1 / 16, abs=0.01)
    for found in gain.effects:
        assert found.randomization == pytest.approx(1 / 16, abs=0.01)
        assert found.bootstrap == pytest.approx(np.exp(-4), abs=0.01)
        assert found.worse == pytest.approx(1.0, abs=0.001)


def test_a_sure_but_useless_gain_is_held():
    language = Language(150, name="useless")
    pair = language.system(0.6), language.system(0.8)
    verdict = judge(*pair, GateConfig(minimum_effect=99.0))

    assert verdict.outcome == "hold"
    assert "a change is worth it from 99.0 on" in verdict.reason


def test_a_loss_in_chrf_outweighs_a_gain_in_bleu():
    language = Language(150, name="conflict")
    worse, better = language.system(0.5), language.system(0.7)
    low, high = (counts(language, system) for system in (worse, better))
    gain = measure_effect("bleu", METRICS["bleu"], low["bleu"], high["bleu"], config=GateConfig())
    loss = measure_effect("chrf", METRICS["chrf"], high["chrf"], low["chrf"], config=GateConfig())

    assert judge_effects([gain, loss], GateConfig())[0] == "reject"


def test_different_test_sets_are_refused():
    with pytest.raises(GateError, match=r"different references \(first at line 2\)"):
        judge(
            candidate(["a", "b"], ["a", "b"], ["c", "d"]),
            candidate(["a", "b"], ["a", "x"], ["c", "d"]),
            GateConfig(),
        )
    with pytest.raises(GateError, match=r"different sources \(first at line 3\)"):
        judge(candidate(["a"] * 3), candidate(["a"] * 2), GateConfig())
    with pytest.raises(GateError, match="empty"):
        judge(candidate([], [], []), candidate([], [], []), GateConfig())
    with pytest.raises(CorpusError, match="do not pair up"):
        judge(candidate(["a"], ["a", "b"]), candidate(["a"], ["a", "b"]), GateConfig())


def exchange(champion, challenger, draw):
    """Let chance decide, sentence by sentence, who wrote what: then neither is better."""
    flips = draw.integers(0, 2, size=len(champion["bleu"])).astype(bool)[:, None]
    return [
        {name: np.where(flips, one[name], other[name]) for name in METRICS}
        for one, other in ((champion, challenger), (challenger, champion))
    ]


def test_scores_that_disagree_are_held():
    effects = [found("bleu", 1.0, better=0.001), found("chrf", -0.2, better=0.7, worse=0.3)]

    assert judge_effects(effects, GateConfig()) == (
        "hold",
        "BLEU is 1.00 higher, but chrF is 0.20 lower; the two should agree",
        (),
    )


def found(metric, difference, *, better=1.0, worse=1.0):
    values = {"champion": 30.0, "challenger": 30.0 + difference, "difference": difference}
    return Effect(
        metric=metric, better=better, worse=worse, bootstrap=better, randomization=better, **values
    )


@pytest.mark.parametrize(
    ("gain", "outcome"),
    [
        (found("bleu", 0.3, better=0.04), "promote"),
        (found("bleu", 0.3, better=0.0401), "hold"),
        (found("bleu", 0.2999, better=0.04), "hold"),
        (found("bleu", -0.1, worse=0.02), "reject"),
        (found("bleu", -0.1, worse=0.0201), "hold"),
    ],
)
def test_the_level_and_the_least_effect_are_enough(gain, outcome):
    """As their docstrings say: up to the one, from the other on; chrF may stay the same.

    A loss must be twice as sure, where there are two metrics in which chance could show one.
    """
    config = GateConfig(significance=0.04, minimum_effect=0.3)

    assert judge_effects([gain, found("chrf", 0.0)], config)[0] == outcome


def test_a_loss_is_corrected_for_the_number_of_metrics_and_told_so():
    """Holm: the surest loss counts as often as there are metrics, the next once less."""
    config = GateConfig(significance=0.05)
    bleu, chrf, ter = (found(name, -1.0, worse=0.02) for name in ("bleu", "chrf", "bleu"))
    alone, *both = (judge_effects(effects, config) for effects in ([bleu], [bleu, chrf]))

    assert alone == (
        "reject",
        "BLEU is 1.00 lower, which chance alone would give with probability 0.0200",
        ("bleu",),
    )
    assert both[0][0] == "reject"
    assert both[0][1].endswith("with probability 0.0400, corrected for 2 tests")
    assert judge_effects([bleu, chrf, ter], config)[0] == "hold"
    sure = found("chrf", -1.0, worse=0.001)
    assert judge_effects([found("bleu", 1.0, better=0.001), sure], config)[0] == "reject"


@pytest.fixture(scope="module")
def near():
    """What the sentences of two systems count, between which there is little difference."""
    language = Language(150, name="settings")
    return [counts(language, language.system(right))["bleu"] for right in (0.6, 0.61)]


def effect(pair, **settings):
    config = GateConfig(**({"resamples": 200, "trials": 200} | settings))
    return measure_effect("bleu", METRICS["bleu"], *pair, config=config)


@pytest.mark.parametrize(
    ("setting", "other", "moved"),
    [
        ("seed", 2, {"bootstrap", "randomization"}),
        ("resamples", 300, {"bootstrap"}),
        ("trials", 300, {"randomization"}),
    ],
)
def test_each_setting_of_the_tests_reaches_the_test_that_it_is_of(near, setting, other, moved):
    """The same settings give the same numbers, to the bit."""
    first, again, changed = (effect(near, **more) for more in ({}, {}, {setting: other}))
    kinds = ("bootstrap", "randomization")

    assert first == again
    assert {kind for kind in kinds if getattr(first, kind) != getattr(changed, kind)} == moved


def test_no_probability_is_below_one_in_so_many_draws():
    language = Language(60, name="clear")
    pair = [counts(language, language.system(right))["bleu"] for right in (0.2, 0.9)]

    assert effect(pair, resamples=100, trials=400).bootstrap == 1 / 101
    assert effect(pair, resamples=100, trials=400).randomization == 1 / 401


@pytest.mark.slow
def test_of_a_thousand_equal_systems_few_are_promoted():
    """At most 5 %, even where any gain would be useful."""
    language, draw = Language(300, name="null"), make_generator(1, "exchange")
    gate = GateConfig(minimum_effect=0.0, resamples=400, trials=400)
    pairs = [[counts(language, language.system(0.6)) for _ in range(2)] for _ in range(40)]
    outcomes = [outcome(*exchange(*pair, draw), gate) for pair in pairs for _ in range(25)]

    assert len(outcomes) == 1000
    assert 5 <= outcomes.count("promote") <= 50  # a gate that never opens would be of no use
    assert 5 <= outcomes.count("reject") <= 50  # though there are two metrics


@pytest.mark.slow
@pytest.mark.parametrize(("shared", "right"), [(0.7, 0.635), (0.0, 0.655)])
def test_what_is_seen_four_times_in_five_depends_on_how_alike_errors_are(shared, right):
    """2.6 standard errors of the difference: 1.75 of the level, 0.84 of the power.

    Errors that are not alike make the standard error half as large again.
    """
    gains, errors, sure = [], [], []
    for number in range(40):
        language = Language(100, name=f"pair {number}", shared=shared)
        pair = [counts(language, language.system(share))["bleu"] for share in (right, 0.6)]
        score = METRICS["bleu"].score_of_sums
        test = run_paired_test(score, *pair, resamples=400, trials=400, seed=1)
        gains.append(test.seen)
        errors.append(test.drawn.std())
        sure.append(max(test.above()) <= GateConfig().significance)
    level = NormalDist().inv_cdf(1 - GateConfig().significance)
    expected = NormalDist().cdf(np.mean(gains) / np.mean(errors) - level)

    assert 2.1 < np.mean(gains) / np.mean(errors) < 3.1
    assert np.mean(sure) == pytest.approx(expected, abs=0.15)
    assert np.mean(errors) * np.sqrt(100 / 2000) == pytest.approx(0.54 - 0.27 * shared, abs=0.06)


@pytest.mark.slow
def test_a_gain_of_one_point_is_seen():
    """On 2,000 sentences, at least four times in five, of systems whose errors are alike."""
    language = Language(2000, name="gain")
    gate = GateConfig(resamples=400, trials=400)
    few, more = (np.mean([bleu_of(language, right) for _ in range(5)]) for right in (0.6, 0.63))
    right = 0.6 + 0.03 / (more - few)
    champions, challengers = (
        [counts(language, language.system(share)) for _ in range(5)] for share in (0.6, right)
    )
    pairs = list(product(champions, challengers))
    score = METRICS["bleu"].score_of_sums
    gains = [np.subtract(*score(np.stack([c["bleu"].sum(axis=0) for c in p]))) for p in pairs]
    outcomes = [outcome(*pair, gate) for pair in pairs]

    assert -np.mean(gains) == pytest.approx(1.0, abs=0.15)
    assert outcomes.count("promote") >= 0.8 * len(pairs)
