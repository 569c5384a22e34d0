"""Laws of every preset of every architecture."""

from functools import partial

import pytest
import torch
from torch.testing import assert_close

from nmt_core.data.batch import collate
from nmt_core.models.settings import build_model
from nmt_core.models.weights import compare_shapes, untied_state_dict
from nmt_core.text.vocabulary import BOS, PAD
from nmt_core.training.loss import batch_loss
from tests.support.presets import SHAPES, SOURCE_SIZE, TARGET_SIZE, tiny_config, tiny_model

source = torch.tensor([[4, 5, 6, 7, 2], [8, 5, 2, 0, 0], [4, 2, 0, 0, 0]])
padding = source == PAD
target = torch.tensor([[BOS, 4, 5, 6], [BOS, 6, 4, 3], [BOS, 5, 5, 4]])
PAIRS = [([4, 5, 6, 7], [4, 5]), ([8], [6, 4, 5, 5]), ([4, 4, 5], [7])]


@torch.inference_mode()
def stepwise(model, memory, tokens, beam_size=1):
    state = model.start(memory, beam_size)
    steps = []
    for token in tokens.unbind(dim=1):
        hidden, state = model.decode(token[:, None], memory, state)
        steps.append(model.project(hidden[:, 0]))
    return torch.stack(steps, dim=1), state


@pytest.mark.parametrize("name", SHAPES)
def test_model_without_memory_has_the_same_shapes(name):
    stored = {key: tensor.shape for key, tensor in untied_state_dict(tiny_model(name)).items()}
    build = partial(
        build_model, tiny_config(name), source_size=SOURCE_SIZE, target_size=TARGET_SIZE
    )

    assert "" == compare_shapes(build, stored)
    assert "is missing" in compare_shapes(build, dict(list(stored.items())[1:]))
    assert "x is unknown" in compare_shapes(build, stored | {"x": torch.Size([2])})
    wider = {key: torch.Size([*shape, 2]) for key, shape in stored.items()}
    assert "has the shape" in compare_shapes(build, wider)


def test_stepping_equals_teacher_forcing(model):
    """Reading one token at a time gives the logits of the whole sequence."""
    found, _ = stepwise(model, model.encode(source, padding), target)

    assert_close(found, model(source, padding, target))


def test_padding_is_invisible(model):
    """Longer padding changes nothing."""
    wider = torch.nn.functional.pad(source, (0, 3), value=PAD)

    assert_close(model(wider, wider == PAD, target), model(source, padding, target))


def test_padding_is_invisible_to_gradients(model):
    """A batch and its pairs one by one give the same gradient of the summed loss."""
    together = batch_loss(model, collate(PAIRS), label_smoothing=0.1, per="sentence")[0]
    alone = [
        batch_loss(model, collate([pair]), label_smoothing=0.1, per="sentence")[0] for pair in PAIRS
    ]
    weights = [weight for weight in model.parameters() if weight.requires_grad]

    for one, other in zip(
        torch.autograd.grad(together * len(PAIRS), weights, allow_unused=True),
        torch.autograd.grad(sum(alone), weights, allow_unused=True),
        strict=True,
    ):
        assert_close(one, other)


def test_future_is_invisible(model):
    """A token changes no logits before its own position, and changes those at it."""
    changed = target.clone()
    changed[:, 2] = 3
    before, after = model(source, padding, target), model(source, padding, changed)

    assert_close(after[:, :2], before[:, :2])
    assert not torch.allclose(after[:, 2], before[:, 2])


def test_rows_are_independent(model):
    """A sentence has the same scores alone and in a batch."""
    together = model(source, padding, target)
    for row in range(len(source)):
        alone = model(source[row : row + 1], padding[row : row + 1], target[row : row + 1])

        assert_close(alone[0], together[row])


def test_every_source_token_matters(model):
    """No real source token is masked away."""
    before = model(source, padding, target)
    for place in range(4):
        changed = source.clone()
        changed[0, place] = 3

        assert not torch.allclose(model(changed, padding, target)[0], before[0])


def test_selecting_commutes_with_stepping(model):
    """Selecting rows and stepping commute."""
    rows = torch.tensor([2, 0, 0])
    memory = model.encode(source, padding)
    _, state = model.decode(target[:, :1], memory, model.start(memory))
    after, _ = model.decode(target[:, 1:2], memory, state)
    before, _ = model.decode(target[rows, 1:2], memory.select(rows), state.select(rows))

    assert_close(before, after[rows])


@torch.inference_mode()
def test_readings_of_one_state_are_independent(model):
    """A state can be read twice; the readings do not affect each other."""
    memory = model.encode(source, padding)
    _, state = stepwise(model, memory, target[:, :2])
    _, first = model.decode(target[:, 2:3], memory, state)
    model.decode(torch.full((3, 1), 7), memory, state)
    hidden, _ = model.decode(target[:, 3:], memory, first)

    assert_close(model.project(hidden[:, 0]), model(source, padding, target)[:, -1])


