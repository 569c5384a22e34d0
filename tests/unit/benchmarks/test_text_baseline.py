"""The baseline of docs/results.md, on texts that words tell apart, or only words in a row."""

import pytest

from benchmarks import text_baseline

FILLERS = ("film", "plot", "music", "actors", "ending", "cast", "scene")


@pytest.mark.parametrize(
    ("one", "other", "ngrams", "right"),
    [
        ("superb", "awful", 1, 42),
        ("not bad or good", "not good or bad", 1, 21),
        ("not bad or good", "not good or bad", 2, 42),
    ],
)
def test_it_tells_by_words_and_by_words_in_a_row(tmp_path, capsys, one, other, ngrams, right):
    """Where words alone tell nothing, half of the labels are right by chance."""
    for name, first in (("learnt.tsv", 0), ("test.tsv", 1)):
        rows = [
            f"{label}\t{words} {filler} {FILLERS[(place + first) % 7]}\n"
            for label, words in (("pos", one), ("neg", other))
            for place, filler in enumerate(FILLERS * 3)
        ]
        (tmp_path / name).write_text("".join(rows))
    text_baseline.main(tmp_path / "learnt.tsv", tmp_path / "test.tsv", ngrams=ngrams)

    assert capsys.readouterr().out.startswith(f"{right} of 42 are right, {right / 42:.2%} (95 %: ")
