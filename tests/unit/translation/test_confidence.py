"""Confidence: what it must do whatever it is fitted on, and how far it can be trusted."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import sentence_chrf

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.evaluation.sentence_scores import score_chrf
from nmt_core.literals.checking import Breach
from nmt_core.translation.confidence import TENTHS, compute_drift, find_tenths, measure_features
from nmt_core.translation.fitting import (
    FEWEST,
    FEWEST_OF_A_KIND,
    PENALTY,
    SIGNS,
    _fit_weights,
    compute_area,
    compute_error,
    explain_unfit,
    fit_confidence,
    measure_reliability,
)
from nmt_core.translation.loading import CONFIDENCE
from nmt_core.translation.parity import ParityText
from nmt_core.translation.prepared import prepare_engines
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation
from nmt_core.translation.translator import Translator
from tests.support.sealing import reseal
from tests.support.tiny import LINES, MODEL, export, judge_by_score, tiny_translator

BREACH = Breach("number", "5", "5", "missing")
WORDS = ["ein", "das", "Haus", "Garten", "Hund", "liegt", "geht", "und", "nicht", "sehr", "17"]


def make_text(count, seed=0):
    """Lines with translations of several scores and lengths, of which some repeat or lose a word.

    Also the probability that each is good: a logistic function of its score and its length.
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


def test_confidence_is_calibrated_and_tells_good_ones_on_other_text(fitted):
    sources, translations, good = make_text(3000, seed=1)
    found = measure_reliability(fitted.estimate(sources, translations), good, resamples=50, seed=1)
    chance = measure_reliability(np.full(len(good), 0.5), good, resamples=50, seed=1)

    assert found.error < 0.03
    assert found.area_low > 0.8
    assert found.area_low < found.area < found.area_high
    assert chance.area == 0.5
    assert chance.error == pytest.approx(abs(good.mean() - 0.5))
    assert sum(one.sentences for one in found.curve) == len(good)


def test_what_is_fitted_does_not_depend_on_the_order_of_lines(fitted):
    sources, translations, good = make_text(1000)
    turned = fit_confidence(sources[::-1], translations[::-1], good[::-1], good_chrf=50.0)

    ours, theirs = (one.estimate(sources, translations) for one in (fitted, turned))
    assert np.abs(ours - theirs).max() < 1e-3


def test_weights_are_those_of_the_least_penalized_loss():
    """Where its slope is 0, but for weights whose sign is given."""
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(300, len(SIGNS)))
    good = rows[:, 0] + rows[:, 1] > 0.2
    *weights, intercept = _fit_weights(rows, good)
    wrong = 1 / (1 + np.exp(-rows @ weights - intercept)) - good
    slope = rows.T @ wrong + PENALTY * np.array(weights)

    assert abs(wrong.sum()) < 0.1
    assert np.abs(slope[np.array(weights) != 0]).max() < 0.1


@settings(max_examples=20)
@given(st.lists(st.booleans(), min_size=60, max_size=60), st.floats(-8, -0.01), st.floats(0, 3))
def test_whatever_is_learnt_signs_of_bad_translations_never_raise_confidence(chosen, score, less):
    sources, translations, _ = make_text(60, seed=2)
    judging = fit_confidence(sources, translations, np.array(chosen), good_chrf=50.0)
    words = ["Haus", "geht", "nicht", "sehr", "Hund", "liegt"]
    lower = translate_as(words, score - less)
    broken = translate_as(words, score, breaches=(BREACH,))
    looping = translate_as(["Haus", "geht"] * 3, score)._replace(text=" ".join(words))
    best, *others = judging.estimate(
        ["das Haus"] * 4, [translate_as(words, score), lower, broken, looping]
    )

    assert 0 <= min(others) <= max(others) <= best <= 1


