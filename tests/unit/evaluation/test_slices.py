"""Slices: who belongs to which, and that errors planted in one are seen there and nowhere else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError
from nmt_core.evaluation.registered import SLICES, load_metric
from nmt_core.evaluation.slice import SlicedText
from nmt_core.evaluation.slices import count_word_lines, find_slice, find_slices, score_slices
from nmt_core.evaluation.statistics.resampling import resample_scores
from nmt_core.literals.glossary import Glossary

CODES = ("de", "en")
KINDS = {
    "numbers": ("Im Jahr 1990 kamen 12 Gäste hierher.", "In the year 1990 12 guests came here."),
    "negation": ("Das ist leider nicht der Fall gewesen.", "That was not the case, alas."),
    "questions": ("Wer hat das große Haus gebaut?", "Who built the large house?"),
    "names": ("Gestern war Frau Merkel in Lissabon.", "Ms Merkel was in Lisbon yesterday."),
    "rare_words": ("Das ist ein Quastenflosser im Meer.", "That is a coelacanth in the sea."),
    "glossary": ("Der Ausschuss hat heute getagt.", "The committee met today."),
    "short": ("Das ist gut.", "That is good."),
    "long": (" ".join(["immer wieder"] * 15) + ".", " ".join(["again"] * 15) + "."),
}
PLAIN = ("Das Haus steht seit langem hier am alten See.", "The house has long stood by the lake.")
TEXT = [pair for pair in (*KINDS.values(), PLAIN) for _ in range(6)]
OWN = {name: slice(6 * place, 6 * place + 6) for place, name in enumerate(KINDS)}
TERMS = Glossary.parse(["Ausschuss\tcommittee"], CODES).finders
COMMON = [source for source, _ in TEXT if "Quastenflosser" not in source]


def text_of(pairs=TEXT, **known):
    sources, references = map(list, zip(*pairs, strict=True))
    counts = count_word_lines(COMMON, sources)
    known = {"word_counts": counts, "terms": TERMS} | known
    return SlicedText(sources, references, CODES, **known)


def score(hypotheses, text, metric="chrf", **settings):
    scorer = load_metric(metric, "en")
    counts = scorer.counts(hypotheses, text.references, text.sources)
    settings = {"resamples": 50, "seed": 1} | settings
    return score_slices(find_slices(text), {metric: (scorer, counts)}, **settings)


@pytest.mark.parametrize("name", KINDS)
def test_planted_errors_are_seen_in_their_slice_and_in_none_that_shares_no_sentence(name):
    text = text_of()
    hypotheses = list(text.references)
    hypotheses[OWN[name]] = ["xyz"] * 6
    found = score(hypotheses, text)
    masks = {one: mask for one, (_, mask) in find_slices(text).items()}
    planted = np.zeros(len(TEXT), bool)
    planted[OWN[name]] = True

    assert found[name].scores["chrf"][0] < 100
    assert masks[name][OWN[name]].all()
    for other, one in found.items():
        if other in masks and one.sentences and not (masks[other] & planted).any():
            assert one.scores["chrf"][0] == pytest.approx(100), other
    untouched = {other for other in KINDS if other != name and not (masks[other] & planted).any()}
    assert len(untouched) >= len(KINDS) - 3


@pytest.mark.parametrize("name", KINDS)
def test_a_plain_sentence_belongs_to_no_special_slice(name):
    assert not find_slice(name, text_of([PLAIN, ("x", "x")]))[0]


def test_lengths_part_the_test_set():
    text = text_of([(" ".join(["wort"] * count), "x") for count in range(60)])
    parts = [find_slice(name, text) for name in ("short", "middling", "long")]

    assert (sum(parts) == 1).all()
    assert [int(part.sum()) for part in parts] == [9, 16, 35]


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("Ist das so?", "Is it?"), {"questions"}),
        (("«Ist das so?»", "'Is it?'"), {"questions"}),
        (("Ist das so? Ja.", "Is it? Yes."), set()),
        (("Keinesfalls", "By no means"), {"negation"}),
        (("Die Vereine", "The clubs"), set()),
        (("In Rom", "In Rome"), set()),
        (("Paris ist schön", "Paris is beautiful"), set()),
        (("Er kennt Paris", "Paris he knows"), {"names"}),
        (("am 3. Mai", "on 3 May"), {"numbers"}),
        (("Tor A4", "gate 4"), set()),
    ],
)
def test_where_a_line_belongs(pair, expected):
    text = text_of([pair])
    wanted = {"questions", "negation", "names", "numbers"}

    assert {name for name in wanted if find_slice(name, text)[0]} == expected


def test_negation_is_told_by_the_reference_where_the_source_has_no_list():
    for codes, pair in (
        (("ja", "xx"), ("行かない", "?")),
        (("xx", "en-GB"), ("?", "I don't")),
        (("de-AT", "xx"), ("Das ist nicht der Fall.", "?")),
    ):
        assert find_slice("negation", SlicedText([pair[0]], [pair[1]], codes)).tolist() == [True]
    assert find_slice("negation", SlicedText(["a"], ["b"], ("xx", "yy"))) is None


def test_what_cannot_be_told_is_left_out():
    text = SlicedText(["a"], ["b"], CODES)

    assert {*SLICES} - {*find_slices(text)} == {"rare_words", "sure", "unsure", "glossary"}
    with pytest.raises(ConfigError, match="'nubmers' is not a slice; did you mean 'numbers'"):
        find_slice("nubmers", text)


def test_who_is_unsure_is_told_by_confidence():
    text = SlicedText(["a"] * 4, ["b"] * 4, CODES, confidences=[0.49, 0.5, None, 1.0])

    assert find_slice("unsure", text).tolist() == [True, False, False, False]
    assert find_slice("sure", text).tolist() == [False, True, False, True]


def test_a_rare_word_stands_in_two_lines_at_most():
    lines = ["eins zwei zwei", "Eins, drei", "eins zwei"]
    counts = count_word_lines(lines, ["Eins zwei vier"])

    assert counts == {"eins": 3, "zwei": 2, "vier": 0}
    text = SlicedText(["eins", "eins zwei", "vier"], [""] * 3, CODES, word_counts=counts)
    assert find_slice("rare_words", text).tolist() == [False, True, True]


@settings(max_examples=20)
@given(st.lists(st.integers(0, len(TEXT) - 1), min_size=1, max_size=30))
@pytest.mark.parametrize("metric", ["chrf", "bleu"])
def test_a_slice_is_scored_as_a_test_set_of_its_own(metric, rows):
    """By sacreBLEU, and the interval holds the score of what was drawn from it."""
    text = text_of([TEXT[row] for row in rows])
    hypotheses = [line.replace("the", "a") for line in text.references]
    found = score(hypotheses, text, metric, resamples=20)
    scorer = load_metric(metric, "en").scorer()
    for name, (_, mask) in find_slices(text).items():
        numbers = np.flatnonzero(mask)
        assert found[name].sentences == len(numbers)
        if not len(numbers):
            assert found[name].scores == {}
            continue
        expected = scorer.corpus_score(
            [hypotheses[n] for n in numbers], [[text.references[n] for n in numbers]]
        ).score
        value, low, high = found[name].scores[metric]
        assert value == pytest.approx(expected, abs=1e-9)
        assert low <= high


def test_an_interval_is_as_wide_as_chance_makes_it():
    """About four standard errors of a mean, of sentences that are right or wrong."""
    pairs = [(f"Das ist Satz {n}", "abcdefghij") for n in range(400)]
    hypotheses = ["abcdefghij" if n % 2 else "" for n in range(400)]
    found = score(hypotheses, text_of(pairs), resamples=400)["numbers"]
    value, low, high = found.scores["chrf"]

    assert found.sentences == 400
    assert low < value < high
    narrow = score(hypotheses * 4, text_of(pairs * 4), resamples=400)["numbers"].scores["chrf"]
    assert (high - low) / (narrow[2] - narrow[1]) == pytest.approx(2, rel=0.2)
    metric = load_metric("chrf", "en")
    counts = metric.counts(hypotheses, ["abcdefghij"] * 400, hypotheses)
    drawn = resample_scores(metric.score_of_sums, counts, resamples=400, seed=1)
    assert (high - low) / drawn.std() == pytest.approx(2 * 1.96, rel=0.1)
    assert score(hypotheses, text_of(pairs), resamples=0)["numbers"].scores["chrf"] == (value,) * 3
