"""The benchmark of word alignments, on links of people where they are at hand."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks import alignment
from benchmarks.alignment import leave_out, main, read_gold

GOLD = os.environ.get("NMT_GOLD_ALIGNMENTS")
"""A folder as ``--gold`` names it."""


@pytest.fixture
def gold(tmp_path):
    (tmp_path / "gold.de").write_text("Hund sieht Haus\nHaus malt Brot\n")
    (tmp_path / "gold.en").write_text("dog finds house\nhouse paints bread\n")
    (tmp_path / "gold.talp").write_text("1-1 2-2 3-3\n1p1 2-2 3-3\n")
    return tmp_path


def test_pairs_of_the_gold_are_left_out_however_they_are_cut():
    train = [("Ein Hund.", "One dog."), ("Ein Haus.", "A dog."), ("Ein Haus.", "A house.")]

    assert [("Ein Haus.", "A house.")] == list(leave_out(train, [("Ein Hund .", "A dog .")]))


def test_an_aligner_and_the_diagonal_are_scored(gold):
    for end, text in (("de", "Das Haus\nDer Hund\n"), ("en", "The house\nThe dog\n")):
        (gold / f"train.{end}").write_text(text)
    app = alignment.typer.Typer()
    app.command()(main)
    options = ["--gold", str(gold), "--train", str(gold / "train")]
    result = CliRunner().invoke(app, options, env={"COLUMNS": "200"})

    assert result.exit_code == 0
    assert "an HMM" in result.stdout
    assert "0.000" in result.stdout.splitlines()[-2]


@pytest.mark.skipif(not GOLD, reason="NMT_GOLD_ALIGNMENTS names no folder")
def test_links_of_people_pair_up_with_their_text():
    task = read_gold(Path(GOLD), ("de", "en"))
    for (source, target), given in zip(task.pairs, task.given, strict=True):
        sizes = len(source.split()), len(target.split())
        assert all(one < sizes[0] and other < sizes[1] for one, other in given.possible)
