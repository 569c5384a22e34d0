"""Pieces of translation one by one, each beside a plain account of its own."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

from nmt_core.data.modifiers import Title
from nmt_core.literals.checking import Breach
from nmt_core.search.hypothesis import Hypothesis
from nmt_core.text.side import Tokenized
from nmt_core.translation.attention import END, trace_attention
from nmt_core.translation.behaviour import (
    Behaviour,
    Inserted,
    Modified,
    Probe,
    ProbeShare,
    change_lines,
    draw_number,
)
from nmt_core.translation.confidence import (
    FARTHEST,
    LEVELS,
    TENTHS,
    ConfidenceModel,
    FeatureWeight,
    apply_logistic,
    compute_drift,
    find_tenths,
    measure_features,
    name_level,
    standardize,
    was_searched,
)
from nmt_core.translation.fitting import (
    _Regression,
    cross_validate,
    measure_reliability,
    trace_reliability,
)
from nmt_core.translation.flaws import FEWEST_COPIED, find_flaws, list_without_marks
from nmt_core.translation.settings import TranslatorConfig
from nmt_core.translation.text_search import (
    SourceTask,
    copy_unknown,
    drop_tag_column,
    leave_tag_out,
)
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation, remember_translation
from tests.support.tiny import tiny_translator

BREACH = Breach("number", "5", "5", "missing")


# settings


@pytest.mark.parametrize(
    ("name", "most"), [("batch_tokens", 1_000_000), ("max_source_tokens", 10_000)]
)
def test_sizes_of_translation_have_bounds(name, most):
    for value in (1, most):
        assert getattr(TranslatorConfig(**{name: value}), name) == value
    for value in (0, most + 1):
        with pytest.raises(ValidationError, match=name):
            TranslatorConfig(**{name: value})


# sources and their attention


@settings(max_examples=30)
@given(arrays(np.float32, (3, 4), elements=st.floats(0, 1, width=32)))
def test_attention_to_the_text_has_the_sums_of_attention_to_all(looks):
    left = drop_tag_column(looks)
    assert left.shape == (3, 3)
    for row, own in zip(looks, left, strict=True):
        if row[1:].sum() > 0:
            assert own.sum() == pytest.approx(row.sum(), rel=1e-4, abs=1e-6)
            assert np.allclose(own * row[1:].sum(), row[1:] * row.sum(), atol=1e-4)
        else:
            assert not own.any()


def test_attention_leaves_the_tag_out():
    looks = np.array([[0.5, 0.25, 0.25]], np.float32)
    hypothesis = Hypothesis((), 0.0, 0.0, ())._replace(attention=looks)
    assert leave_tag_out(hypothesis, "own").attention.tolist() == [[0.5, 0.5]]
    assert leave_tag_out(hypothesis, None).attention is looks
    assert leave_tag_out(hypothesis._replace(attention=None), "own").attention is None


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("tag", ["own", None])
def test_unknown_words_are_those_that_attention_looks_at_most(seen, tag):
    source = SimpleNamespace(surfaces=str.split)
    numbers = [*[9] * (tag is not None), 5, 6, 7, 2]
    looks = np.array([[0.1, 0.6, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]], np.float32)
    whole = np.concatenate([np.zeros((3, 1), np.float32), looks], axis=1) if tag else looks
    found = Hypothesis((3, 3, 3), 0.0, 0.0, ())._replace(attention=looks if seen else None)
    plain = Hypothesis((5, 6), 0.0, 0.0, ())
    asked = []

    def attend(sources, tokens):
        asked.append((sources, tokens))
        return [whole]

    tokens = [["a", "<unk>", "<unk>"], ["b", "c"]]
    pairs = [
        (SourceTask(Tokenized("x y z", ["x", "y", "z"], tag), numbers, ["a"]), found),
        (SourceTask(Tokenized("u", ["u"]), [5, 2], []), plain),
    ]
    copy_unknown(pairs, tokens, source, lambda: SimpleNamespace(attend=attend))
    assert tokens == [["a", "x", "z"], ["b", "c"]]
    assert asked == ([] if seen else [([numbers], [(3, 3, 3)])])


def test_attention_is_traced_with_the_ends_of_both_sentences():
    own = tiny_translator()
    [[best]] = own.search(["Hund"], n_best=1)
    look = trace_attention(own, "Hund", best)
    assert look.weights.shape == (len(best.tokens) + 1, len(own.source.tokens("Hund")) + 1)
    parts = [*vars(look).values()] if hasattr(look, "__dict__") else [*look]
    assert "Hund" in parts
    assert [*own.source.tokens("Hund"), END] in parts
    assert [*best.tokens, END] in parts
    assert trace_attention(own, "", EMPTY_TRANSLATION) is None


# flaws and probes


@pytest.mark.parametrize("count", [FEWEST_COPIED - 1, FEWEST_COPIED])
def test_a_copy_is_a_flaw_where_it_has_so_many_words_in_lower_case(count):
    line = " ".join([*(f"{sign}x" for sign in "abcdefgh"[:count]), "Haus", "NATO", "5", "!"])
    found = [flaw.problem for flaw in find_flaws(line, line, tokens=1, limit=9)]
    assert found == ["copied"] * (count >= 6)
    assert [*find_flaws(line, f"{line} x", tokens=1, limit=9)] == []
    assert list_without_marks("a, b … (c) + 5 %") == ["a", "b", "c", "5"]


class Counted(Probe):
    """Changes lines of even numbers, and notes those that it saw."""

    name = "counted"

    def __init__(self):
        self.seen = []

    def change(self, line, language, draw):
        self.seen.append((line, language, float(draw.random())))
        return f"{line}!" if int(line) % 2 == 0 else ""


@given(st.integers(0, 12), st.none() | st.integers(0, 8), st.integers(0, 3))
@settings(max_examples=40)
def test_lines_are_changed_once_as_many_as_wanted_whatever_the_others_are(count, most, seed):
    probe = Counted()
    changed = dict(change_lines(probe, [str(n) for n in range(count)], "de", seed, most))
    even = (count + 1) // 2
    assert len(changed) == (even if most is None else min(even, most))
    assert all(text == f"{number}!" and number % 2 == 0 for number, text in changed.items())
    assert len({line for line, _, _ in probe.seen}) == len(probe.seen)
    assert {language for _, language, _ in probe.seen} <= {"de"}
    again = Counted()
    [*change_lines(again, [str(n) for n in range(count)], "de", seed, None)]
    assert probe.seen == again.seen[: len(probe.seen)]


@given(st.integers(1, 6), st.integers(0, 50))
def test_a_number_is_drawn_of_so_many_digits(digits, seed):
    drawn = draw_number(digits, np.random.default_rng(seed))
    assert len(drawn) == digits
    assert drawn.isdecimal()
    assert drawn[0] != "0"


def test_probes_change_a_word_or_the_case_and_reduce_what_must_stay():
    draw = SimpleNamespace(random=lambda: 0.5)
    assert Inserted("x", "{n}").change("a b c d.", "de", draw) == "a b {n} c d."
    assert Inserted("x", "{n}").reduce("a {n} b 5.", "de") == "a b."
    title = Modified(Title())
    assert title.name == "title"
    assert title.change("das haus", "de", np.random.default_rng(1)) == "Das Haus"
    assert title.change("Das Haus", "de", np.random.default_rng(1)) == ""
    assert title.reduce("Das STRASSE ß", "de") == "das strasse ss"
    assert Counted().reduce("As it Is", "de") == "As it Is"


def test_a_row_of_behaviour_has_both_shares():
    share = ProbeShare(passed=1500, total=2000, low=0.725, high=0.775)
    assert Behaviour(kept=share, same=None).cells("x") == [
        "x",
        "2,000",
        "75.0 % (72.5 to 77.5)",
        "",
    ]
    assert Behaviour(kept=share, same=share).cells("x")[3] == "75.0 % (72.5 to 77.5)"


# confidence


@given(st.lists(st.integers(0, 60), min_size=TENTHS, max_size=TENTHS))
@settings(max_examples=30)
def test_drift_is_that_of_its_definition(counts):
    other = [*range(TENTHS)]
    ours, theirs = ([(n + 0.5) / (sum(each) + 5) for n in each] for each in (counts, other))
    expected = sum((a - b) * np.log(a / b) for a, b in zip(ours, theirs, strict=True))
    assert compute_drift(counts, other) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("confidence", "tenth"), [(0, 0), (0.0999, 0), (0.1, 1), (0.55, 5), (0.9999, 9), (1, 9)]
)
def test_tenths_begin_at_their_tenth(confidence, tenth):
    assert find_tenths(np.array([float(confidence)])).tolist() == [tenth]


def test_odds_are_probabilities_and_deviations_have_an_end():
    odds = np.array([-3.0, 0.0, 2.0])
    assert apply_logistic(odds) == pytest.approx(1 / (1 + np.exp(-odds)))
    rows = np.array([[3.0], [5.0], [1e9], [-1e9]])
    found = standardize(rows, np.array([3.0]), np.array([2.0]))
    assert found.ravel().tolist() == [0, 1, FARTHEST, -FARTHEST]
    assert FARTHEST == 4


def test_an_estimate_is_the_logistic_of_the_weighted_features():
    def weigh(mean, scale, weight):
        return FeatureWeight(mean=mean, scale=scale, weight=weight)

    model = ConfidenceModel(
        good_chrf=50,
        sentences=9,
        intercept=0.25,
        features={"breaches": weigh(1, 2, -3), "score": weigh(-1, 0.5, 2)},
        validation=(1,) * TENTHS,
    )
    one = Translation("a b", -0.5, (), (), (1, 2), breaches=(BREACH,) * 3)
    expected = 1 / (1 + np.exp(-(0.25 + 2 * 1.0 - 3 * 1.0)))
    assert model.estimate(["x"], [one]) == pytest.approx([expected])
    judged = model.judge(["x", ""], [[one, one._replace(score=-1.0)], [EMPTY_TRANSLATION]])
    assert [[each.confidence for each in several] for several in judged] == [
        [pytest.approx(expected), pytest.approx(1 / (1 + np.exp(-(0.25 - 3.0))))],
        [None],
    ]


@pytest.mark.parametrize(
    ("ids", "score", "searched"),
    [((1,), -1.0, True), ((1,), 0.0, True), ((), -1.0, True), ((), 0.0, False)],
)
def test_what_has_neither_tokens_nor_a_score_was_not_searched(ids, score, searched):
    assert was_searched(Translation("x", score, (), (), ids)) is searched


@pytest.mark.parametrize(
    ("ids", "repetition"),
    [
        ((), 0),
        ((1, 2), 0),
        ((1, 1, 1), 0),
        ((1,) * 4, 0.5),
        ((1,) * 5, 2 / 3),
        ((1, 2, 3, 1, 2, 3), 0.25),
    ],
)
def test_repetition_is_the_share_of_runs_that_were_there_before(ids, repetition):
    found = measure_features("", Translation("", 0.0, (), (), ids))
    assert found["repetition"] == pytest.approx(repetition)


def test_words_for_confidence_change_at_their_bounds():
    told = [name_level(one) for one in (1.0, 0.75, 0.7499, 0.25, 0.2499, 0.0)]
    good, maybe, wrong = LEVELS
    assert told == [good, good, maybe, maybe, wrong, wrong]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
@settings(max_examples=30)
def test_a_reliability_curve_is_the_means_of_tenths(pairs):
    confidences, good = (np.array(each) for each in zip(*pairs, strict=True))
    found = [*trace_reliability(confidences, good)]
    rows = [[(c, g) for c, g in pairs if min(int(c * 10), 9) == tenth] for tenth in range(TENTHS)]
    rows = [row for row in rows if row]
    assert [one.sentences for one in found] == [len(row) for row in rows]
    for one, row in zip(found, rows, strict=True):
        assert one.confidence == pytest.approx(sum(c for c, _ in row) / len(row))
        assert one.good == pytest.approx(sum(g for _, g in row) / len(row))


def test_resamples_give_the_middle_95_of_a_hundred():
    confidences, good = np.linspace(0, 1, 60), np.arange(60) % 3 == 0
    found = measure_reliability(confidences, good, resamples=400, seed=1)
    assert found.sentences == 60
    assert found.good == pytest.approx(1 / 3)
    assert found.area_low < found.area < found.area_high
    assert 0.2 < found.area_high - found.area_low < 0.5
    assert found.error_low < found.error_high
    assert found == measure_reliability(confidences, good, resamples=400, seed=1)
    assert measure_reliability(confidences, good, resamples=0, seed=1).area_low == found.area
    other = measure_reliability(confidences, good, resamples=400, seed=2)
    assert other.area == found.area
    assert other.area_low != found.area_low


def test_a_column_that_never_varies_has_a_scale_of_one():
    rows = np.tile(np.arange(8.0), (300, 1))
    rows[:, 0] = np.arange(300)
    found = _Regression.fit(rows, np.arange(300) > 150)
    assert found.scales[1:].tolist() == [1.0] * 7
    assert found.scales[0] == pytest.approx(np.arange(300).std())
    assert found.means == pytest.approx(rows.mean(axis=0))


def test_each_part_is_judged_by_what_was_fitted_on_the_others():
    draw = np.random.default_rng(3)
    sources = ["x" * int(n) for n in draw.integers(1, 40, 100)]
    found = [Translation(s, -float(draw.random()), (), (), (1,)) for s in sources]
    good = draw.random(100) < 0.5
    first = cross_validate(sources, found, good, seed=1)
    assert first.tolist() == cross_validate(sources, found, good, seed=1).tolist()
    turned = good.copy()
    turned[7] = not turned[7]
    after = cross_validate(sources, found, turned, seed=1)
    same = np.flatnonzero(first == after)
    assert 7 in same
    assert len(same) == 20


def test_an_approved_translation_is_sure_and_of_the_memory():
    one = remember_translation("so")
    assert (one.text, one.confidence, one.origin, one.score) == ("so", 1.0, "memory", 0.0)
    assert (one.tokens, one.ids, one.breaches) == ((), (), ())
    assert EMPTY_TRANSLATION == Translation("", 0.0, (), (), ())