def test_features_are_what_their_names_say():
    translation = translate_as(["das", "Haus", "geht"] * 2, -0.5, (BREACH,))
    found = measure_features("ein Haus", translation)
    assert found == measure_features("  ein\u00a0 \u00adHaus\n", translation)

    assert found == pytest.approx(
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


def test_confidence_does_not_depend_on_neighbours(fitted):
    sources, translations, _ = make_text(20, seed=3)
    alone = [
        fitted.estimate([source], [one])[0]
        for source, one in zip(sources, translations, strict=True)
    ]

    assert fitted.estimate(sources, translations).tolist() == pytest.approx(alone)


def test_text_beyond_all_that_was_seen_has_a_confidence(fitted):
    """However long or unlikely, a feature counts no more than at four deviations."""
    one = translate_as(["Haus"] * 3000, -1e6)._replace(text="x" * 100_000)
    [confidence] = fitted.estimate([""], [one])

    assert 0 <= confidence < 0.05


@pytest.mark.parametrize(
    ("total", "good", "fits"),
    [
        (FEWEST, FEWEST // 2, True),
        (FEWEST - 1, FEWEST // 2, False),
        (FEWEST, FEWEST_OF_A_KIND, True),
        (FEWEST, FEWEST_OF_A_KIND - 1, False),
        (FEWEST, FEWEST - FEWEST_OF_A_KIND, True),
        (FEWEST, FEWEST, False),
        (0, 0, False),
    ],
)
def test_too_few_of_a_kind_are_no_text_to_fit_on(total, good, fits):
    reason = explain_unfit(np.arange(total) < good)

    assert (reason is None) is fits
    assert fits or str(total) in reason


def test_a_feature_that_never_varies_says_nothing():
    sources, translations, good = make_text(300)
    kept = [one._replace(breaches=()) for one in translations]
    judging = fit_confidence(sources, kept, good, good_chrf=50.0)

    assert judging.features["breaches"].weight == pytest.approx(0, abs=1e-6)
    assert set(judging.features) == set(SIGNS) == set(measure_features("", EMPTY_TRANSLATION))


@given(st.lists(st.tuples(st.sampled_from([0, 0.1, 0.25, 0.5, 1]), st.booleans()), min_size=2))
def test_area_and_error_are_those_of_their_definitions(pairs):
    confidences = np.array([confidence for confidence, _ in pairs])
    good = np.array([is_good for _, is_good in pairs])
    wins = [
        (ours > theirs) + (ours == theirs) / 2
        for ours in confidences[good]
        for theirs in confidences[~good]
    ]
    gaps = [
        abs(confidences[inside].mean() - good[inside].mean()) * inside.sum()
        for tenth in range(TENTHS)
        if (inside := find_tenths(confidences) == tenth).any()
    ]

    assert compute_error(confidences, good) == pytest.approx(sum(gaps) / len(pairs))
    if wins:
        assert compute_area(confidences, good) == pytest.approx(np.mean(wins))
    else:
        assert measure_reliability(confidences, good, resamples=2, seed=1) is None


def test_a_sentence_is_scored_by_itself_as_sacrebleu_does():
    pairs = [("the house", "the houses"), ("a", "xyz"), ("", "empty"), ("so it is", "so it is")]
    found = score_chrf(*map(list, zip(*pairs, strict=True)), language="en")

    assert found.tolist() == pytest.approx([sentence_chrf(a, [b]).score for a, b in pairs])


def test_500_sentences_tell_text_of_another_kind_from_the_same(fitted):
    assert all(measure_drift(fitted, seed, lower=0.0) < 0.1 for seed in range(10, 30))
    assert all(measure_drift(fitted, seed, lower=0.5) > 0.25 for seed in range(10, 15))


def measure_drift(fitted, seed, *, lower):
    sources, translations, _ = make_text(500, seed)
    shifted = [one._replace(score=one.score - lower) for one in translations]
    tenths = find_tenths(fitted.estimate(sources, shifted))
    return compute_drift(np.bincount(tenths, minlength=TENTHS).tolist(), fitted.validation)


# in a translator and its bundle


@pytest.fixture
def judging():
    plain = tiny_translator()
    score = plain.search(LINES[:1], n_best=1)[0][0].score
    return replace(plain, confidence_model=judge_by_score(score - 0.01))


def test_every_candidate_has_a_confidence_and_empty_lines_have_none(judging):
    found = judging.search(LINES, n_best=3)

    for line, several in zip(LINES, found, strict=True):
        assert all((one.confidence is None) == (not line) for one in several)
    assert found[0][0].confidence == 1
    tokenized = [judging.source.tokenize(line) for line in LINES]
    assert [one for one, *_ in found] == [one for one, *_ in judging.search(tokenized, n_best=3)]


@pytest.mark.parametrize(
    ("validated", "judged"), [(None, True), (0, False), (19, False), (20, True), (200, True)]
)
def test_words_that_validation_hardly_had_leave_no_confidence(judging, validated, judged):
    """For nothing is known of how good guesses at other words are."""
    model = judging.confidence_model.model_copy(update={"sentences_unknown": validated})
    [known] = next(iter(judging.search(LINES[:1], n_best=1)))
    strange = known._replace(unknown_words=("Eule",), confidence=0.9)
    [[both, alone]] = model.judge(LINES[:1], [[strange, known]])

    assert (both.confidence is not None) == judged == model.can_judge(strange)
    assert alone.confidence is not None


def test_what_no_search_has_found_keeps_its_confidence(judging):
    written = EMPTY_TRANSLATION._replace(text="12", confidence=1.0)
    [[figures], [empty]] = judging.confidence_model.judge(
        ["12", ""], [[written], [EMPTY_TRANSLATION]]
    )

    assert (figures.confidence, empty.confidence) == (1.0, None)


def test_validation_sentences_with_unknown_words_are_counted():
    sources, translations, good = make_text(300)
    some = [
        one._replace(unknown_words=("x", "y")) if number % 3 == 0 else one
        for number, one in enumerate(translations)
    ]

    assert fit_confidence(sources, translations, good, good_chrf=50.0).sentences_unknown == 0
    assert fit_confidence(sources, some, good, good_chrf=50.0).sentences_unknown == 100


def test_samples_and_given_beginnings_have_no_confidence(judging):
    [[drawn]] = judging.sample(["Hund"])
    [[begun]] = judging.search(["Hund"], prefixes=["dog"])
    [[free]] = judging.search(["Hund"], prefixes=[""])

    assert (drawn.confidence, begun.confidence) == (None, None)
    assert free.confidence is not None


def test_a_bundle_judges_as_the_translator_did(tmp_path, judging, fitted):
    judging = replace(judging, confidence_model=fitted)
    loaded = Translator.load(export(tmp_path / "export", translator=judging), device="cpu")

    assert loaded.confidence_model == fitted
    [[ours], [theirs]] = (one.search(["Hund"], n_best=1)[0] for one in (judging, loaded))
    assert theirs.confidence == pytest.approx(ours.confidence, abs=1e-6)


def test_an_engine_judges_by_its_own_and_else_as_the_bundle(tmp_path, judging, fitted):
    """For its scores may be others."""
    written = prepare_engines(
        ("int8", "float32"),
        translator=judging,
        model_config=MODEL,
        folder=tmp_path / "scratch",
        text=ParityText(LINES, LINES, "en"),
        threads=1,
    ).engines
    engines = [written[0]._replace(confidence=fitted), *written[1:]]
    folder = export(tmp_path / "export", translator=judging, engines=engines)
    told = {
        name: Translator.load(folder, engine=name, threads=1).confidence_model
        for name in ("torch", "ctranslate2_int8", "ctranslate2_float32")
    }

    plain = judging.confidence_model
    assert told == {"torch": plain, "ctranslate2_int8": fitted, "ctranslate2_float32": plain}


def test_an_earlier_bundle_translates_without_confidence(tmp_path):
    folder = export(tmp_path / "export")
    decoding = files.read_json(folder / "decoding.json") | {"unsure_below": -0.3}
    reseal(folder, "decoding.json", json.dumps(decoding).encode())
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
def test_confidence_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, judging, change):
    folder = export(tmp_path / "export", translator=judging)
    content = files.read_json(folder / CONFIDENCE) | change
    reseal(folder, CONFIDENCE, json.dumps(content).encode())

    with pytest.raises(NmtError, match="confidence"):
        Translator.load(folder, device="cpu")
