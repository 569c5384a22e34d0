"""A part of a corpus: drawn at random, always the same, and nothing of the real one is touched."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from stages.planning.scratch import count_pairs, draw_rows, write_sample

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


@pytest.mark.parametrize("first", [2, 3, 5])
def test_a_sample_has_the_same_rows_of_all_files_and_may_be_drawn_again(corpus, tmp_path, first):
    before = {path.name: files.sha256(path) for path in corpus.iterdir()}
    part = tmp_path / "part"
    write_sample(corpus, part, {"train": 7, "test": first})
    write_sample(corpus, part, {"test": 4})

    for split, count in (("train", 7), ("test", 4), ("validation", 3)):
        numbers = [
            [line.split()[1] for line in files.read_lines(path)] for path in part.glob(f"{split}.*")
        ]
        assert numbers == [numbers[0]] * len(numbers)
        assert len(numbers[0]) == count
    write_sample(corpus, part, {"test": 5})
    assert files.sha256(part / "test.source") == before["test.source"]
    assert {path.name: files.sha256(path) for path in corpus.iterdir()} == before


@pytest.mark.parametrize("split", PAIRS)
def test_a_corpus_without_pairs_is_named(corpus, tmp_path, split):
    files.write_json(corpus / "corpus.json", {"pairs": PAIRS | {split: 0}})

    with pytest.raises(CorpusError, match=rf"no {split} pairs.*dvc repro download$"):
        count_pairs(corpus)
    with pytest.raises(CorpusError, match=r"no train and no validation and no test pairs"):
        count_pairs(tmp_path)
