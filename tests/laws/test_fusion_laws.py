"""Fusing a translation model with a language model adds up, and is a model like any other."""

import pytest
import torch
from torch.testing import assert_close

from nmt_core.base.errors import ConfigError
from nmt_core.extensions.language_models.fusion import Fused, check_vocabularies, count_rows
from nmt_core.search.beam import beam_search
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary
from tests.laws.test_language_model_laws import WORDS, tiny
from tests.support.presets import TARGET_SIZE, tiny_model

source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0], [4, 2, 0, 0, 0]])
padding = source == PAD
target = torch.tensor([[BOS, 4, 5, 6], [BOS, 6, 4, 3], [BOS, 5, 5, 4]])
SEARCH = BeamConfig(beam_size=3, n_best=3, max_length_factor=1, max_length_offset=1)
"""The three sentences end at different steps."""

assert WORDS == TARGET_SIZE


@pytest.fixture(params=["transformer", "rnn_attention"])
def translation(request):
    return tiny_model(request.param).double().eval()


@pytest.fixture(params=["kneser_ney", "feed_forward", "lstm", "gru"])
def language(request):
    return tiny(request.param)


def log_probs(model):
    memory = model.encode(source, padding)
    hidden, _ = model.decode(target, memory, model.start(memory))
    return model.log_probs(hidden)


def writable(values):
    return values[..., EOS:]


def test_log_probabilities_add_up(translation, language):
    fused = log_probs(Fused(translation, language, 0.3))
    expected = log_probs(translation) + 0.3 * language(target)

    assert_close(writable(fused), writable(expected))
    assert (fused <= 0).all()


def test_no_weight_is_no_language_model(translation, language):
    fused = Fused(translation, language, 0.0)

    assert torch.equal(log_probs(fused), log_probs(translation))
    assert beam_search(fused, source, padding, SEARCH) == beam_search(
        translation, source, padding, SEARCH
    )


def test_stepping_equals_teacher_forcing(translation, language):
    model = Fused(translation, language, 0.3)
    memory = model.encode(source, padding)
    state, steps = model.start(memory), []
    for token in target.unbind(dim=1):
        hidden, state = model.decode(token[:, None], memory, state)
        steps.append(model.log_probs(hidden[:, 0]))

    assert_close(torch.stack(steps, dim=1), log_probs(model))


def test_selecting_commutes_with_stepping(translation, language):
    model = Fused(translation, language, 0.3)
    rows = torch.tensor([2, 0, 0])
    memory = model.encode(source, padding)
    _, state = model.decode(target[:, :1], memory, model.start(memory))
    after, _ = model.decode(target[:, 1:2], memory, state)
    before, _ = model.decode(target[rows, 1:2], memory.select(rows), state.select(rows))

    assert_close(before, after[rows])


def test_a_search_finds_what_both_models_score_so(translation, language):
    """The score of every hypothesis is the sum that forced decoding gives, also once others have
    ended."""
    model = Fused(translation, language, 0.3)
    found = beam_search(model, source, padding, SEARCH)

    assert len({max(len(one.tokens) for one in hypotheses) for hypotheses in found}) == len(found)
    for row, hypotheses in enumerate(found):
        for hypothesis in hypotheses:
            memory = model.encode(source[row : row + 1], padding[row : row + 1])
            read = torch.tensor([[BOS, *hypothesis.tokens]])
            hidden, _ = model.decode(read, memory, model.start(memory))
            wanted = torch.tensor([[*hypothesis.tokens, EOS]])
            worth = model.log_probs(hidden).gather(-1, wanted[..., None]).sum()

            assert hypothesis.log_prob == pytest.approx(worth.item(), rel=1e-5)


def test_a_heavy_language_model_decides(translation):
    language = tiny("gru")
    heavy = log_probs(Fused(translation, language, 1e6))

    assert torch.equal(writable(heavy).argmax(-1), writable(language(target)).argmax(-1))


def test_rows_are_counted(translation):
    assert count_rows(translation.encode(source, padding)) == 3


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="may not be negative"):
        Fused(tiny_model("transformer"), tiny("gru"), -0.1)


def test_other_tokens_are_refused():
    one, other = Vocabulary([*SPECIALS, "a", "b"]), Vocabulary([*SPECIALS, "a", "c"])
    check_vocabularies(one, Vocabulary(one.tokens))

    with pytest.raises(ConfigError, match="token 5 is 'c', not 'b'"):
        check_vocabularies(one, other)
    with pytest.raises(ConfigError, match="token 6 is 'c', not None"):
        check_vocabularies(one, Vocabulary([*one.tokens, "c"]))
