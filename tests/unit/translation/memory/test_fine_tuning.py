"""Each correction is learnt, held out or dropped; a held-out correction is never learnt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.corpora.filters import FilterConfig
from nmt_core.translation.memory.fine_tuning import is_held_out, split_corrections
from nmt_core.translation.memory.journal import SelectedCorrection

WORDS = ["eule", "bär", "fuchs", "dachs", "igel", "wolf", "hase", "luchs", "otter", "marder", "reh"]

sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
corrections = st.lists(
    st.tuples(sentences, sentences), max_size=30, unique_by=lambda pair: pair[0]
).map(lambda pairs: [SelectedCorrection(*pair, str(n)) for n, pair in enumerate(pairs)])


def prepare(some, *, approved=(), known=((), ()), noise=None, held_out=0.3, distance=0.0):
    return split_corrections(
        some,
        approved,
        known,
        filters=FilterConfig(),
        noise=noise or {},
        held_out=held_out,
        distance=distance,
    )


def list_all(split):
    return [
        *split.learnt,
        *split.held_out,
        *(one for some in split.dropped.values() for one in some),
    ]


@given(some=corrections, distance=st.sampled_from([0.0, 0.2, 0.4]), share=st.floats(0.05, 0.9))
def test_each_is_learnt_held_out_or_dropped(some, distance, share):
    split = prepare(some, distance=distance, held_out=share)
    assert sorted(list_all(split)) == sorted(some)
    assert all(is_held_out(one.source, share) for one in split.held_out)
    assert not any(is_held_out(one.source, share) for one in split.learnt)


@given(some=corrections, more=corrections)
def test_held_out_ones_were_never_learnt(some, more):
    """Independent of other corrections and of spelling."""
    early, late = prepare(some), prepare(more)
    tested = {one.source for one in late.held_out}
    assert not tested & {one.source for one in early.learnt}
    loud = [one._replace(source=one.source.upper() + "!") for one in early.held_out]
    assert prepare(loud).learnt == []


@given(some=corrections, tested=st.sets(sentences), learnt=st.sets(sentences))
def test_no_held_out_correction_leaks(some, tested, learnt):
    split = prepare(some, known=([line.upper() for line in tested], learnt))
    for one in (*split.learnt, *split.held_out):
        assert not {one.source, one.target} & tested
    for one in split.held_out:
        assert not {one.source, one.target} & learnt
    for one in split.dropped.get("already_learnt", ()):
        assert is_held_out(one.source, 0.3)


@pytest.mark.parametrize("order", [1, -1])
def test_neighbours_of_held_out_ones_are_dropped(order):
    """On either side."""
    near = [f"der alte {word} sucht einen bau im wald hinter dem haus" for word in WORDS]
    some = [
        SelectedCorrection(*(line, f"text {n}")[::order], str(n)) for n, line in enumerate(near)
    ]
    far = SelectedCorrection("etwas ganz anderes steht hier", "something else", "far")
    split = prepare([*some, far], distance=0.2)
    assert split.held_out
    assert {one.id for one in split.learnt} <= {"far"}
    assert prepare([*some, far]).learnt


@pytest.mark.parametrize("approved", [(), {"1"}])
def test_approval_overrules_the_screen(approved):
    """Approval does not override the filters of training pairs."""
    some = [
        SelectedCorrection("ein haus", "a house", "1"),
        SelectedCorrection("x " * 200, "y " * 200, "2"),
    ]
    split = prepare(some, approved=approved, noise={"1": "alignment"}, held_out=0.0001)
    assert [one.id for one in split.learnt] == [*approved]
    assert ("alignment" in split.dropped) is not bool(approved)
    assert [one.id for one in split.dropped["too_many_words"]] == ["2"]
