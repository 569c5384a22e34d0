"""The real servers, once for all tests of this folder."""

import os
from pathlib import Path

import pytest

from infra.servers.__main__ import build_servers
from tests.support.fleet import Fleet
from tests.support.processes import at_work_in
from tests.support.reader import open_reader


def pytest_collection_modifyitems(items):
    """Mark all tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1800))  # including fixtures, on a busy machine


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="package")
def servers(folder):
    """Prefect and MLflow at free ports.

    ``servers.environment`` has the variables of workers and stages. A test that kills a server
    restarts it: ``start()`` waits until it answers.
    """
    before = os.umask(0o077)
    built = build_servers(folder, host="127.0.0.1", prefect_port=0, mlflow_port=0)
    os.umask(before)
    try:
        built.start()
        yield built
    finally:
        built.stop()
        assert [] == at_work_in(folder)


@pytest.fixture(scope="package")
def fleet(servers, tmp_path_factory):
    """Clones, workers and runs on the servers."""
    fleet = Fleet(servers, tmp_path_factory.mktemp("fleet"))
    with fleet.client:
        yield fleet


@pytest.fixture(scope="module")
def reader(request):
    """A reader's terminal after the commands STARTED of the module; at the end, Ctrl-C."""
    with open_reader() as reader:
        for line in request.module.STARTED:
            reader.types(line)
        yield reader
        reader.leaves()
