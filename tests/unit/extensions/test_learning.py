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
        (["inner"], "--set inner does not name one value"),
        (["=3"], "does not name one value"),
        (['inner={"size": 4}'], "does not name one value"),
        (["names.a=1"], "names is a value"),
        (["inner.size=big"], r"at.inner.size must be .*, got 'big'"),
        (["inner.sise=4"], "at.inner.sise is not a parameter; .*size"),
    ],
)
def test_settings_are_changed_by_their_names(settings, inner):
    """Another kind resets the settings beside it, whatever the order."""
    default = Outer(inner=Inner(size=5))
    if isinstance(inner, Inner):
        assert change_settings(default, settings, at="at") == Outer(inner=inner)
    else:
        with pytest.raises(ConfigError, match=inner):
            change_settings(default, settings, at="at")


def test_values_are_json_or_strings():
    """Of several values for one name, the last counts."""
    changed = change_settings(Outer(), ['names=["1.5"]', 'names=["b"]', "inner.kind=y"], at="at")

    assert changed == Outer(inner=Inner(kind="y"), names=["b"])


@pytest.mark.parametrize("kind", [LearningConfig, LearnClassifierConfig])
def test_listed_settings_are_defaults(kind):
    """Each may be set to what is shown, within the kinds that it is indented below."""
    kinds, names = [], set()
    for line in list_settings(kind()):
        indent, setting = re.fullmatch("( *)- `(.+?)`: .+", line).groups()
        kinds = kinds[: len(indent) // 2]
        plain = change_settings(kind(), kinds, at="x")
        names.add(setting.partition("=")[0].partition(".")[0])
        if ".kind=" in setting:
            kinds.append(setting)
        else:
            assert change_settings(kind(), [*kinds, setting], at="x") == plain

    assert names == {*kind.model_fields}


def test_help_is_made_from_documentation():
    @explain_settings("Settings:", Outer())
    def command():
        """Do it."""

    assert command.__doc__ == (
        "Do it.\n\nSettings:\n\n- `inner.size=3`: How large.\n"
        '- `inner.kind=x`: Which. Or `y`.\n- `names=["a"]`: Which ones.'
    )


def test_other_inputs_have_other_checkpoints_which_the_end_removes(tmp_path):
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
