"""Links against those of people, by examples small enough to check by hand."""

import pytest

from benchmarks.alignment import Gold, compare_links, link_diagonally, parse_links
from nmt_core.base.errors import CorpusError

SURE = frozenset({(0, 0), (1, 1), (2, 2)})
PEOPLE = Gold(SURE, SURE | {(2, 3)})


@pytest.mark.parametrize(
    ("line", "gold"),
    [
        ("1-1 2p3 10-2\n", Gold({(0, 0), (9, 1)}, {(0, 0), (9, 1), (1, 2)})),
        ("", Gold(frozenset(), frozenset())),
    ],
)
def test_links_of_people_are_sure_or_possible(line, gold):
    assert parse_links(line) == gold


@pytest.mark.parametrize("line", ["0-1", "1-0", "1:1", "1p", "1-2-3", "-1-1"])
def test_malformed_links_are_refused(line):
    with pytest.raises(CorpusError, match="counted from 1"):
        parse_links(line)


@pytest.mark.parametrize(
    ("lengths", "links"),
    [((3, 5), {(0, 0), (0, 1), (1, 2), (1, 3), (2, 4)}), ((0, 5), frozenset())],
)
def test_diagonal_covers_every_target_word(lengths, links):
    assert link_diagonally(*lengths) == links


@pytest.mark.parametrize(
    ("links", "agreement"),
    [
        ({(0, 0), (1, 1), (2, 3), (5, 5)}, (3 / 4, 2 / 3, 1 - (2 + 3) / (4 + 3))),
        (PEOPLE.sure, (1, 1, 0)),
        (PEOPLE.possible, (1, 1, 0)),
        (frozenset(), (1, 0, 1)),
    ],
)
def test_possible_links_are_neither_missed_nor_wrong(links, agreement):
    assert compare_links([frozenset(links)], [PEOPLE]) == pytest.approx(agreement)


def test_no_links_cannot_be_compared():
    empty = frozenset()
    with pytest.raises(ValueError, match="no links"):
        compare_links([empty], [Gold(empty, empty)])
