"""Beam search against a textbook version that uses lists, no tensors and no cache."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.search.beam import beam_search
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK
from tests.support.toy_model import Toy

source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0], [4, 2, 0, 0, 0]])
padding = source == PAD


def textbook(
    next_log_probs, size, longest, penalty, *, fast=False, unknown=False, diversity=0.0, prefix=()
):
    """Keep the K best of all; every unfinished hypothesis lives until the length limit."""
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
    """Return a function of hypotheses that computes what follows each of them from scratch."""

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


@pytest.mark.parametrize(("size", "penalty"), [(1, 1.0), (2, 0.0), (3, 0.6), (5, 1.0)])
def test_beam_search_is_the_textbook_one(model, size, penalty):
    config = BeamConfig(
        beam_size=size,
        n_best=size,
        length_penalty=penalty,
        max_length_factor=0,
        max_length_offset=6,
    )

    assert_textbook(model, config, [6, 6, 6])


prefixes = st.lists(st.lists(st.integers(UNK, 6), max_size=6), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 6),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    end=st.sampled_from([-6.0, 0.0, 3.0]),
    options=st.fixed_dictionaries({"fast": st.booleans(), "unknown": st.booleans()}),
    diversity=st.sampled_from([0.0, 0.5, 3.0]),
    data=st.data(),
)
def test_every_setting_is_the_textbooks(seed, size, penalty, end, options, diversity, data):
    """Sentences have limits of their own, leave the batch at different steps, end early or late.

    Each begins as it must, some beyond their limit.
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
