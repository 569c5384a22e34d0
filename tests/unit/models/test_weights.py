import pytest
import torch
from torch import nn

from nmt_core.base.errors import BundleError
from nmt_core.models.weights import load_untied_state_dict, untied_state_dict
from tests.support.presets import PRESETS, tiny_model


@pytest.mark.parametrize("name", PRESETS)
def test_weights_and_ties_are_restored(name):
    stored = {
        key: value.clone() for key, value in untied_state_dict(tiny_model(name, seed=1)).items()
    }
    model = tiny_model(name, seed=2)
    load_untied_state_dict(model, stored)

    assert stored.keys() >= dict(model.named_parameters()).keys()  # of ties the first names
    for key, value in tiny_model(name, seed=1).state_dict().items():
        assert torch.equal(value, model.state_dict()[key])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda stored: stored.pop("inner.bias"), "inner.bias is missing"),
        (lambda stored: stored.update(extra=torch.ones(1)), "extra is unknown"),
        (
            lambda stored: stored.update({"inner.bias": torch.ones(3)}),
            r"inner.bias has the shape \[3\], not \[2\]",
        ),
    ],
)
def test_mismatched_weights_are_refused_before_loading(change, told):
    model = nn.ModuleDict({"inner": nn.Linear(2, 2)})
    before = {name: value.clone() for name, value in untied_state_dict(model).items()}
    stored = {name: value + 1 for name, value in before.items()}
    change(stored)
    with pytest.raises(BundleError, match=rf"do not match the model \({told}\); train it"):
        load_untied_state_dict(model, stored)

    assert all(torch.equal(before[name], value) for name, value in untied_state_dict(model).items())
