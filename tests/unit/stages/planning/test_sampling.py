"""A part of a corpus is a part of it, pair by pair, and the same one every time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from stages.planning.sampling import count_pairs, draw_rows, write_sample

PAIRS = {"train": 40, "validation": 3, "test": 5}


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    for split, count in PAIRS.items():
        for side in ("source", "target"):
            files.write_lines(folder / f"{split}.{side}", [f"{side} {n}" for n in range(count)])
    files.write_lines(folder / "test.near", [f"near {n}" for n in range(PAIRS["test"])])
    files.write_json(folder / "corpus.json", {"pairs": PAIRS})
    return folder


@settings(max_examples=40)
@given(st.integers(1, 500), st.integers(1, 500))
def test_rows_are_drawn_once_each_in_order_and_a_smaller_draw_is_part_of_a_larger(total, count):
    rows = draw_rows(total, count, "train")

    assert len(rows) == min(total, count)
    assert rows == sorted(set(rows))
    assert set(draw_rows(total, count // 2, "train")) <= set(rows) <= set(range(total))


def test_rows_are_spread_over_the_corpus():
    """Or a corpus in the order of its days would be known by its first ones."""
    rows = draw_rows(100_000, 1_000, "train")

    assert all(70 < sum(row // 10_000 == tenth for row in rows) < 130 for tenth in range(10))
    assert rows != draw_rows(100_000, 1_000, "test")


def test_all_that_belongs_to_a_split_is_drawn_row_by_row(corpus, tmp_path):
    write_sample(corpus, tmp_path / "part", {"train": 7, "test": 2})

    for split, count, kinds in (("train", 7, 2), ("test", 2, 3)):
        numbers = [
            [line.split()[1] for line in files.read_lines(path)]
            for path in (tmp_path / "part").glob(f"{split}.*")
        ]
        assert numbers == [numbers[0]] * kinds
        assert len(numbers[0]) == count


def test_what_is_not_drawn_from_is_linked(corpus, tmp_path):
    write_sample(corpus, tmp_path / "part", {"train": 40, "test": 2})

    assert {path.name for path in (tmp_path / "part").iterdir() if path.is_symlink()} == {
        "corpus.json",
        "train.source",
        "train.target",
        "validation.source",
        "validation.target",
    }
    assert files.sha256(tmp_path / "part/train.source") == files.sha256(corpus / "train.source")


def test_without_a_corpus_nothing_is_predicted(tmp_path):
    with pytest.raises(CorpusError, match=r"holds no corpus, .*; bring it by: dvc repro download$"):
        count_pairs(tmp_path)


@pytest.mark.parametrize("split", PAIRS)
def test_a_corpus_without_pairs_is_named(corpus, split):
    files.write_json(corpus / "corpus.json", {"pairs": PAIRS | {split: 0}})

    with pytest.raises(CorpusError, match=f"holds no {split} pairs; give more text") as told:
        count_pairs(corpus)
    assert "\n" not in str(told.value)
