"""Confidence: its definitions, its laws on any text, and its place in a bundle."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.literals.checking import Breach
from nmt_core.text.translation import EMPTY_TRANSLATION, Translation
from nmt_core.translation.confidence import (
    MAX_DEVIATIONS,
    TENTHS,
    ConfidenceModel,
    FeatureWeight,
    measure_features,
)
from nmt_core.translation.fitting import (
    L2_PENALTY,
    MIN_PER_CLASS,
    MIN_SENTENCES,
    WEIGHT_BOUNDS,
    _fit_weights,
    explain_unfit,
    find_tenths,
    fit_confidence,
    measure_reliability,
    standardize,
)
from nmt_core.translation.loading import CONFIDENCE
from nmt_core.translation.translator import Translator
from tests.support.sealing import reseal
from tests.support.tiny import LINES, export, judge_by_score, tiny_translator

BREACH = Breach("number", "5", "5", "missing")
WORDS = ["ein", "das", "Haus", "Garten", "Hund", "liegt", "geht", "und", "nicht", "sehr", "17"]
PAIRS = st.lists(st.tuples(st.sampled_from([0, 0.1, 0.25, 0.5, 1]), st.booleans()), min_size=2)


def make_text(count, seed=0):
    """Lines with translations of several scores and lengths, some with a repeated or lost word.

    Also whether each is good, by a logistic function of its score and its length.
    """
    draw = np.random.default_rng(seed)
    sources, translations, odds = [], [], []
    for _ in range(count):
        words = draw.choice(WORDS, size=draw.integers(2, 20)).tolist()
        kept = words[: max(1, round(len(words) * draw.uniform(0.6, 1.2)))]
        score = -float(draw.gamma(2.0, 0.3))
        breaches = (BREACH,) * int(draw.random() < 0.1)
        sources.append(" ".join(words))
        translations.append(translate_as(kept, score, breaches))
        odds.append(3 + 4 * score + 0.8 * (math.log(len(" ".join(words))) - 4))
    good = draw.random(count) < 1 / (1 + np.exp(-np.array(odds)))
    return sources, translations, good


def translate_as(words, score, breaches=()):
    ids = tuple(4 + WORDS.index(word) for word in words)
    return Translation(" ".join(words), score, tuple(words), (), ids, breaches=breaches)


@pytest.fixture(scope="module")
def fitted():
    return fit_confidence(*make_text(1000), good_chrf=50.0)


# definitions


def test_tenths_and_deviations():
    tenths = find_tenths(np.array([0, 0.0999, 0.1, 0.55, 0.9999, 1]))
    assert tenths.tolist() == [0, 0, 1, 5, 9, 9]
    rows = np.array([[3.0], [5.0], [1e9], [-1e9]])
    scaled = standardize(rows, np.array([3.0]), np.array([2.0]))
    assert scaled.ravel().tolist() == [0, 1, MAX_DEVIATIONS, -MAX_DEVIATIONS]
    assert MAX_DEVIATIONS == 4


def test_features_have_their_documented_values():
    translation = translate_as(["das", "Haus", "geht"] * 2, -0.5, (BREACH,))
    features = measure_features("  ein\u00a0 \u00adHaus\n", translation)

    assert features == pytest.approx(
        {
            "score": -0.5,
            "source_length": math.log(1 + 8),
            "length_ratio": math.log(28 / 9),
            "length_ratio_squared": math.log(28 / 9) ** 2,
            "token_length": math.log(28 / 7),
            "word_length": math.log(28 / 7),
            "repetition": 1 - 3 / 4,  # four runs of three tokens, of which three differ
            "breaches": 1.0,
        }
    )


@pytest.mark.parametrize(
    ("ids", "repetition"),
    [((), 0), ((1, 2), 0), ((1, 1, 1), 0), ((1,) * 4, 0.5), ((1,) * 5, 2 / 3)],
)
def test_repetition_is_the_share_of_repeated_runs(ids, repetition):
    features = measure_features("", Translation("", 0.0, (), (), ids))
    assert features["repetition"] == pytest.approx(repetition)


def test_estimate_is_the_logistic_of_weighted_features():
    def weigh(mean, scale, weight):
        return FeatureWeight(mean=mean, scale=scale, weight=weight)

    model = ConfidenceModel(
        good_chrf=50,
        sentences=9,
        intercept=0.25,
        features={"breaches": weigh(1, 2, -3), "score": weigh(-1, 0.5, 2)},
        validation=(1,) * TENTHS,
    )
    first = Translation("a b", -0.5, (), (), (1, 2), breaches=(BREACH,) * 3)
    judged = model.judge(["x", ""], [[first, first._replace(score=-1.0)], [EMPTY_TRANSLATION]])

    assert [[each.confidence for each in several] for several in judged] == [
        [pytest.approx(1 / (1 + np.exp(0.75))), pytest.approx(1 / (1 + np.exp(2.75)))],
        [None],
    ]


@given(PAIRS)
def test_area_error_and_curve_follow_their_definitions(pairs):
    confidences, good = (np.array(column) for column in zip(*pairs, strict=True))
    wins = [
        (ours > theirs) + (ours == theirs) / 2
        for ours in confidences[good]
        for theirs in confidences[~good]
    ]
    rows = [[(c, g) for c, g in pairs if min(int(c * 10), 9) == tenth] for tenth in range(TENTHS)]
    bins = [[len(row), *np.mean(row, axis=0)] for row in rows if row]
    error = sum(count * abs(mean - share) for count, mean, share in bins) / len(pairs)

    measured = measure_reliability(confidences, good)
    assert (measured is None) == (not wins)
    if measured:
        curve = [(each.sentences, each.confidence, each.good) for each in measured.curve]
        assert np.array(curve) == pytest.approx(np.array(bins))
        assert measured.area == pytest.approx(np.mean(wins))
        assert (measured.error, measured.good) == pytest.approx((error, good.mean()))


# fitting


def test_weights_minimize_the_penalized_loss():
    """Its gradient is 0, except for weights with a constrained sign."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(300, len(WEIGHT_BOUNDS)))
    good = rows[:, 0] + rows[:, 1] > 0.2
    *weights, intercept = _fit_weights(rows, good)
    wrong = 1 / (1 + np.exp(-rows @ weights - intercept)) - good
    slope = rows.T @ wrong + L2_PENALTY * np.array(weights)

    assert abs(wrong.sum()) < 0.1
    assert np.abs(slope[np.array(weights) != 0]).max() < 0.1


