"""Prefect and MLflow on a real PostgreSQL, with Compose's roles, by their own variables."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg2
import pytest

from infra.servers.__main__ import build_servers
from stages.runtime.checkout import find_free_port
from tests.support.fleet import Fleet
from tests.support.projects import PROJECT

INITDB = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)


@pytest.fixture
def database():
    """Yield the address of a database server, and a function that kills and restarts it."""
    user = "postgres" if os.geteuid() == 0 else None  # it does not run as root
    folder, port = Path(tempfile.mkdtemp()), find_free_port("127.0.0.1")
    (folder / "password").write_text("owner")
    shutil.chown(folder, user or os.geteuid())
    variables = {"PREFECT_DATABASE_PASSWORD": "owl", "MLFLOW_DATABASE_PASSWORD": "lark"}
    variables |= {"PATH": f"{INITDB.parent}:{os.environ['PATH']}", "PGDATA": "data"}
    variables |= {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGPASSWORD": "owner"}

    def run(*command):
        subprocess.run(command, user=user, cwd=folder, env=variables, check=True, timeout=120)

    run("initdb", "-U", "postgres", "-A", "scram-sha-256", "--pwfile=password", "--no-sync")
    run("pg_ctl", "start", "-w", "-l", "log", "-o", "-c unix_socket_directories=")
    run("sh", "-c", (PROJECT / "infra/postgres/databases.sh").read_text())
    yield f"127.0.0.1:{port}", lambda: run("pg_ctl", "restart", "-m", "immediate", "-l", "log")
    run("pg_ctl", "stop", "-m", "fast")
    shutil.rmtree(folder)


@pytest.mark.skipif(INITDB is None, reason="PostgreSQL is missing: apt-get install postgresql")
def test_servers_store_records_in_postgresql(database, tmp_path, monkeypatch, request):
    address, restart = database
    prefect, mlflow = f"prefect:owl@{address}/prefect", f"mlflow:lark@{address}/mlflow"
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", f"postgresql+asyncpg://{prefect}")
    monkeypatch.setenv("MLFLOW_BACKEND_STORE_URI", f"postgresql+psycopg2://{mlflow}")
    servers = build_servers(tmp_path / "servers", host="127.0.0.1", prefect_port=0, mlflow_port=0)
    request.addfinalizer(servers.stop)
    servers.start()
    fleet = Fleet(servers, tmp_path)
    restart()
    fleet.api("POST", "/flows/", name="owls")
    fleet.clone("clone").run("mlflow experiments create --experiment-name owls")
    for db, names in ((prefect, "select name from flow"), (mlflow, "select name from experiments")):
        with psycopg2.connect(f"postgresql://{db}") as connection, connection.cursor() as cursor:
            cursor.execute(names)
            assert ("owls",) in cursor.fetchall()
    with pytest.raises(psycopg2.OperationalError, match="permission denied"):
        psycopg2.connect(f"postgresql://mlflow:lark@{address}/prefect")
