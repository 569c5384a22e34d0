"""What tests of many rooms are given; what they call is in tests/support."""

import gc
from importlib import import_module

gc.disable()  # until all is imported, which stays to the end: looking for garbage there is in vain
import_module("nmt_core")  # before torch, see there

# isort: split

import os
import signal

import pytest
import torch
from hypothesis import settings

from tests.support.order import (
    pytest_addoption,
    pytest_collection_modifyitems,
)
from tests.support.presets import PRESETS, VARIANTS, tiny_model
from tests.support.web_server import serving

# hooks, beside those below
__all__ = ["pytest_addoption", "pytest_collection_modifyitems"]

# the machine decides how long an example takes; every run tries the same ones, unless `make test`
# gets a SEED=
settings.register_profile("random", deadline=None, print_blob=True)
settings.register_profile("nmt", deadline=None, derandomize=True)
settings.load_profile("nmt")


# a test that waits for the disk waits for a power cut, which would end the tests, too
os.fsync = lambda _: None

if not torch.cuda.is_available():
    # it would note the seed for devices that are not there, each with the stack of calls as text,
    # which takes as long as an update of a tiny model
    torch.manual_seed = torch.default_generator.manual_seed


def pytest_collection_finish():
    """Look for garbage from here on, in what tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _seeded():
    """Every test draws the same numbers, whichever came before it."""
    torch.manual_seed(0)


@pytest.fixture(params=[*PRESETS, *VARIANTS])
def model(request):
    """A tiny model of every preset in float64, its weights so large that nothing hides."""
    model = tiny_model(request.param).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def web_server():
    with serving() as site:
        yield site


@pytest.fixture
def site(web_server, monkeypatch):
    """A web server with nothing on it that nobody has asked.

    It has no certificate; to read those of others takes a client longer than an answer.
    """
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    web_server.requests.clear()
    web_server.queries.clear()
    web_server.behaviours.clear()
    return web_server


@pytest.fixture
def heard():
    """Hear what nohup, or a script that works in the background, has us ignore."""
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    ignored = [number for number in stopping if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