def test_confidence_is_calibrated_on_other_text(fitted):
    sources, translations, good = make_text(3000, seed=1)
    measured = measure_reliability(np.array(fitted.estimate(sources, translations)), good)

    assert measured.error < 0.03
    assert measured.area > 0.8
    assert sum(each.sentences for each in measured.curve) == len(good)


def test_fits_and_estimates_do_not_depend_on_order(fitted):
    sources, translations, good = make_text(1000)
    reversed_fit = fit_confidence(sources[::-1], translations[::-1], good[::-1], good_chrf=50.0)
    ours, theirs = (model.estimate(sources, translations) for model in (fitted, reversed_fit))

    assert ours == pytest.approx(theirs, abs=1e-3)
    assert fitted.estimate(sources[:1], translations[:1]) == pytest.approx(ours[:1])


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=60, max_size=60), st.floats(-8, -0.01), st.floats(0, 3))
def test_signs_of_bad_translations_never_raise_confidence(chosen, score, less):
    sources, translations, _ = make_text(60, seed=2)
    model = fit_confidence(sources, translations, np.array(chosen), good_chrf=50.0)
    words = ["Haus", "geht", "nicht", "sehr", "Hund", "liegt"]
    lower = translate_as(words, score - less)
    broken = translate_as(words, score, breaches=(BREACH,))
    looping = translate_as(["Haus", "geht"] * 3, score)._replace(text=" ".join(words))
    best, *others = model.estimate(
        ["das Haus"] * 4, [translate_as(words, score), lower, broken, looping]
    )

    assert 0 <= min(others) <= max(others) <= best <= 1


