"""Settings on the command line, and in its help."""

import re

import pytest
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.extensions.classifiers.training import LearnClassifierConfig
from nmt_core.extensions.language_models.training import LearningConfig
from nmt_core.extensions.settings import (
    change_settings,
    explain_settings,
    list_settings,
    merge_settings,
    parse_setting,
)


def test_settings_are_nested_by_their_dots():
    assert parse_setting(["a.b=1", "a.c=x", "d=null"]) == {"a": {"b": 1, "c": "x"}, "d": None}
    with pytest.raises(ConfigError, match="has no value"):
        parse_setting(["a"])
    with pytest.raises(ConfigError, match="contradicts"):
        parse_setting(["a=1", "a.b=2"])


def test_a_change_leaves_the_rest_as_it_was():
    default = {"a": {"kind": "x", "b": 1, "c": 2}, "d": 3}

    assert merge_settings(default, {"a": {"b": 5}}) == {"a": {"kind": "x", "b": 5, "c": 2}, "d": 3}
    assert merge_settings(default, {"a": {"kind": "y"}}) == {"a": {"kind": "y"}, "d": 3}


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


class Inner(Config):
    """Deep."""

    size: int = Field(3, ge=1)
    """How large."""


class Outer(Config):
    """All."""

    inner: Inner = Inner()
    """Within."""
    names: list[str] = Field(["a"])
    """Which
    ones."""


def test_help_is_made_from_documentation():
    @explain_settings("Settings:", Outer())
    def command():
        """Do it."""

    assert command.__doc__ == (
        'Do it.\n\nSettings:\n\n- `inner.size=3`: How large.\n- `names=["a"]`: Which ones.'
    )
