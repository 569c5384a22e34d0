import pytest
import torch
from torch.testing import assert_close

from nmt_core.models.embedding import build_pretrained_embedding
from nmt_core.models.settings import build_model
from nmt_core.training.optimizer import build_optimizer, find_hidden_matrices, orthogonalize
from nmt_core.training.settings import AdamW, Muon, NesterovSgd
from tests.support.presets import tiny_config, tiny_model


def held(optimizer):
    return {id(weight) for group in optimizer.param_groups for weight in group["params"]}


@pytest.mark.parametrize("config", [AdamW(), Muon(), NesterovSgd()])
@pytest.mark.parametrize("frozen", [True, False])
def test_only_frozen_weights_are_excluded(config, frozen):
    rows = {side: torch.randn(9, 16) for side in ("source", "target")}
    vectors = {side: build_pretrained_embedding(x, frozen=frozen) for side, x in rows.items()}
    model = build_model(
        tiny_config("transformer_article"), source_size=9, target_size=9, pretrained=vectors
    )
    optimizer = build_optimizer(model, config)

    assert held(optimizer) == {id(w) for w in model.parameters() if w.requires_grad}
    assert (id(model.source_embedding.table.weight) in held(optimizer)) != frozen


@pytest.mark.parametrize("config", [AdamW(), Muon()])
def test_tied_weights_are_updated_once(config):
    optimizer = build_optimizer(tiny_model("transformer"), config)
    weights = [id(weight) for group in optimizer.param_groups for weight in group["params"]]

    assert sorted(weights) == sorted(set(weights))


@pytest.mark.parametrize("config", [AdamW(weight_decay=0.5), Muon(weight_decay=0.25)])
def test_only_matrices_decay(config):
    """Without a gradient, a matrix shrinks by rate times decay; biases and norms stay."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    before = [weight.detach().clone() for weight in model.parameters()]
    optimizer = build_optimizer(model, config)
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
def test_updates_equal_torchs(config, theirs):
    ours, other = linear(), linear()

    for one, expected in zip(
        trained(ours, build_optimizer(ours, config)),
        trained(other, theirs(other.parameters())),
        strict=True,
    ):
        assert_close(one, expected)


@pytest.mark.parametrize(
    "preset", ["transformer", "convs2s", "rnn_attention", "transformer_article"]
)
def test_muon_takes_the_matrices_inside_layers(preset):
    """It takes neither embeddings, nor the output layer, nor vectors."""
    model = tiny_model(preset)
    names = {id(weight): name for name, weight in model.named_parameters()}
    found = {names[id(weight)] for weight in find_hidden_matrices(model)}
    others = {*names.values()} - found

    assert found
    assert not [name for name in found if "embedding" in name or name.startswith("output")]
    for name in others:
        weight = model.get_parameter(name)
        assert weight.dim() != 2 or "embedding" in name or name.startswith("output"), name


@pytest.mark.parametrize("shape", [(8, 8), (16, 4), (4, 16)])
def test_orthogonal_matrices_keep_their_singular_vectors(shape):
    """Several at once, each independent; singular values end between 0.6 and 1.3."""
    torch.manual_seed(3)
    matrices = torch.randn(3, *shape, dtype=torch.float64)
    found = orthogonalize(matrices, 8)
    for one, matrix in zip(found, matrices, strict=True):
        left, _, right = torch.linalg.svd(matrix, full_matrices=False)
        kept = left.mT @ one @ right.mT

        assert_close(one, orthogonalize(matrix[None], 8)[0])
        assert_close(kept, torch.diag(kept.diagonal()), atol=1e-9, rtol=0.0)
        assert 0.6 < kept.diagonal().min() <= kept.diagonal().max() < 1.3


def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Linear(6, 6), torch.nn.Linear(6, 2))


def test_updates_of_muon_equal_torchs():
    """Matrices follow torch's own, which rounds to bfloat16; everything else follows AdamW."""
    config = Muon(beta1=0.8, beta2=0.95, epsilon=1e-5, orthogonal_steps=4, matrix_rate=0.5)
    ours, other = layers(), layers()
    begin = [weight.detach().clone() for weight in ours.parameters()]
    muon = torch.optim.Muon(
        [weight for weight in other.parameters() if weight.dim() == 2],
        weight_decay=0.0,
        momentum=config.momentum,
        ns_steps=4,
        adjust_lr_fn="match_rms_adamw",
    )
    adam = torch.optim.AdamW(
        [weight for weight in other.parameters() if weight.dim() == 1],
        betas=(0.8, 0.95),
        eps=1e-5,
        weight_decay=0.0,
    )
    optimizer = build_optimizer(ours, config)
    for _ in range(3):
        for one, rate in ((optimizer, 1.0), (muon, config.matrix_rate), (adam, 1.0)):
            for group in one.param_groups:
                group["lr"] = rate * 0.05
        for one, same in zip(ours.parameters(), other.parameters(), strict=True):
            one.grad = torch.randn_like(one)
            same.grad = one.grad.clone()
        for one in (optimizer, muon, adam):
            one.step()

    for found, expected, before in zip(ours.parameters(), other.parameters(), begin, strict=True):
        error, moved = (found - expected).norm(), (expected - before).norm()
        assert error < (0.05 if found.dim() == 2 else 1e-4) * moved


def test_muon_resumes_from_its_state():
    """Everything that it needs is in its state, as in any optimizer."""
    whole, cut = layers(), layers()
    one, first = build_optimizer(whole, Muon()), build_optimizer(cut, Muon())
    trained(whole, one, steps=4)
    trained(cut, first, steps=2)
    second = build_optimizer(cut, Muon())
    second.load_state_dict(first.state_dict())
    trained(cut, second, steps=2)

    for expected, found in zip(whole.parameters(), cut.parameters(), strict=True):
        assert torch.equal(expected, found)
