"""The real servers, once for all tests: databases in PostgreSQL, files in a store of S3."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from infra.servers.postgres import find_programs
from infra.servers.server import StartError
from infra.servers.topology import Database, Files, Topology
from tests.support.fleet import Fleet
from tests.support.processes import at_work_in


def pytest_collection_modifyitems(items):
    """Mark all tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.orchestration)
            item.add_marker(pytest.mark.timeout(1800))  # fixtures included, on a busy machine


@pytest.fixture(scope="package")
def folder():
    """A folder that user postgres can come to, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="nmt-servers-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def postgresql():
    """Skip where PostgreSQL is not installed, but fail where it must be."""
    try:
        find_programs()
    except StartError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="package")
def topology(postgresql, folder):
    """Prefect and MLflow on PostgreSQL and S3, at ports that are free.

    They end with the last test of this folder, for they are busy even while nobody asks them.

    ``topology.environment`` is what workers and stages need. A test that stops or kills a server
    (``topology.postgres``, ``store``, ``prefect``, ``mlflow``) starts it again: ``start()`` waits
    until it answers.
    """
    servers = Topology(folder, database=Database.postgres, files=Files.s3, durable=False)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()
        assert [] == at_work_in(folder)


@pytest.fixture(scope="package")
def fleet(topology, tmp_path_factory):
    """Clones, workers and runs on the servers."""
    fleet = Fleet(topology, tmp_path_factory.mktemp("fleet"))
    with fleet.client:
        yield fleet
