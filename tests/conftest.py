"""Fixtures for all tests; helper functions are in tests/support."""

import gc
from importlib import import_module

gc.disable()  # off until all is imported: imported objects stay, so scanning them is useless
import_module("nmt_core")  # must come before torch

# isort: split

import os
import signal

import pytest
import torch
from hypothesis import settings

from tests.support.order import pytest_addoption, pytest_collection_modifyitems
from tests.support.presets import SHAPES, tiny_model
from tests.support.web_server import serving

# hooks, in addition to those below
__all__ = ["pytest_addoption", "pytest_collection_modifyitems"]

# the time per example depends on the machine; only `make test` draws other examples each time
# has a SEED=
settings.register_profile("random", deadline=None, max_examples=20, print_blob=True)
settings.register_profile("nmt", deadline=None, max_examples=20, derandomize=True)
settings.load_profile("nmt")


# a test that waits for the disk also waits for fsync; tests need not survive a power cut
os.fsync = lambda _: None

if not torch.cuda.is_available():
    # otherwise torch records the seed for missing devices, each with a stack trace as text,
    # which takes as long as an update of a tiny model
    torch.manual_seed = torch.default_generator.manual_seed


def pytest_collection_finish():
    """Collect garbage from here on, for objects of tests."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.fixture(autouse=True)
def _seeded():
    """Seed all generators, so that each test draws the same numbers in any order of tests."""
    torch.manual_seed(0)


@pytest.fixture(params=SHAPES)
def model(request):
    """A tiny model of every preset in float64, with large weights that show each difference."""
    model = tiny_model(request.param).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project as the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def web_server():
    with serving() as site:
        yield site


@pytest.fixture
def site(web_server, monkeypatch):
    """A local web server without any pages.

    It has no certificate, because loading certificates takes a client longer than a request.
    """
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    web_server.requests.clear()
    web_server.queries.clear()
    web_server.behaviours.clear()
    return web_server


@pytest.fixture
def heard():
    """Restore SIGINT and SIGHUP, which nohup or a background script may have set to be ignored."""
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    ignored = [number for number in stopping if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
