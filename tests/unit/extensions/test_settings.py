"""Settings on the command line, and in its help."""

import re

import pytest
from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.extensions.classifiers.settings import FineTuneConfig, LearnClassifierConfig
from nmt_core.extensions.language_models.training import LearningConfig
from nmt_core.extensions.settings import (
    change_settings,
    explain_settings,
    list_settings,
    merge_settings,
    parse_setting,
    render_settings,
)


def test_settings_are_nested_by_their_dots():
    assert parse_setting(["a.b=1", "a.c=x", "d=null"]) == {"a": {"b": 1, "c": "x"}, "d": None}
    with pytest.raises(ConfigError, match="has no value"):
        parse_setting(["a"])
    with pytest.raises(ConfigError, match="at odds"):
        parse_setting(["a=1", "a.b=2"])


def test_a_change_leaves_the_rest_as_it_was():
    default = {"a": {"kind": "x", "b": 1, "c": 2}, "d": 3}

    assert merge_settings(default, {"a": {"b": 5}}) == {"a": {"kind": "x", "b": 5, "c": 2}, "d": 3}
    assert merge_settings(default, {"a": {"kind": "y"}}) == {"a": {"kind": "y"}, "d": 3}


def flatten(settings, kinds=()):
    """Yield each setting with the kinds that it goes with."""
    for one in settings:
        if one.inner or one.name.endswith(".kind"):
            chosen = (*kinds, f"{one.name}={one.value}")
            yield one, chosen
            yield from flatten(one.inner, chosen)
        else:
            yield one, kinds


@pytest.mark.parametrize("kind", [LearningConfig, LearnClassifierConfig, FineTuneConfig])
def test_settings_in_the_help_are_settings_and_their_defaults(kind):
    """Each may be set to what is shown, and none is shown without words."""
    default = kind()
    listed = list(flatten(list_settings(default)))

    assert {one.name.partition(".")[0] for one, _ in listed} == {*kind.model_fields}
    for one, kinds in listed:
        shown = render_settings([one._replace(inner=())])
        setting, words = re.fullmatch("- `(.+?)`: (.+)", shown).groups()

        assert words
        plain = change_settings(default, kinds, at="x")
        assert change_settings(default, [*kinds, setting], at="x") == plain


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
    @explain_settings("More:", Outer(names=["b"]), beside=Outer())
    @explain_settings("Settings:", Outer())
    def command():
        """Do it."""

    assert command.__doc__ == (
        "Do it.\n\nSettings:\n\n- `inner.size=3`: How large.\n"
        '- `names=["a"]`: Which ones.\n\nMore:\n\n- `names=["b"]`: Which ones.'
    )
