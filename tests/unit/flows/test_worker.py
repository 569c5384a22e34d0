"""What a worker gets, what it leaves behind, and which runs count as dead."""

import base64
from contextlib import nullcontext

import pytest
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

from flows import worker
from flows.entry import check_server, require_server
from nmt_core.base.errors import NmtError
from tests.support.web_server import serving, status


@pytest.fixture(autouse=True)
def _elsewhere(project):
    """Hide all servers, even those that run in this checkout."""


def test_only_a_worker_needs_a_server():
    with temporary_settings({PREFECT_API_URL: None}):
        assert check_server() is None
        with pytest.raises(NmtError, match="no Prefect server is configured"):
            require_server()


def answer_login(login):
    """Answer requests with a login, and refuse others."""
    expected = f"Basic {base64.b64encode(login.encode()).decode()}"

    def behave(handler):
        known = handler.headers.get("Authorization") == expected
        handler.answer(200 if known else 401, Content_Length=0)

    return behave


@pytest.mark.parametrize(
    ("ready", "login", "message"),
    [
        (200, "admin:right", None),
        (200, "admin:wrong", "rejects the password"),
        (503, "admin:right", "no Prefect server answers at .* .*503"),  # without its database
        (None, "admin:right", "no Prefect server answers at"),
    ],
)
def test_server_must_be_ready_and_take_our_password(ready, login, message):
    with serving() as site:
        url = site.put("/api/admin/version", answer_login("admin:right"))
        url = url.removesuffix("/admin/version")
        if ready:
            site.put("/api/ready", status(ready))
        else:
            url = "http://127.0.0.1:9/api"
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: login}):
            if message is None:
                assert url == check_server() == require_server()
                return
            with pytest.raises(NmtError, match=message) as refused:
                check_server()
            assert url in str(refused.value)


def test_caller_can_choose_everything_but_the_server(monkeypatch, tmp_path):
    monkeypatch.setenv("PREFECT_WORKER_QUERY_SECONDS", "7")
    monkeypatch.setenv("PREFECT_API_URL", "http://elsewhere/api")
    monkeypatch.delenv("PREFECT_CLIENT_MAX_RETRIES", raising=False)
    monkeypatch.delenv("NMT_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    variables = worker.build_environment("http://127.0.0.1:1/api")

    assert variables["PREFECT_WORKER_QUERY_SECONDS"] == "7"
    assert variables["PREFECT_CLIENT_MAX_RETRIES"] == "20"
    assert variables["PREFECT_API_URL"] == "http://127.0.0.1:1/api"
    assert variables["NMT_PROJECT"] == str(tmp_path)


@pytest.mark.parametrize(("kind", "refused"), [("process", False), ("kubernetes", True)])
def test_pool_must_run_processes(monkeypatch, kind, refused):
    monkeypatch.setattr(worker, "get_client", lambda **_: nullcontext("client"))
    monkeypatch.setattr(worker, "ensure_pool", lambda *pool: {("client", "gpu"): kind}[pool])
    with pytest.raises(NmtError, match=kind) if refused else nullcontext():
        worker.check_pool("gpu")
