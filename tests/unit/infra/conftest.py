"""Servers whose programs need not be installed."""

import pytest

from infra.servers.topology import Database, Files, Topology


@pytest.fixture
def full(tmp_path, monkeypatch):
    """Return all four servers, with the programs to run them or without."""
    monkeypatch.setattr("infra.servers.postgres.find_programs", lambda: tmp_path)
    monkeypatch.setattr("infra.servers.programs.find_rclone", lambda: "/rclone")
    return Topology(tmp_path, database=Database.postgres, files=Files.s3)
