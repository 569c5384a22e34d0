import pytest
import torch
from torch.testing import assert_close

from nmt_core.models.architectures import build_model
from nmt_core.models.seq2seq import Pretrained
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.settings import AdamW, NesterovSgd
from tests.support.presets import tiny_config, tiny_model


def held(optimizer):
    return {id(weight) for group in optimizer.param_groups for weight in group["params"]}


@pytest.mark.parametrize("config", [AdamW(), NesterovSgd()])
@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_weights_are_left_out_and_no_other(config, frozen):
    vectors = Pretrained(torch.randn(9, 16), torch.randn(9, 16), frozen=frozen)
    model = build_model(
        tiny_config("transformer_article"), source_size=9, target_size=9, pretrained=vectors
    )
    optimizer = build_optimizer(model, config)

    assert held(optimizer) == {id(w) for w in model.parameters() if w.requires_grad}
    assert (id(model.source_embedding.table.weight) in held(optimizer)) != frozen


def test_tied_weights_are_updated_once():
    optimizer = build_optimizer(tiny_model("transformer"), AdamW())
    weights = [id(weight) for group in optimizer.param_groups for weight in group["params"]]

    assert sorted(weights) == sorted(set(weights))


def test_only_matrices_decay():
    """With no gradient, a matrix shrinks by rate times decay; biases and norms stay."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    before = [weight.detach().clone() for weight in model.parameters()]
    optimizer = build_optimizer(model, AdamW(weight_decay=0.5))
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()

    for old, new in zip(before, model.parameters(), strict=True):
        assert_close(new.detach(), old * 0.95 if old.dim() > 1 else old)


def trained(model, optimizer, steps=4):
    x = torch.linspace(-1, 1, 12).view(4, 3)
    for _ in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 0.05
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return [weight.detach() for weight in model.parameters()]


def linear():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


@pytest.mark.parametrize(
    ("config", "theirs"),
    [
        (
            NesterovSgd(momentum=0.8),
            lambda w: torch.optim.SGD(w, lr=0.0, momentum=0.8, nesterov=True),
        ),
        (
            AdamW(beta1=0.8, beta2=0.95, epsilon=1e-5),
            lambda w: torch.optim.AdamW(
                w, lr=0.0, betas=(0.8, 0.95), eps=1e-5, weight_decay=0.0, foreach=False
            ),
        ),
    ],
)
def test_updates_are_torchs(config, theirs):
    ours, other = linear(), linear()

    for one, expected in zip(
        trained(ours, build_optimizer(ours, config)),
        trained(other, theirs(other.parameters())),
        strict=True,
    ):
        assert_close(one, expected)


def test_without_a_rate_nothing_moves():
    """The schedule decides alone."""
    model = linear()
    before = [weight.detach().clone() for weight in model.parameters()]
    model(torch.ones(1, 3)).sum().backward()
    build_optimizer(model, AdamW()).step()

    assert [weight.tolist() for weight in model.parameters()] == [w.tolist() for w in before]
