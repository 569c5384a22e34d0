"""Compositions of groups, cached, because many tests use the same ones."""

import copy
from functools import cache
from io import StringIO

import pytest
from omegaconf import OmegaConf

from stages import paths
from stages.configure import compose as module
from stages.configure import request


@pytest.fixture(autouse=True, scope="session")
def _remembered():
    """Compose groups and parse files once for each choice and text; errors are not cached."""
    compose, load = module.compose_groups, OmegaConf.load
    compose_once = cache(lambda overrides, conf, _: compose([*overrides], conf=conf))
    parse_once = cache(lambda text: load(StringIO(text)))

    def remember(overrides, *, conf=paths.CONF):
        texts = [(file, file.read_bytes()) for file in conf.resolve().rglob("*.yaml")]
        return copy.deepcopy(compose_once((*overrides,), conf, (*sorted(texts),)))

    def parse(file):
        text = file.read_text() if hasattr(file, "read_text") else file.read()
        return copy.deepcopy(parse_once(text))

    with pytest.MonkeyPatch.context() as patch:
        for user in (module, request):
            patch.setattr(user, "compose_groups", remember)
        patch.setattr(OmegaConf, "load", parse)
        yield
