"""Links against those of people, by examples small enough to check by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gold_links import (
    Gold,
    alignment_error_rate,
    compare_links,
    link_diagonally,
    read_gold,
)
from nmt_core.base.errors import CorpusError
from nmt_core.text.aligner.links import read_links


def test_links_are_read():
    assert {(0, 0), (2, 1), (10, 1)} == read_links("0-0 2-1 10-1\n")
    assert frozenset() == read_links("")


@pytest.mark.parametrize("line", ["0:0", "1-a", "1-2-3", "5"])
def test_what_is_no_link_is_refused(line):
    with pytest.raises(CorpusError, match="written as in '0-0 2-1'"):
        read_links(line)


def test_the_diagonal_covers_every_target_word():
    assert {(0, 0), (0, 1), (1, 2), (1, 3), (2, 4)} == link_diagonally(3, 5)
    assert frozenset() == link_diagonally(0, 5)


def test_the_error_rate_counts_both_kinds_of_error():
    """Two of three found are right, two of four given are found: 1 - 2 * 2 / 7."""
    found, given = read_links("0-0 1-1 2-2"), read_links("0-0 1-1 3-2 3-3")

    assert 1 - 4 / 7 == pytest.approx(alignment_error_rate([found], [given]))
    assert alignment_error_rate([given], [given]) == 0
    with pytest.raises(ValueError, match="no links"):
        alignment_error_rate([frozenset()], [frozenset()])


def test_links_of_people_are_sure_or_possible():
    assert Gold({(0, 0), (9, 1)}, {(0, 0), (9, 1), (1, 2)}) == read_gold("1-1 2p3 10-2\n")
    assert Gold(frozenset(), frozenset()) == read_gold("")
    for line in ("0-1", "1-0", "1:1", "1p", "1-2-3", "-1-1"):
        with pytest.raises(CorpusError, match="counted from 1"):
            read_gold(line)


def test_a_possible_link_is_neither_missed_nor_wrong():
    """Found 4, sure 3: two sure ones are found, and one more is possible."""
    people = Gold(frozenset({(0, 0), (1, 1), (2, 2)}), frozenset({(0, 0), (1, 1), (2, 2), (2, 3)}))
    found = frozenset({(0, 0), (1, 1), (2, 3), (5, 5)})
    agreement = compare_links([found], [people])

    assert agreement == pytest.approx((3 / 4, 2 / 3, 1 - (2 + 3) / (4 + 3)))
    assert alignment_error_rate([found], [people]) == agreement.error_rate
    assert compare_links([people.sure], [people]) == (1, 1, 0)
    assert compare_links([people.possible], [people]) == (1, 1, 0)
    assert compare_links([frozenset()], [people]) == (1, 0, 1)


links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1)


@given(st.lists(st.tuples(links, links, links), min_size=1, max_size=3))
@settings(max_examples=50)
def test_error_rates_lie_between_none_and_all(sentences):
    """Sure links alone make the rate 1 - F1."""
    found = [one for one, *_ in sentences]
    people = [Gold(sure, sure | more) for _, sure, more in sentences]
    agreement = compare_links(found, people)
    plain = compare_links(found, [sure for _, sure, _ in sentences])

    assert all(0 <= number <= 1 for number in agreement)
    assert agreement.error_rate <= plain.error_rate
    both = plain.precision + plain.recall
    score = 2 * plain.precision * plain.recall / both if both else 0
    assert plain.error_rate == pytest.approx(1 - score)
