"""Strings of the embedded Reber grammar, and a recurrent layer that knows them from others."""

import itertools
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from benchmarks.reber import (
    LETTERS,
    corrupt,
    draw_grammatical,
    draw_strings,
    is_held_out,
    write_strings,
)
from nmt_core.base.random import derive_seed, make_generator
from nmt_core.models.recurrence import RecurrentLayer
from nmt_core.training.schedule import WarmupDecay
from nmt_core.training.step import apply_gradients
from tests.support.trainings import PROCESSOR

LOOP = "(?:T*VPX)*T*V(?:PS|V)"
REBER = f"B(?:TS*X(?:S|X{LOOP})|P{LOOP})E"
EMBEDDED = re.compile(f"B(?:T{REBER}T|P{REBER}P)E")
"""The grammar once more, from its picture and not from its table of states."""

WIDTH, BATCH, UPDATES = 32, 128, 900
PADDING = 0

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


class Recogniser(nn.Module):
    """Embeds letters, reads them by one layer of gated units, and judges by its last state."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS) + 1, 8, padding_idx=PADDING)
        self.layer = RecurrentLayer("gru", 8, WIDTH)
        self.output = nn.Linear(WIDTH, 1)

    def forward(self, letters, lengths):
        _, (last,) = self.layer.read(self.embedding(letters), lengths)
        return self.output(last)[:, 0]


def read(strings):
    """Return the numbers of letters, padded, and how many there are of each string."""
    rows = [torch.tensor([LETTERS.index(letter) + 1 for letter in string]) for string in strings]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)
    return padded, torch.tensor([len(row) for row in rows])


def draw_different(count, seed):
    """Return so many held out strings, none twice, half of them grammatical."""
    drawn = {True: {}, False: {}}
    strings = draw_strings(seed, "test", held_out=True)
    while sum(map(len, drawn.values())) < count:
        string, grammatical = next(strings)
        if len(drawn[grammatical]) < count // 2:
            drawn[grammatical][string] = grammatical
    return drawn[True] | drawn[False]


@pytest.mark.slow
def test_a_recurrent_layer_recognises_the_grammar():
    """At least 99.5 % of 2,000 different strings, none of which it was trained on."""
    torch.manual_seed(derive_seed(1, "recogniser"))
    model = Recogniser()
    weights = [*model.parameters()]
    optimizer = torch.optim.Adam(weights)
    schedule = WarmupDecay(learning_rate=0.01)
    examples = draw_strings(1, "train", held_out=False)
    for update in range(UPDATES):
        strings, right = zip(*itertools.islice(examples, BATCH), strict=True)
        judged = model(*read(strings))
        nn.functional.binary_cross_entropy_with_logits(
            judged, torch.tensor(right).float()
        ).backward()
        rate = schedule.rate(update, (update + 1) / UPDATES)
        apply_gradients(weights, optimizer, compute=PROCESSOR, learning_rate=rate, max_norm=1.0)

    unseen = draw_different(2000, 1)
    with torch.inference_mode():
        judged = (model(*read(unseen)) > 0).tolist()
    right = sum(map(bool.__eq__, judged, unseen.values()))
    assert right >= 0.995 * len(unseen)
