"""The program of `make train`, and the flow: what is asked, and when a server is needed."""

from contextlib import contextmanager, nullcontext

import pytest

from flows import dvc_program, train
from tests.support.commands import invoke


def test_what_the_stages_left_is_shown_while_the_clone_is_held(monkeypatch):
    noted = []

    @contextmanager
    def hold_up_to_date(*asked, **how):
        noted.append((*asked, how))
        yield
        noted.append("let go")

    monkeypatch.setattr(train, "hold_up_to_date", hold_up_to_date)
    monkeypatch.setattr(train, "publish", lambda: noted.append("published"))
    nodes = 2
    train.train.fn("shard", ["a=b"], "v1", across_pools=True, nodes=nodes)
    train.train.fn()

    given = {"settings": ["a=b"], "revision": "v1", "across_pools": True, "nodes": nodes}
    none = {"settings": None, "revision": None, "across_pools": False, "nodes": None}
    assert noted == [
        one
        for asked in (("shard", given), ("export", none))
        for one in (asked, "published", "let go")
    ]


@pytest.mark.parametrize("server", [None, "http://127.0.0.1:1/api"])
@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_server_of_its_own_is_only_started_where_something_is_to_be_done(patch, server, done):
    noted = []
    patch(
        train,
        plan_stages=lambda until: ["download", until],
        check_server=lambda: server,
        leave_nothing_behind=lambda: nullcontext(noted.append("leave nothing")),
        train=lambda until, *, nodes: noted.append(f"{until} {nodes}"),
    )
    patch(dvc_program, count_done=lambda stages: done)
    ran = invoke(train.main, "--until", "shard")

    idle = done == 2 and server is None
    assert ran.exit_code == 0
    assert noted == ([] if idle else ["leave nothing", "shard None"])
    assert ran.stdout == ("All stages are up to date.\n" if idle else "")


def test_nodes_are_checked_before_anything_runs(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(train, "plan_stages", lambda _: pytest.fail("it is too late"))

    assert "srun is not installed" in invoke(train.main, "--nodes", "2").stderr
    assert invoke(train.main, "--nodes", "0").exit_code == 2
