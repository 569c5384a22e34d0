"""The benchmark of word alignments, on links of people where they are at hand."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks import alignment
from benchmarks.alignment import leave_out, main, read_gold, score
from tests.support.tiny import export

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


def test_links_are_scored_and_sentences_counted(gold):
    task = read_gold(gold, ("de", "en"))
    found = [frozenset({(0, 0), (1, 1), (2, 1)}), None]

    assert ["0.333", "0.667", "0.667", "0.000", "1/2"] == score(found, task)


def test_an_aligner_and_a_model_are_scored(gold):
    for end, text in (("de", "Das Haus\nDer Hund\n"), ("en", "The house\nThe dog\n")):
        (gold / f"train.{end}").write_text(text)
    export(gold / "model")
    app = alignment.typer.Typer()
    app.command()(main)
    options = ["--gold", gold, "--train", gold / "train", "--model", gold / "model"]
    result = CliRunner().invoke(app, [str(option) for option in options], env={"COLUMNS": "200"})

    assert result.exit_code == 0
    assert "an HMM" in result.stdout
    assert result.stdout.count("2/2") == 2


@pytest.mark.skipif(not GOLD, reason="NMT_GOLD_ALIGNMENTS names no folder")
def test_links_of_people_pair_up_with_their_text():
    task = read_gold(Path(GOLD), ("de", "en"))
    for (source, target), given in zip(task.cut, task.given, strict=True):
        assert all(one < len(source) and other < len(target) for one, other in given.possible)
