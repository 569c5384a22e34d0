"""Asking for a run: which deployment, with which settings, under which name."""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from flows import run
from tests.support.commands import invoke

OFFERED = {"train": uuid4(), "retrain": uuid4()}


@pytest.fixture
def asked(monkeypatch):
    told = []

    def run_deployment(number, **settings):
        told.append((number, settings))
        return SimpleNamespace(name=settings["flow_run_name"], id="number")

    monkeypatch.setattr(run, "require_server", lambda: None)
    monkeypatch.setattr(run, "fetch_deployments", lambda: OFFERED)
    monkeypatch.setattr(run, "run_deployment", run_deployment)
    return told


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["train"], "train"),
        (["retrain", "data=demo", "train.seed=2"], "retrain data=demo train.seed=2"),
    ],
)
def test_a_run_is_called_after_what_was_asked_for(asked, arguments, name):
    """In the log of the worker that takes it, too, where Prefect would say furry-skylark."""
    shown = invoke(run.main, *arguments).output

    [(number, settings)] = asked
    assert number == OFFERED[arguments[0]]
    assert settings["flow_run_name"] == name
    assert settings["parameters"] == ({"settings": arguments[1:]} if arguments[1:] else {})
    assert settings["timeout"] == 0
    assert shown.startswith(f"{name} waits for a worker: ")


def test_what_is_not_offered_is_told_with_what_is(asked):
    refused = invoke(run.main, "trian")

    assert refused.exit_code == 1
    assert "there is no deployment 'trian', but retrain, train" in refused.stderr
    assert (asked, refused.stdout) == ([], "")
