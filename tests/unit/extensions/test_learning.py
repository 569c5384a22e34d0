"""Settings on the command line, and in its help."""

import re
from typing import Literal

import numpy as np
import pytest
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.extensions.classifiers.model import LearnClassifierConfig
from nmt_core.extensions.language_models.training import LearningConfig
from nmt_core.extensions.learning import (
    change_settings,
    explain_settings,
    keep_checkpoints,
    list_settings,
)


class Inner(Config):
    """Deep."""

    size: int = Field(3, ge=1)
    """How large."""
    kind: Literal["x", "y"] = "x"
    """Which."""


class Outer(Config):
    """All."""

    inner: Inner = Inner()
    """Within."""
    names: list[str] = Field(["a"])
    """Which
    ones."""


@pytest.mark.parametrize(
    ("settings", "inner"),
    [
        ([], Inner(size=5)),
        (["inner.size=4"], Inner(size=4)),
        (["inner.kind=x"], Inner(size=5)),
        (["inner.kind=y"], Inner(kind="y")),
        (["inner.size=4", 'inner.kind="y"'], Inner(size=4, kind="y")),
        (["inner"], "--set inner must have one value"),
        (["=3"], "must have one value"),
        (['inner={"size": 4}'], "must have one value"),
        (["names.a=1"], "names has no settings"),
        (["inner.size=big"], r"at.inner.size must be .*, got 'big'"),
        (["inner.sise=4"], "at.inner.sise is not a parameter; .*size"),
    ],
)
def test_settings_are_changed_by_their_names(settings, inner):
    """Another kind resets the settings beside it, in any order."""
    default = Outer(inner=Inner(size=5))
    if isinstance(inner, Inner):
        assert change_settings(default, settings, at="at") == Outer(inner=inner)
    else:
        with pytest.raises(ConfigError, match=inner):
            change_settings(default, settings, at="at")


def test_values_are_json_or_strings():
    """If a name has several values, the last counts."""
    changed = change_settings(Outer(), ['names=["1.5"]', 'names=["b"]', "inner.kind=y"], at="at")

    assert changed == Outer(inner=Inner(kind="y"), names=["b"])


DEFAULTS = {
    LearningConfig: """
model.order=5 model.smoothing.discount=null model.order=5 model.embedding_width=128
model.width=512 model.dropout=0.2 model.cell=lstm model.layers=2 model.embedding_width=64
model.width=512 model.dropout=0.2 model.state_dropout=0.0 model.input=embedding model.tie=false
model.stateful=true model.layers=4 model.width=128 model.heads=4 model.feed_forward_width=512
model.dropout=0.1 model.attention_dropout=0.0 model.positions=sinusoidal model.context=64
unit.lower_case=false unit.split=punctuation unit.min_count=2 unit.max_words=null
training.epochs=10 training.rows=32 training.optimizer.beta1=0.9 training.optimizer.beta2=0.99
training.optimizer.epsilon=1e-9 training.optimizer.weight_decay=0.01
training.schedule.learning_rate=0.004 training.schedule.warmup=0.03 training.schedule.shape=cosine
training.schedule.floor=0.0 training.max_gradient_norm=1.0 training.patience=null
training.compute.device=auto training.compute.precision=auto training.compute.threads=0
training.window=64 held_out=0.1 seed=1
""",
    LearnClassifierConfig: """
text.words=10000 text.buckets=1000 text.lower_case=true text.longest=250 text.keep=last
model.embedding_width=128 model.layers=2 model.width=128 model.pool=max
model.embedding_dropout=0.3 model.dropout=0.5 model.frozen=false training.epochs=3
training.rows=64 training.optimizer.beta1=0.9 training.optimizer.beta2=0.999
training.optimizer.epsilon=1e-8 training.optimizer.weight_decay=0.0
training.schedule.learning_rate=0.002 training.schedule.warmup=0.05 training.schedule.shape=linear
training.schedule.floor=0.0 training.max_gradient_norm=1.0 training.patience=null
training.compute.device=auto training.compute.precision=auto training.compute.threads=0
held_out=0.1 seed=1
""",
}
"""Settings of all models, and of the default optimizer and schedule, in the order of the help."""


@pytest.mark.parametrize(("kind", "defaults"), DEFAULTS.items())
def test_listed_settings_are_defaults(kind, defaults):
    """Each setting accepts the shown value, within the kinds above it."""
    kinds, listed = [], []
    for line in list_settings(kind()):
        indent, setting = re.fullmatch("( *)- `(.+?)`: .+", line).groups()
        kinds = kinds[: len(indent) // 2]
        plain = change_settings(kind(), kinds, at="x")
        if ".kind=" in setting:
            kinds.append(setting)
        else:
            assert change_settings(kind(), [*kinds, setting], at="x") == plain
            if plain == kind() or kinds[0].startswith("model."):
                listed.append(setting)

    assert listed == defaults.split()


def test_help_is_made_from_documentation():
    @explain_settings("Settings:", Outer())
    def command():
        """Do it."""

    assert command.__doc__ == (
        "Do it.\n\nSettings:\n\n- `inner.size=3`: How large.\n"
        '- `inner.kind=x`: Which. Or `y`.\n- `names=["a"]`: Which ones.'
    )


def test_other_inputs_have_other_checkpoints(tmp_path):
    out, numbers = tmp_path / "lm", np.arange(4)
    inputs = [
        ({"seed": 1}, numbers, numbers),
        ({"seed": 2}, numbers, numbers),
        ({"seed": 1}, numbers, numbers[:3]),
        ({"seed": 1}, numbers[:3], np.append(3, numbers)),
        ({"seed": 1}, ["a"], numbers),
        ({"seed": 1}, ["b"], numbers),
    ]
    folders = set()
    for given in inputs:
        with pytest.raises(KeyboardInterrupt), keep_checkpoints(out, *given) as folder:
            folder.mkdir(parents=True)
            folders.add(folder)
            raise KeyboardInterrupt

    assert len(folders) == len(inputs)
    assert {*(tmp_path / "lm.checkpoints").iterdir()} == folders
    for given in inputs:
        with keep_checkpoints(out, *given) as folder:
            assert folder in folders
    assert [*tmp_path.iterdir()] == []
