"""Laws of the search, on every architecture."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import NmtError
from nmt_core.search.beam import beam_search
from nmt_core.search.engine import Hypothesis, drop_impossible
from nmt_core.search.rules import compute_length_limits, forbid_repeated_ngrams
from nmt_core.search.settings import BeamConfig
from nmt_core.search.stepwise import greedy_search
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK
from tests.support.toy_model import Toy

source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0], [4, 2, 0, 0, 0]])
padding = source == PAD


def beam(**settings):
    return BeamConfig(**{"max_length_factor": 0, "max_length_offset": 6, **settings})


def teacher_forced(model, row, lines):
    """Return the log-probabilities of all tokens and of the end, for lines of one length."""
    target = torch.tensor([[BOS, *tokens, EOS] for tokens in lines])
    rows = torch.full((len(lines),), row)
    with torch.no_grad():
        logits = model(source[rows], padding[rows], target[:, :-1])
    return logits.log_softmax(-1).gather(2, target[:, 1:, None])[:, :, 0]


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_wide_beam_is_exhaustive(model, penalty):
    """If the beam is wide enough for every prefix, beam search finds the best translation."""
    longest = 3
    config = beam(beam_size=40, length_penalty=penalty, max_length_offset=longest)
    found = beam_search(model, source, padding, config)
    with torch.no_grad():
        words = range(UNK + 1, model(source, padding, source[:, :1] * 0 + BOS).size(-1))
    for row, [best] in enumerate(found):
        score = {}
        for length in range(longest):
            lines = list(product(words, repeat=length))
            log_probs = teacher_forced(model, row, lines).sum(dim=1) / (length + 1) ** penalty
            score |= dict(zip(lines, log_probs.tolist(), strict=True))

        assert max(score, key=score.__getitem__) == best.tokens
        assert max(score.values()) == pytest.approx(best.score)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([-8.0, 0.0, 2.0]), st.booleans())
def test_greedy_search_equals_a_beam_of_one(seed, end, forbid_unknown):
    """Sentences end at different steps, some at their own limits."""
    model = Toy(seed, end=end)
    config = BeamConfig(
        beam_size=1,
        stopping="fast",
        max_length_offset=1,
        unknown="forbid" if forbid_unknown else "write",
    )
    limits = compute_length_limits(padding, config)
    found = beam_search(model, source, padding, config)
    simple = greedy_search(model, source, padding, limits, unknown=config.unknown)

    assert limits.tolist() == [8, 5, 4]
    assert simple == [list(best.tokens) for [best] in found]


def test_scores_are_the_models_own(model):
    """The reported numbers are those of the model for the reported tokens."""
    penalty = 0.6
    config = beam(beam_size=4, n_best=4, length_penalty=penalty)
    for row, hypotheses in enumerate(beam_search(model, source, padding, config)):
        for tokens, score, log_prob, token_log_probs, _ in hypotheses:
            [expected] = teacher_forced(model, row, [tokens])

            assert expected.tolist() == pytest.approx(token_log_probs)
            assert expected.sum().item() == pytest.approx(log_prob)
            assert score == pytest.approx(log_prob / (len(tokens) + 1) ** penalty)


def test_neighbours_do_not_matter(model):
    """A sentence translates the same alone and in a batch, even if other sentences end earlier."""
    config = BeamConfig(beam_size=3, n_best=3, max_length_factor=2, max_length_offset=1)
    together = beam_search(model, source, padding, config)
    for row in range(len(source)):
        [alone] = beam_search(model, source[row : row + 1], padding[row : row + 1], config)

        assert [h.tokens for h in alone] == [h.tokens for h in together[row]]
        assert [h.score for h in alone] == pytest.approx([h.score for h in together[row]])


@pytest.mark.parametrize("stopping", ["exact", "fast"])
def test_endless_hypotheses_end_at_the_limit(stopping):
    """Each sentence has its own limit: twice its source length plus one, including the end."""
    endless = Toy(end=-50.0)
    config = BeamConfig(beam_size=3, max_length_factor=2, max_length_offset=1, stopping=stopping)
    found = beam_search(endless, source, padding, config)

    assert [len(best.tokens) for [best] in found] == [10, 6, 4]
    assert [
        len(tokens)
        for tokens in greedy_search(
            endless, source, padding, compute_length_limits(padding, config)
        )
    ] == [10, 6, 4]


def test_no_hypothesis_exceeds_the_maximum_length():
    config = BeamConfig(beam_size=2, max_length=4)

    assert [
        len(best.tokens) for [best] in beam_search(Toy(end=-50.0), source, padding, config)
    ] == [3, 3, 3]


@given(
    st.integers(1, 4),
    st.lists(st.lists(st.integers(4, 6), min_size=9, max_size=9), min_size=1, max_size=3),
)
def test_repetition_guard_forbids_only_repetitions(size, lines):
    tokens = torch.tensor(lines)
    log_probs = torch.zeros(len(lines), 7)
    forbid_repeated_ngrams(size)(tokens, log_probs)

    for line, row in zip(lines, log_probs.isfinite()[:, UNK + 1 :].tolist(), strict=True):
        seen = [line[start : start + size] for start in range(len(line) - size + 1)]
        expected = [[*line[len(line) - size + 1 :], word] not in seen for word in (4, 5, 6)]

        assert expected == row


def test_constraints_apply_until_the_limit():
    """If the end is forbidden, translations have the maximum length."""

    def no_end(tokens, log_probs):
        log_probs[:, EOS] = -torch.inf

    found = beam_search(Toy(end=5.0), source, padding, beam(), constraints=(no_end,))

    assert [len(best.tokens) for [best] in found] == [5, 5, 5]


def test_model_with_nans_is_an_error():
    with pytest.raises(NmtError, match="weights are NaN"):
        beam_search(Toy(spread=float("nan")), source, padding, beam())


def test_more_hypotheses_than_beams_are_an_error():
    with pytest.raises(ValueError, match=r"n_best \(3\) exceeds beam_size \(2\)"):
        BeamConfig(beam_size=2, n_best=3)


def test_prefix_overrides_forbidden_tokens():
    config = beam(no_repeat_ngram_size=1)
    same = torch.tensor([[UNK, 4, 4]] * 3)

    for [best] in beam_search(Toy(), source, padding, config, prefix=same):
        assert best.tokens[:3] == (UNK, 4, 4)
        assert len(set(best.tokens[2:])) == len(best.tokens[2:])


@pytest.mark.parametrize("reserved", [BOS, EOS])
def test_prefix_must_not_have_start_or_end(reserved):
    with pytest.raises(ValueError, match="must not contain BOS or EOS"):
        beam_search(Toy(), source, padding, beam(), prefix=torch.full((3, 1), reserved))


def test_diversity_keeps_more_beginnings():
    """Over many models, higher diversity gives more distinct first words among the four best."""
    models = [Toy(seed, spread=2.0, target_size=12, end=-3.0) for seed in range(10)]
    beginnings, scores = [], []
    for diversity in (0.0, 0.5, 1.0, 2.0):
        config = beam(beam_size=4, n_best=4, max_length_offset=8, diversity=diversity)
        found = [line for model in models for line in beam_search(model, source, padding, config)]
        beginnings.append(sum(len({h.tokens[0] for h in line}) for line in found))
        scores.append(sum(line[0].score for line in found))

    assert beginnings == sorted(set(beginnings))
    assert beginnings[-1] > 2 * beginnings[0]
    assert max(scores) == scores[0]


@pytest.mark.parametrize("scores", [[-1.0, -math.inf, -2.0, math.nan], [-math.inf], []])
def test_impossible_translation_is_an_error(scores):
    """A sentence without a possible translation is an error, not an impossible translation."""
    found = [Hypothesis((), score, score, ()) for score in scores]
    if found[1:]:
        assert drop_impossible(found) == [found[0], found[2]]
    else:
        with pytest.raises(NmtError, match="no translation of positive probability"):
            drop_impossible(found)
