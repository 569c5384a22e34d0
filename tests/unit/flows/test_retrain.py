"""What a retraining decides, and in which order, without servers and without training."""

import asyncio
import logging
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from flows import retrain
from nmt_core.base.errors import NmtError
from nmt_core.evaluation.statistics.settings import GateConfig
from stages import paths
from stages.registry.promotion import Contest
from stages.registry.versions import (
    ChampionMovedError,
    RegistryAwayError,
)

CHALLENGER = SimpleNamespace(name="nmt-de-en", digest="d")
GATE = GateConfig(significance=0.03)


def contest(outcome="promote", champion=1):
    return Contest(outcome=outcome, reason="so", challenger="d", champion=champion)


@pytest.fixture
def said(monkeypatch):
    """What is told of a contest, in order; the registry's champion is version 1."""
    told = []
    champions = iter(range(1, 10))

    def run_contest(registry, challenger, params, *, test_set, gate, promotion):
        assert (challenger, test_set, gate) == (CHALLENGER, "current", GATE)
        assert promotion == "section promotion"
        told.append("judged")
        return contest(champion=next(champions))

    for name, value in {
        "load": lambda _, section: f"section {section}",
        "read_exported": lambda _: CHALLENGER,
        "Registry": lambda name, lock: SimpleNamespace(name=name, lock=lock),
        "run_contest": run_contest,
        "record_verdict": lambda found, _: told.append(f"recorded against {found.champion}"),
        "get_run_logger": lambda: logging.getLogger("test"),
    }.items():
        monkeypatch.setattr(retrain, name, value)
    return told


def decide():
    return retrain.decide.fn("current", GATE, promotion="run", by="flow run x")


def test_a_verdict_is_recorded_before_anything_is_moved(said, monkeypatch):
    def enact(registry, found, challenger, *, promotion, by):
        assert registry.lock is retrain.hold_shared_lock
        assert (promotion, by) == ("run", "flow run x")
        said.append(f"enacted against {found.champion}")

    monkeypatch.setattr(retrain, "enact", enact)

    assert decide().champion == 1
    assert said == ["judged", "recorded against 1", "enacted against 1"]


def test_a_champion_that_moves_meanwhile_is_met_anew(said, monkeypatch):
    """By two who retrain at once: the second is judged against what the first has promoted."""

    def enact(registry, found, *_, **__):
        if found.champion < 3:
            raise ChampionMovedError("the champion is another by now")

    monkeypatch.setattr(retrain, "enact", enact)

    assert decide().champion == 3
    assert said == [line for n in (1, 2, 3) for line in ("judged", f"recorded against {n}")]


@pytest.mark.parametrize(
    ("error", "again"),
    [(RegistryAwayError("a"), True), (ChampionMovedError("m"), False), (NmtError("n"), False)],
)
def test_only_a_registry_that_was_away_is_tried_again(error, again):
    async def aresult(*, raise_on_failure):
        assert not raise_on_failure
        return error

    state = SimpleNamespace(aresult=aresult)

    assert asyncio.run(retrain.registry_was_away(None, None, state)) is again
    assert retrain.decide.retry_condition_fn is retrain.registry_was_away
    assert retrain.decide.retries == len(retrain.RETRY_SECONDS)


@pytest.fixture
def flow(monkeypatch):
    """The flow with all that it does noted in the place of being done."""
    done = []

    @contextmanager
    def hold_up_to_date(until, *, before_training, **settings):
        done.append(("up to date", until, settings))
        before_training()
        yield
        done.append("let go")

    def decide(test_set, gate, *, promotion, by):
        done.append(("decide", test_set, gate, promotion, by))
        return contest("hold")

    run = SimpleNamespace(get_name=lambda: "retrain de-en", get_id=lambda: "number")
    for name, value in {
        "hold_up_to_date": hold_up_to_date,
        "decide": decide,
        "check_text": lambda test_set: done.append(("look", test_set)),
        "publish": lambda: done.append("published"),
        "flow_run": run,
        "get_run_logger": lambda: logging.getLogger("test"),
        "create_markdown_artifact": lambda text, *, key, description: done.append((key, text)),
    }.items():
        monkeypatch.setattr(retrain, name, value)
    return done


def test_a_retraining_looks_for_new_text_and_decides_while_it_holds_the_clone(flow):
    nodes = 2
    assert retrain.retrain.fn(["train.seed=2"], "v1", across_pools=True, nodes=nodes)

    told = {"settings": ["train.seed=2"], "revision": "v1", "renew": True, "across_pools": True}
    told |= {"nodes": nodes}
    assert flow[:5] == [
        ("up to date", "export", told),
        ("look", "same"),
        "published",
        ("decide", "same", GateConfig(), "number", "flow run retrain de-en"),
        "let go",
    ]
    key, text = flow[5]
    assert (key, text.splitlines()[0]) == ("verdict", "**hold**: so.")


def test_without_a_server_the_lock_of_this_folder_is_all_that_is_held(project, monkeypatch):
    monkeypatch.setattr(retrain, "PREFECT_API_URL", SimpleNamespace(value=lambda: None))
    monkeypatch.setattr(retrain, "get_client", lambda **_: pytest.fail("no server is asked"))

    with retrain.hold_shared_lock():
        assert paths.REGISTRY_LOCK.exists()


def test_with_a_server_one_promotion_happens_at_a_time_on_all_machines(project, monkeypatch):
    held = []

    @contextmanager
    def concurrency(name, **settings):
        held.append((name, settings))
        yield

    @contextmanager
    def get_client(*, sync_client):
        yield "client"

    for name, value in {
        "PREFECT_API_URL": SimpleNamespace(value=lambda: "http://127.0.0.1:1/api"),
        "get_client": get_client,
        "ensure_limit": lambda client, name, limit: held.append((client, name, limit)),
        "concurrency": concurrency,
    }.items():
        monkeypatch.setattr(retrain, name, value)

    with retrain.hold_shared_lock():
        limit, (name, settings) = held
    assert limit == ("client", retrain.PROMOTION, 1)
    assert name == retrain.PROMOTION
    assert settings == {
        "occupy": 1,
        "timeout_seconds": retrain.LOCK_PATIENCE_SECONDS,
        "lease_duration": retrain.LEASE_SECONDS,
        "strict": True,
    }
