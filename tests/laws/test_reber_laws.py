"""Strings of the embedded Reber grammar, and a classifier that recognises them."""

import itertools
import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reber import (
    LETTERS,
    corrupt,
    draw_grammatical,
    draw_strings,
    is_held_out,
    write_strings,
)
from nmt_core.base.random import make_generator
from tests.support.projects import PROJECT
from tests.support.reader import typed

LOOP = "(?:T*VPX)*T*V(?:PS|V)"
REBER = f"B(?:TS*X(?:S|X{LOOP})|P{LOOP})E"
EMBEDDED = re.compile(f"B(?:T{REBER}T|P{REBER}P)E")
"""The grammar once more, from its picture and not from its table of states."""

seeds = st.integers(0, 2**32)


def test_the_expression_knows_the_published_examples():
    """Of Géron, and with one letter of each replaced."""
    assert EMBEDDED.fullmatch("BTBTSXSETE")
    assert EMBEDDED.fullmatch("BPBPTVPSEPE")
    assert not EMBEDDED.fullmatch("BPBTSXXVPSEPT")
    assert not EMBEDDED.fullmatch("BTBTSXSEPE")


def test_what_is_written_is_labelled_and_apart_from_what_is_held_out(capsys):
    """So a classifier is tested on strings that it cannot have learnt from."""
    found = []
    for held_out in (False, True):
        write_strings(200, held_out=held_out)
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        assert len(rows) == 200
        for label, letters in rows:
            assert (label == "reber") == bool(EMBEDDED.fullmatch(letters.replace(" ", "")))
        found.append({letters for _, letters in rows})

    assert not found[0] & found[1]


@given(seed=seeds)
def test_what_is_drawn_is_grammatical(seed):
    assert EMBEDDED.fullmatch(draw_grammatical(make_generator(seed, "law")))


@given(seed=seeds)
def test_no_replaced_letter_makes_another_string_of_the_grammar(seed):
    """So what is corrupted is wrong, wherever it was."""
    string = draw_grammatical(make_generator(seed, "law"))
    for place, own in enumerate(string):
        for letter in set(LETTERS) - {own}:
            assert not EMBEDDED.fullmatch(string[:place] + letter + string[place + 1 :])


@given(seed=seeds)
def test_one_letter_is_corrupted(seed):
    draw = make_generator(seed, "law")
    string = draw_grammatical(draw)
    corrupted = corrupt(string, draw)

    assert len(corrupted) == len(string)
    assert sum(map(str.__ne__, string, corrupted)) == 1
    assert set(corrupted) <= set(LETTERS)


def test_every_path_is_drawn_and_every_place_corrupted():
    draw = make_generator(1, "law")
    strings = [draw_grammatical(draw) for _ in range(500)]
    places = {
        next(
            place for place, pair in enumerate(zip(string, other, strict=True)) if len({*pair}) > 1
        )
        for string, other in ((string, corrupt(string, draw)) for string in strings)
    }

    for pair in ("BT", "BP", "SS", "XX", "TT", "VV", "PX", "PS"):
        assert any(pair in string for string in strings)
    assert places >= {*range(10)}


@pytest.mark.parametrize("held_out", [True, False])
def test_half_of_the_strings_are_wrong_and_the_same_seed_draws_the_same(held_out):
    one, again, other = (
        [*itertools.islice(draw_strings(seed, "law", held_out=held_out), 400)] for seed in (3, 3, 4)
    )

    assert one == again != other
    assert sum(grammatical for _, grammatical in one) == 200
    for string, grammatical in one:
        assert bool(EMBEDDED.fullmatch(string)) == grammatical
        assert is_held_out(string) == held_out
    if held_out:
        assert len({string for string, _ in one}) == 400


@pytest.mark.slow
def test_documented_commands_recognise_the_grammar(project, monkeypatch):
    """At least 99 % of 2,000 different strings that the classifier has not seen."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    [block] = [block for block in typed("docs/research.md") if "benchmarks.reber" in block.lines[0]]
    script = "\n".join(["set -e", *block.lines])
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    accuracy = re.search(r"accuracy\s+([0-9.]+) %", shown.stdout)
    assert float(accuracy[1]) >= 99
