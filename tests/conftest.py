"""Tiny models of every preset, alive enough for laws: weights are large, so nothing hides."""

from contextlib import contextmanager
from pathlib import Path

import nmt_core  # noqa: F401 - before torch, see there

# isort: split

import pytest
import torch
import yaml
from hypothesis import settings

from nmt_core.models.architectures import build_model
from nmt_core.models.settings import read_model_config

# the machine decides how long an example takes, and every run tries the same ones
settings.register_profile("nmt", deadline=None, derandomize=True)
settings.load_profile("nmt")

CONF = Path(__file__).parents[1] / "conf"
SOURCE_SIZE, TARGET_SIZE = 9, 9
SHRUNK = {
    "width": 16,
    "heads": 2,
    "head_width": 5,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "feed_forward_width": 24,
    "hidden_width": 24,
    "max_positions": 32,
}


@pytest.fixture(autouse=True)
def _seeded():
    """Every test draws the same numbers, whichever came before it."""
    torch.manual_seed(0)


@contextmanager
def torchs_own_settings():
    """Put the settings of this process back that a training or an evaluation changes."""
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    fills = torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)
    torch.utils.deterministic.fill_uninitialized_memory = fills


def preset(name):
    """The model settings of a group in conf/model."""
    return yaml.safe_load((CONF / "model" / f"{name}.yaml").read_text())["train"]["model"]


PRESETS = {path.stem: preset(path.stem) for path in sorted((CONF / "model").glob("*.yaml"))}
VARIANTS = {
    "transformer_post_learned": PRESETS["transformer"] | {"norm": "post", "positions": "learned"},
    "rnn_dot_gru_forward": PRESETS["rnn_attention"]
    | {"attention": "dot", "cell": "gru", "direction": "forward", "input_feeding": False},
    "rnn_concat_reversed": PRESETS["rnn_attention"]
    | {"attention": "concat", "direction": "reversed", "input_feeding": False},
    "rnn_additive_fed": PRESETS["rnn_attention"]
    | {"attention": "additive", "bridge": "projection", "tie": "none"},
}


def tiny_config(name):
    """A preset made small; what makes it that preset stays, and so does a null."""
    values = (PRESETS | VARIANTS)[name]
    given = [key for key in SHRUNK if values.get(key) is not None]
    return read_model_config(values | {key: SHRUNK[key] for key in given})


def tiny_model(name, *, seed=0):
    """A freshly initialised tiny model."""
    torch.manual_seed(seed)
    return build_model(tiny_config(name), source_size=SOURCE_SIZE, target_size=TARGET_SIZE)


@pytest.fixture(params=[*PRESETS, *VARIANTS])
def model(request):
    """A tiny model of every preset, in float64 and evaluation mode, with lively weights."""
    model = tiny_model(request.param).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model
