"""Whoever stops a flow is told what it has cost, below what Prefect calls a crash."""

import pytest

from flows import compare, entry, learn, retrain, synthesize, train
from tests.support.commands import invoke

FLOWS = {
    "compare": compare,
    "learn": learn,
    "retrain": retrain,
    "synthesize_and_train": synthesize,
    "train": train,
}


@pytest.fixture
def prepared(monkeypatch):
    """Programs whose flows alone are left to run, each ending in an error."""

    def prepare(name, error):
        def stopped(*_, **__):
            raise error

        monkeypatch.setattr(FLOWS[name], "check_server", lambda: "http://server")
        monkeypatch.setattr(entry, "move_to_child", lambda: None)
        for each in (
            *("plan_stages", "schedule_experiments", "check_inputs", "load", "check_nodes"),
            "has_text",
        ):
            if hasattr(FLOWS[name], each):
                monkeypatch.setattr(
                    FLOWS[name], each, lambda *_, **__: type("Any", (), {"languages": 0})
                )
        monkeypatch.setattr(FLOWS[name], name, stopped)
        return FLOWS[name].main

    return prepare


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_who_stops_a_flow_is_told_that_it_goes_on(prepared, name, error, code):
    ran = invoke(prepared(name, error))

    assert ran.exit_code == code
    assert "stopped; what has ended or was saved is kept, and the same command" in ran.stderr


def test_what_fails_was_not_stopped(prepared):
    ran = invoke(prepared("train", ValueError("ours")))

    assert isinstance(ran.exception, ValueError)
    assert "stopped" not in ran.stderr
