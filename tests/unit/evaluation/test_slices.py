"""Slices: which sentences belong to each, and that each is scored like a test set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.evaluation.metric import SlicedText
from nmt_core.evaluation.registry import load_metric
from nmt_core.evaluation.significance import resample_scores
from nmt_core.evaluation.slices import SLICES, find_slice, find_slices, score_slices

CODES = ("de", "en")
PAIRS = [
    ("Im Jahr 1990 kamen 12 Gäste hierher.", "In the year 1990 12 guests came here."),
    ("Das ist leider nicht der Fall gewesen.", "That was not the case, alas."),
    ("Gestern war Frau Merkel in Lissabon.", "Ms Merkel was in Lisbon yesterday."),
    ("Das ist gut.", "That is good."),
    (" ".join(["immer wieder"] * 15) + ".", " ".join(["again"] * 15) + "."),
]


def text_of(pairs, codes=CODES):
    sources, references = map(list, zip(*pairs, strict=True))
    return SlicedText(sources, references, codes)


def score(hypotheses, text, metric="chrf", **settings):
    scorer = load_metric(metric, "en")
    counts = scorer.counts(hypotheses, text.references, text.sources)
    settings = {"resamples": 50, "seed": 1} | settings
    return score_slices(find_slices(text), {metric: (scorer, counts)}, **settings)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("Das Haus steht seit langem hier am alten See.", "The house stood there."), set()),
        (("Keinesfalls", "By no means"), {"short", "negation"}),
        (("Die Vereine", "The clubs"), {"short"}),
        (("am 3. Mai", "on 3 May"), {"short", "numbers"}),
        (("Tor A4", "gate 4"), {"short"}),
        ((" ".join(["wort"] * 8), "x"), {"short"}),
        ((" ".join(["wort"] * 9), "x"), set()),
        ((" ".join(["wort"] * 24), "x"), set()),
        ((" ".join(["wort"] * 25), "x"), {"long"}),
    ],
)
def test_slices_of_a_line(pair, expected):
    found = find_slices(text_of([pair]))
    assert {name for name, (_, mask) in found.items() if mask[0]} == expected


@pytest.mark.parametrize(
    ("codes", "pair"),
    [
        (("ja", "xx"), ("行かない", "?")),
        (("xx", "en-GB"), ("?", "I don't")),
        (("de-AT", "xx"), ("Das ist nicht der Fall.", "?")),
        (("pt-BR", "xx"), ("Não, obrigado.", "?")),
    ],
)
def test_negation_is_found_by_a_languages_list(codes, pair):
    assert find_slice("negation", text_of([pair], codes)).tolist() == [True]


def test_unknown_slices_are_omitted():
    text = text_of([("a", "b")], ("xx", "yy"))
    assert find_slice("negation", text) is None
    assert {*SLICES} - {*find_slices(text)} == {"negation"}


@settings(max_examples=20)
@given(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=30))
@pytest.mark.parametrize("metric", ["chrf", "bleu"])
def test_a_slice_is_scored_like_a_test_set(metric, pairs):
    text = text_of(pairs)
    hypotheses = [line.replace("the", "a") for line in text.references]
    found = score(hypotheses, text, metric, resamples=20)
    scorer = load_metric(metric, "en").scorer()
    for name, (label, mask) in find_slices(text).items():
        numbers = np.flatnonzero(mask)
        assert (found[name].label, found[name].sentences) == (label, len(numbers))
        if not len(numbers):
            assert found[name].scores == {}
            continue
        expected = scorer.corpus_score(
            [hypotheses[n] for n in numbers], [[text.references[n] for n in numbers]]
        ).score
        value, low, high = found[name].scores[metric]
        assert value == pytest.approx(expected, abs=1e-9)
        assert low <= high


def test_interval_is_as_wide_as_chance_makes_it():
    """About four standard errors of a mean of sentences that are right or wrong."""
    pairs = [(f"Das ist Satz {n}", "abcdefghij") for n in range(400)]
    hypotheses = ["abcdefghij" if n % 2 else "" for n in range(400)]
    value, low, high = score(hypotheses, text_of(pairs), resamples=400)["numbers"].scores["chrf"]
    metric = load_metric("chrf", "en")
    counts = metric.counts(hypotheses, ["abcdefghij"] * 400, hypotheses)
    drawn = resample_scores(metric.score_of_sums, counts, resamples=400, seed=1)

    assert low < value < high
    assert (high - low) / drawn.std() == pytest.approx(2 * 1.96, rel=0.1)
    assert score(hypotheses, text_of(pairs), resamples=0)["numbers"].scores["chrf"] == (value,) * 3