@pytest.mark.parametrize("learning", [True, False])
def test_following_continues_the_parents_cache(model, learning):
    """Hypotheses branch and are reordered, sentences end; each hypothesis keeps its own past."""
    draw = torch.Generator().manual_seed(3)
    leaving = {3: torch.tensor([2, 0]), 9: torch.tensor([1])}
    rows, written = torch.arange(3), torch.full((3, 1, 1), BOS)
    with torch.set_grad_enabled(learning):
        memory = model.encode(source, padding)
        state = model.start(memory)
        for step in range(12):
            hidden, state = model.decode(written[:, :, -1:].flatten(0, 1), memory, state)
            parents = torch.randint(written.size(1), (len(rows), 3), generator=draw)
            words = torch.randint(4, TARGET_SIZE, (len(rows), 3, 1), generator=draw)
            past = written.gather(1, parents[:, :, None].expand(-1, -1, written.size(2)))
            written, state = torch.cat([past, words], dim=2), state.reorder(parents)
            if step in leaving:
                going = leaving[step]
                rows, written, memory = rows[going], written[going], memory.select(going)
                state = state.select_sentences(going, hypotheses=3)
        hidden, _ = model.decode(written[:, :, -1:].flatten(0, 1), memory, state)
        rows = rows.repeat_interleave(3)
        expected = model(source[rows], padding[rows], written.flatten(0, 1))

        assert_close(model.project(hidden[:, 0]), expected[:, -1])


def test_hypotheses_share_their_sentence(model):
    """Three rows per sentence score like three copies of it, with one or all tokens at once."""
    rows = torch.arange(3).repeat_interleave(3)
    tokens = torch.tensor([[BOS, 4 + n % 4, 5, 3 + n % 3] for n in range(9)])
    shared, _ = stepwise(model, model.encode(source, padding), tokens, beam_size=3)
    memory = model.encode(source, padding)
    together, _ = model.decode(tokens, memory, model.start(memory, 3))
    copied, _ = stepwise(model, model.encode(source[rows], padding[rows]), tokens)

    assert_close(shared, copied)
    assert_close(model.project(together), copied)


def test_attention_is_a_distribution_over_the_source(model):
    """Weights sum to one at every target position, and padding has weight zero."""
    weights = model.attention(target, model.encode(source, padding))
    if weights is None:
        pytest.skip("it has no attention")

    assert tuple(weights.shape) == (3, 4, 5)
    assert_close(weights.sum(dim=-1), torch.ones(3, 4, dtype=weights.dtype))
    assert weights.masked_select(padding[:, None].expand_as(weights)).abs().max() == 0


def test_attention_depends_only_on_earlier_tokens(model):
    """The weights at a position depend on the tokens before it, and on no later ones."""
    memory = model.encode(source, padding)
    changed = target.clone()
    changed[:, 1] = 3
    before, after = model.attention(target, memory), model.attention(changed, memory)
    if before is None:
        pytest.skip("it has no attention")

    assert_close(after[:, :1], before[:, :1])
    assert not torch.allclose(after[:, 2], before[:, 2])


def test_source_of_only_padding_gives_finite_numbers(model):
    """A fully masked row is finite, forward and backward."""
    empty = torch.full_like(source, PAD)
    logits = model(empty, empty == PAD, target)
    logits.sum().backward()

    assert logits.isfinite().all()
    assert all(w.grad.isfinite().all() for w in model.parameters() if w.grad is not None)


def test_any_length_is_read(model):
    """Sentences longer than any table of positions can be read, and stepping is still equal."""
    length = 40  # max_positions is 32
    long = torch.full((1, length), 5)
    memory = model.encode(long, long == PAD)
    tokens = torch.full((1, length), 4)
    whole, _ = model.decode(tokens, memory, model.start(memory))
    first, state = model.decode(tokens[:, :-1], memory, model.start(memory))
    last, _ = model.decode(tokens[:, -1:], memory, state)

    assert_close(torch.cat([first, last], dim=1), whole)


def test_selected_logits_equal_all_logits(model):
    """The logits of a few tokens are the same as among all tokens."""
    memory = model.encode(source, padding)
    hidden, _ = model.decode(target, memory, model.start(memory))
    some = torch.tensor([7, 0, 3])

    assert_close(model.project(hidden, some), model.project(hidden)[..., some])


def test_log_probabilities_are_a_distribution(model):
    memory = model.encode(source, padding)
    hidden, _ = model.decode(target, memory, model.start(memory))
    total = model.log_probs(hidden).exp().sum(dim=-1)

    assert_close(total, torch.ones_like(total))
