"""Each correction is learnt, tested on, or neither; what is tested on is never learnt."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.corpora.filters import FilterConfig
from nmt_core.translation.memory.lesson import KnownText, is_held_out, prepare_lesson
from nmt_core.translation.memory.selection import SelectedCorrection

NOTHING = KnownText(frozenset(), frozenset())
WORDS = ["eule", "bär", "fuchs", "dachs", "igel", "wolf", "hase", "luchs", "otter", "marder", "reh"]

sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
corrections = st.lists(
    st.tuples(sentences, sentences), max_size=30, unique_by=lambda pair: pair[0]
).map(lambda pairs: [SelectedCorrection(*pair, str(n)) for n, pair in enumerate(pairs)])


def prepare(some, *, approved=(), known=NOTHING, screen=None, held_out=0.3, distance=0.0):
    return prepare_lesson(
        some,
        approved,
        known,
        filters=FilterConfig(),
        screen=screen,
        held_out=held_out,
        distance=distance,
    )


def fates(lesson):
    return [
        *lesson.learnt,
        *lesson.held_out,
        *(one for some in lesson.dropped.values() for one in some),
    ]


@given(some=corrections, distance=st.sampled_from([0.0, 0.2, 0.4]), share=st.floats(0.05, 0.9))
def test_each_has_one_fate(some, distance, share):
    lesson = prepare(some, distance=distance, held_out=share)
    assert sorted(fates(lesson)) == sorted(some)
    assert all(is_held_out(one.source, share) for one in lesson.held_out)
    assert not any(is_held_out(one.source, share) for one in lesson.learnt)


@given(some=corrections, more=corrections)
@settings(max_examples=40)
def test_what_is_tested_on_was_learnt_in_no_earlier_night(some, more):
    """Whatever comes, changes or goes, and however it is written."""
    early, late = prepare(some), prepare(more)
    tested = {one.source for one in late.held_out}
    assert not tested & {one.source for one in early.learnt}
    loud = [one._replace(source=one.source.upper() + "!") for one in early.held_out]
    assert prepare(loud).learnt == []


@given(some=corrections, tested=st.sets(sentences), learnt=st.sets(sentences))
@settings(max_examples=50)
def test_nothing_leaks_either_way(some, tested, learnt):
    known = KnownText.read([line.upper() for line in tested], learnt, some)
    lesson = prepare(some, known=known)
    for one in (*lesson.learnt, *lesson.held_out):
        assert not {one.source, one.target} & tested
    for one in lesson.held_out:
        assert not {one.source, one.target} & learnt
    for one in lesson.dropped.get("already_learnt", ()):
        assert is_held_out(one.source, 0.3)


def test_what_is_near_to_what_is_tested_on_is_not_learnt():
    sources = [f"der alte {word} sucht einen bau im wald hinter dem haus" for word in WORDS]
    some = [SelectedCorrection(source, f"text {n}", str(n)) for n, source in enumerate(sources)]
    far = SelectedCorrection("etwas ganz anderes steht hier", "something else", "far")
    lesson = prepare([*some, far], distance=0.2)
    assert lesson.held_out
    assert {one.id for one in lesson.learnt} <= {"far"}
    assert prepare([*some, far]).learnt


@pytest.mark.parametrize("approved", [(), {"1"}])
def test_a_person_counts_more_than_the_screen(approved):
    """But not more than filters of what cannot be learnt."""
    screen = SimpleNamespace(judge=lambda pairs: ["alignment"] * len(pairs))
    some = [
        SelectedCorrection("ein haus", "a house", "1"),
        SelectedCorrection("x " * 200, "y " * 200, "2"),
    ]
    lesson = prepare(some, approved=approved, screen=screen, held_out=0.0001)
    assert [one.id for one in lesson.learnt] == [*approved]
    assert ("alignment" in lesson.dropped) is not bool(approved)
    assert [one.id for one in lesson.dropped["too_many_words"]] == ["2"]
