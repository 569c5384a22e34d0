"""Compositions of groups, cached, because many tests use the same ones."""

import copy

import pytest

from stages import paths
from stages.configure import compose as module


@pytest.fixture(autouse=True, scope="session")
def _remembered():
    """Compose groups once for each choice and content of their files; errors are not cached."""
    known = {}
    compose = module.compose_groups

    def remember(overrides, *, conf=paths.CONF):
        files = sorted(conf.resolve().rglob("*.yaml"))
        key = (
            *overrides,
            *((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files),
        )
        if key not in known:
            known[key] = compose(overrides, conf=conf)
        return copy.deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compose_groups", remember)
        yield
