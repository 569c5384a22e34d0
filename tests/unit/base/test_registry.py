"""The contents of a registry: our own entries and those of installed packages."""

import sys
from collections import Counter

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.base.registry import Registry
from tests.support.packages import install

OURS = {"ordered": "collections:OrderedDict", "counted": "collections:Counter", "here": int}


@pytest.fixture
def registry():
    return Registry("a mapping", "nmt.mappings", OURS)


def test_things_are_loaded_by_name(registry):
    assert registry.load("counted") is Counter
    assert registry.load("here") is int
    assert registry.check("ordered") == "ordered"


def test_an_unknown_name_gets_the_closest_suggestion(registry):
    for ask, kind in ((registry.load, ConfigError), (registry.check, ValueError)):
        with pytest.raises(kind, match=r"'orderd' is not a mapping.*'ordered'"):
            ask("orderd")
    assert "orderd" not in registry


def test_other_packages_offer_theirs_after_ours(registry, tmp_path, monkeypatch):
    code = "class Theirs: pass\nclass Other: pass"
    assert [*registry] == [*OURS]
    name = install(
        tmp_path,
        monkeypatch,
        code,
        mappings={"theirs": "Theirs", "here": "Other"},
        others={"x": "y"},
    )

    assert [*registry] == [*OURS, "theirs"]
    assert "theirs" in registry
    assert name not in sys.modules
    assert registry.load("theirs").__module__ == name
    assert registry.load("here") is int


def test_packages_are_searched_for_unknown_names_only(registry, monkeypatch):
    """The search takes a tenth of a second, too long for the translation of a line."""

    def refuse(**_):
        raise AssertionError

    monkeypatch.setattr("importlib.metadata.entry_points", refuse)
    monkeypatch.setattr(sys, "path", [*sys.path, "/nowhere"])

    assert "ordered" in registry
    assert registry.load("here") is int
    with pytest.raises(AssertionError):
        list(registry)
