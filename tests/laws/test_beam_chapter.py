"""The beam of Géron's chapter 16, "Comment vas-tu ?", with his probabilities, on a table."""

import pytest
import torch

from nmt_core.search.beam import beam_search
from nmt_core.search.settings import BeamConfig
from nmt_core.search.stepwise import greedy_search
from nmt_core.text.vocabulary import BOS
from tests.support.table_model import END, Table, TableTranslator

SOURCE = torch.tensor([[4, 2]])
PADDING = torch.zeros_like(SOURCE, dtype=torch.bool)
ROWS = {
    (): {"How": 0.75, "What": 0.03, "You": 0.01},
    ("How",): {"will": 0.36, "are": 0.32, "do": 0.16},
    ("What",): {"are": 0.5},
    ("How", "are"): {"you": 0.10 / 0.24},
    ("How", "do"): {"you": 0.08 / 0.12},
    ("How", "will"): {"you": 0.02 / 0.27},
    ("How", "do", "you"): {"do": 0.07 / 0.08},
    ("How", "are", "you"): {END: 0.06 / 0.10, "doing": 0.03 / 0.10},
    ("How", "do", "you", "do"): {END: 0.7},  # from here on as the chapter leaves open
    ("How", "are", "you", "doing"): {END: 0.9},
}
"""What follows what; the chapter tells what whole beginnings are worth, from the third word on."""

CHAPTER = Table(ROWS, otherwise={END: 1.0}, filler=300)
MODEL = TableTranslator(CHAPTER).eval()


def sentence(tokens):
    return " ".join(CHAPTER.vocabulary.decode(tokens))


def search(size, **settings):
    """Return the translations found and their probabilities; sums of logarithms are compared."""
    config = BeamConfig(beam_size=size, length_penalty=0.0, **settings)
    [found] = beam_search(MODEL, SOURCE, PADDING, config)
    return [(sentence(one.tokens), one.score) for one in found]


def test_greedy_search_cannot_go_back():
    [tokens] = greedy_search(MODEL, SOURCE, PADDING, torch.tensor([12]))

    assert sentence(tokens) == "How will you"
    assert search(1, stopping="fast")[0][0] == "How will you"


def test_a_beam_of_three_finds_what_greedy_search_missed():
    [(found, score)] = search(3)

    assert found == "How are you"
    assert torch.tensor(score).exp().item() == pytest.approx(0.06)


def test_a_beam_of_three_has_three_perfectly_reasonable_translations():
    """Best first, and "How will you", which was the best of two words, is not among them."""
    assert [found for found, _ in search(3, n_best=3)] == [
        "How are you",
        "How do you do",
        "How are you doing",
    ]


def test_the_short_list_of_every_step_is_the_chapters():
    """What it keeps, best first: of "How", "What" and "You" on."""
    lists = []

    def watch(tokens, log_probs):
        assert (tokens[:, 0] == BOS).all()
        lists.append([sentence(row) for row in tokens[:, 1:].tolist()])

    beam_search(MODEL, SOURCE, PADDING, BeamConfig(beam_size=3, length_penalty=0.0), (watch,))

    assert lists[:4] == [
        [""],
        ["How", "What", "You"],
        ["How will", "How are", "How do"],
        ["How are you", "How do you", "How will you"],
    ]
    assert lists[4][:2] == ["How do you do", "How are you doing"]


def test_by_the_mean_of_its_words_the_longer_one_wins():
    """A length penalty of 1 divides logarithms by length: 4.9 % of five words beat 6 % of four."""
    config = BeamConfig(beam_size=3, length_penalty=1.0)
    [[best]] = beam_search(MODEL, SOURCE, PADDING, config)

    assert sentence(best.tokens) == "How do you do"
