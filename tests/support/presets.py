"""The presets of conf/model in a small size."""

import torch
import yaml

from nmt_core.models.settings import build_model, read_model_config
from tests.support.projects import PROJECT

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


def read_model(name):
    """Return the model settings of a preset of conf/model, including its base presets."""
    group = yaml.safe_load((PROJECT / f"conf/model/{name}.yaml").read_text())
    shape = {}
    for part in group.get("defaults", ["_self_"]):
        if isinstance(part, dict):  # of another group
            continue
        shape |= group.get("train", {}).get("model", {}) if part == "_self_" else read_model(part)
    return shape


PRESETS = {
    path.stem: read_model(path.stem)
    for path in sorted((PROJECT / "conf/model").glob("*.yaml"))
    if path.stem not in ("student", "transformer_small")  # the transformer in other sizes
}
"""The model settings of each preset."""

VARIANTS = {
    "transformer_post_learned": PRESETS["transformer"]
    | {"norm": "post", "positions": "learned", "attention_output_bias": False},
    "rnn_dot_gru_forward": PRESETS["rnn_attention"]
    | {"attention": "dot", "cell": "gru", "direction": "forward", "input_feeding": False}
    | {"trained_attention_scale": True},
    "rnn_concat_reversed": PRESETS["rnn_attention"]
    | {"attention": "concat", "direction": "reversed", "input_feeding": False},
    "rnn_tanh": PRESETS["rnn_attention"]
    | {"cell": "tanh", "attention": "dot", "source_start": True},
    "rnn_tanh_whole": PRESETS["rnn_plain"] | {"cell": "tanh", "encoder_layers": 1},
    "rnn_additive_fed": PRESETS["rnn_attention"]
    | {"attention": "additive", "bridge": "projection", "tie": "none"},
}


def shrunk(model):
    """Return small values for the settings that a model has; null stays null."""
    return {key: small for key, small in SHRUNK.items() if model.get(key) is not None}


def tiny_config(name):
    """Return a preset in a small size, with its characteristic settings."""
    values = (PRESETS | VARIANTS)[name]
    return read_model_config(values | shrunk(values))


SHAPES = [*{repr(tiny_config(name)): name for name in [*PRESETS, *VARIANTS][::-1]}.values()][::-1]
"""Presets and variants that still differ in a small size; each size of the article is once."""


def tiny_model(name, *, seed=0, words=TARGET_SIZE, **changes):
    """A freshly initialized tiny model."""
    torch.manual_seed(seed)
    shape = tiny_config(name).model_copy(update=changes)
    return build_model(shape, source_size=words, target_size=words)
