"""Strings of the grammar are recognised, and figures are drawn."""

import re
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from benchmarks.sources import app

TAIL = "(?:XT*VP)*(?:S|XT*VV)"
REBER = re.compile(rf"B(T|P)B(?:TS*X{TAIL}|PT*V(?:P{TAIL}|V))E\1E")


def write(*arguments):
    lines = CliRunner().invoke(app, ["reber", *arguments]).stdout.splitlines()
    return [(label, text.replace(" ", "")) for label, text in (x.split("\t") for x in lines)]


def test_every_second_string_is_in_the_grammar():
    learnt, unseen = write("600"), write("200", "--held-out")

    for label, string in learnt + unseen:
        assert bool(REBER.fullmatch(string)) == (label == "reber")
    assert all(one[0] != other[0] for one, other in pairwise(learnt))
    assert len({*unseen}) == 200
    assert not {*unseen} & {*learnt}


@pytest.mark.slow
def test_figures_are_drawn(tmp_path):
    assert CliRunner().invoke(app, ["figures", "--out", str(tmp_path)]).exit_code == 0
    names = ["causal_mask.png", "padding_mask.png", "positions.png", "restarts.png"]

    assert sorted(path.name for path in tmp_path.iterdir()) == names