@pytest.mark.parametrize(
    ("total", "good", "fits"),
    [
        (MIN_SENTENCES, MIN_SENTENCES // 2, True),
        (MIN_SENTENCES - 1, MIN_SENTENCES // 2, False),
        (MIN_SENTENCES, MIN_PER_CLASS, True),
        (MIN_SENTENCES, MIN_PER_CLASS - 1, False),
        (MIN_SENTENCES, MIN_SENTENCES - MIN_PER_CLASS, True),
        (MIN_SENTENCES, MIN_SENTENCES, False),
        (0, 0, False),
    ],
)
def test_too_few_of_a_kind_give_no_fit(total, good, fits):
    reason = explain_unfit(np.arange(total) < good)

    assert (reason is None) is fits
    assert fits or str(total) in reason


def test_constant_features_get_no_weight():
    sources, translations, good = make_text(300)
    changed = [
        each._replace(breaches=(), unknown_words=("x", "y") if number % 3 == 0 else ())
        for number, each in enumerate(translations)
    ]
    model = fit_confidence(sources, changed, good, good_chrf=50.0)

    assert model.features["breaches"].weight == pytest.approx(0, abs=1e-6)
    assert model.features["breaches"].scale == 1
    assert set(model.features) == set(WEIGHT_BOUNDS) == set(measure_features("", EMPTY_TRANSLATION))
    assert model.sentences_unknown == 100


# in a translator and its bundle


@pytest.fixture
def judging():
    plain = tiny_translator()
    score = plain.search(LINES[:1], n_best=1)[0][0].score
    return replace(plain, confidence_model=judge_by_score(score - 0.01))


def test_every_candidate_but_empty_lines_has_confidence(judging):
    searched = judging.search(LINES, n_best=3)

    for line, several in zip(LINES, searched, strict=True):
        assert all((each.confidence is None) == (not line) for each in several)
    assert searched[0][0].confidence == 1
    assert searched == judging.search([judging.source.tokenize(line) for line in LINES], n_best=3)


@pytest.mark.parametrize(
    ("validated", "judged"), [(None, True), (0, False), (19, False), (20, True), (200, True)]
)
def test_unknown_words_have_no_confidence_unless_validated(judging, validated, judged):
    model = judging.confidence_model.model_copy(update={"sentences_unknown": validated})
    [known] = next(iter(judging.search(LINES[:1], n_best=1)))
    strange = known._replace(unknown_words=("Eule",), confidence=0.9)
    [[both, alone]] = model.judge(LINES[:1], [[strange, known]])

    assert (both.confidence is not None) == judged == model.can_judge(strange)
    assert alone.confidence is not None


@pytest.mark.parametrize(
    ("ids", "score", "confidence", "judged"),
    [
        ((1,), -1.0, None, True),
        ((1,), 0.0, None, True),
        ((), -1.0, None, True),
        ((), 0.0, None, False),
        ((), 0.0, 1.0, False),
    ],
)
def test_only_searched_translations_are_judged(judging, ids, score, confidence, judged):
    translation = Translation("x", score, (), (), ids, confidence=confidence)
    [[after]] = judging.confidence_model.judge(["x"], [[translation]])

    assert after.confidence in {0.0, 1.0} if judged else after.confidence == confidence


def test_samples_and_given_prefixes_have_no_confidence(judging):
    [[drawn]] = judging.sample(["Hund"])
    [[begun]] = judging.search(["Hund"], prefixes=["dog"])
    [[free]] = judging.search(["Hund"], prefixes=[""])

    assert (drawn.confidence, begun.confidence) == (None, None)
    assert free.confidence is not None


def test_model_without_quality_estimation_translates(tmp_path):
    folder = export(tmp_path / "export")
    [[best]] = Translator.load(folder, device="cpu").search(["Hund"], n_best=1)

    assert best.text
    assert best.confidence is None


@pytest.mark.parametrize(
    "change",
    [
        {"features": {"humour": {"mean": 0.0, "scale": 1.0, "weight": 1.0}}},
        {"features": {"score": {"mean": 0.0, "scale": 0.0, "weight": 1.0}}},
        {"validation": [1, 2, 3]},
        {"sentences": "many"},
    ],
    ids=str,
)
def test_unreadable_confidence_is_refused(tmp_path, judging, change):
    folder = export(tmp_path / "export", translator=judging)
    content = files.read_json(folder / CONFIDENCE) | change
    reseal(folder, CONFIDENCE, json.dumps(content).encode())

    with pytest.raises(NmtError, match="confidence"):
        Translator.load(folder, device="cpu")
