"""Beam search compared with a textbook version on lists, without tensors and caches."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.search.beam import beam_search
from nmt_core.search.settings import BeamConfig
from nmt_core.search.trace import trace_beam_search
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK
from tests.support.table_model import END, Table, TableTranslator
from tests.support.toy_model import Toy

source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0], [4, 2, 0, 0, 0]])
padding = source == PAD


def textbook(
    next_log_probs, size, longest, penalty, *, fast=False, unknown=False, diversity=0.0, prefix=()
):
    """Return the K best hypotheses; every unfinished one lives until the length limit."""
    live, done = [((), 0.0)], []
    for length in range(1, longest + 1):
        given = prefix[length - 1 : length]
        grown = []
        for (words, total), following in zip(
            live, next_log_probs([words for words, _ in live]), strict=True
        ):
            siblings = [
                ((*words, word), total + log_prob)
                for word, log_prob in enumerate(following)
                if (
                    word in given
                    if given
                    else word not in (PAD, BOS)
                    and (unknown or word != UNK)
                    and (length < longest or word == EOS)
                )
            ]
            siblings.sort(key=lambda hypothesis: -hypothesis[1])
            grown += [(words, log, log - diversity * n) for n, (words, log) in enumerate(siblings)]
        grown.sort(key=lambda hypothesis: -hypothesis[2])
        done += [(w[:-1], t / length**penalty) for w, t, _ in grown[:size] if w[-1] == EOS]
        done = sorted(done, key=lambda hypothesis: -hypothesis[1])[:size]
        live = [(w, t) for w, t, _ in grown[: 2 * size] if w[-1] != EOS][:size]
        if not live or (fast and len(done) == size):
            break
    return done


def teacher(model, row):
    """Return a function that computes the continuations of hypotheses from scratch."""

    def next_log_probs(hypotheses):
        lines = torch.tensor([[BOS, *words] for words in hypotheses])
        rows = torch.full((len(lines),), row)
        with torch.no_grad():
            logits = model(source[rows], padding[rows], lines)
        return logits[:, -1].log_softmax(-1).tolist()

    return next_log_probs


def assert_textbook(model, config, limits, prefixes=((), (), ()), **options):
    longest = max(map(len, prefixes))
    prefix = torch.tensor([[*words, *[PAD] * (longest - len(words))] for words in prefixes]).long()
    found = beam_search(model, source, padding, config, prefix=prefix)
    for row, (limit, words) in enumerate(zip(limits, prefixes, strict=True)):
        expected = textbook(
            teacher(model, row),
            config.beam_size,
            max(limit, len(words) + 1),
            config.length_penalty,
            diversity=config.diversity,
            prefix=tuple(words),
            **options,
        )[: config.n_best]

        assert [words for words, _ in expected] == [h.tokens for h in found[row]]
        assert [score for _, score in expected] == pytest.approx([h.score for h in found[row]])


@pytest.mark.parametrize(("size", "penalty"), [(2, 0.0), (5, 0.6)])
def test_beam_search_equals_the_textbook_version(model, size, penalty):
    config = BeamConfig(
        beam_size=size,
        n_best=size,
        length_penalty=penalty,
        max_length_factor=0,
        max_length_offset=6,
    )

    assert_textbook(model, config, [6, 6, 6])


prefixes = st.lists(st.lists(st.integers(UNK, 6), max_size=6), min_size=3, max_size=3)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 6),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    end=st.sampled_from([-6.0, 0.0, 3.0]),
    options=st.fixed_dictionaries({"fast": st.booleans(), "unknown": st.booleans()}),
    diversity=st.sampled_from([0.0, 0.5, 3.0]),
    data=st.data(),
)
def test_every_setting_equals_the_textbook_version(
    seed, size, penalty, end, options, diversity, data
):
    """Sentences have their own limits, leave the batch at different steps, and end early or late.

    Each has a prefix, and some prefixes exceed the limit.
    """
    config = BeamConfig(
        beam_size=size,
        n_best=data.draw(st.integers(1, size)),
        length_penalty=penalty,
        max_length_factor=1.5,
        max_length_offset=1,
        stopping="fast" if options["fast"] else "exact",
        unknown="write" if options["unknown"] else "forbid",
        diversity=diversity,
    )

    assert_textbook(Toy(seed, end=end), config, [8, 5, 4], data.draw(prefixes), **options)


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
    ("How", "do", "you", "do"): {END: 0.7},  # the chapter does not specify the rest
    ("How", "are", "you", "doing"): {END: 0.9},
}
"""Probabilities of next words; the chapter has those of whole prefixes, from the third word on."""

CHAPTER = Table(ROWS, otherwise={END: 1.0}, filler=300)
MODEL = TableTranslator(CHAPTER).eval()


def sentence(tokens):
    return " ".join(CHAPTER.vocabulary.decode(tokens))


def search(size, **settings):
    """Return the translations and their probabilities; sums of logarithms are compared."""
    config = BeamConfig(beam_size=size, length_penalty=0.0, **settings)
    [found] = beam_search(MODEL, SOURCE, PADDING, config)
    return [(sentence(one.tokens), one.score) for one in found]


def test_beam_of_three_finds_the_chapters_translations():
    """The best is first; "How will you", the best with two words, is not among them."""
    assert [found for found, _ in search(3, n_best=3)] == [
        "How are you",
        "How do you do",
        "How are you doing",
    ]


def test_hypotheses_of_each_step_are_the_chapters():
    """It compares the kept hypotheses with their probabilities, from "How", "What" and "You" on."""
    steps, finished = trace_beam_search(
        MODEL, SOURCE, BeamConfig(beam_size=3, length_penalty=0.0, stopping="fast")
    )
    lists = [
        {sentence(row): round(math.exp(log_prob), 3) for row, log_prob in step.items()}
        for step in steps
    ]

    assert lists[:3] == [
        {"How": 0.75, "What": 0.03, "You": 0.01},
        {"How will": 0.27, "How are": 0.24, "How do": 0.12},
        {"How are you": 0.1, "How do you": 0.08, "How will you": 0.02},
    ]
    assert [*lists[3]][:2] == ["How do you do", "How are you doing"]
    assert [sentence(each.tokens) for each in finished][:2] == ["How are you", "How do you do"]


def test_length_penalty_prefers_the_longer_one():
    """A length penalty of 1 divides logarithms by length: 4.9 % of five words beats 6 % of four."""
    config = BeamConfig(beam_size=3, length_penalty=1.0)
    [[best]] = beam_search(MODEL, SOURCE, PADDING, config)

    assert sentence(best.tokens) == "How do you do"
