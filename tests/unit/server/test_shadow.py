"""A challenger in the shadow keeps no text, and is counted beside the model that is served."""

import logging
import threading
import time
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

from nmt_core.server.scheduler import SearchRequest
from nmt_core.server.shadow import Shadow
from nmt_core.translation.translation import Translation
from tests.support.stand_in import model_of


class Challenger:
    """Writes lines backwards, and counts what it is asked."""

    config = SimpleNamespace(beam=SimpleNamespace(beam_size=1))

    def __init__(self):
        self.asked, self.waits, self.fails = [], threading.Event(), False
        self.waits.set()

    def search(self, lines, **how):
        self.waits.wait(10)
        self.asked.append([*lines])
        self.how = how
        if self.fails:
            raise ValueError("secret text of a user")
        breach = SimpleNamespace(kind="number")
        return [[made(line[::-1], breaches=(breach,), confidence=0.25)] for line in lines]


def made(text, **given):
    return Translation(text, 0.0, (), (), (), **given)


@pytest.fixture
def shadow():
    challenger, registry = Challenger(), CollectorRegistry()
    models = SimpleNamespace(served=[model_of(challenger, digest="new")])
    made = Shadow(models, 0.5, registry, draw=lambda: next(draws))
    draws = iter([0.1, 0.9, 0.4] * 100)

    def read(name, model=None):
        labels = {"pair": "de-en"} | ({"model": model} if model else {})
        return registry.get_sample_value(f"nmt_shadow_{name}_total", labels)

    yield SimpleNamespace(it=made, challenger=challenger, read=read)
    challenger.waits.set()
    made.stop()


LINES = ["otto", "abc", "123"]
FOUND = [[made("otto", confidence=1.0)], [made("x")], [made("1234", confidence=0.5)]]


def settle(shadow):
    end = time.monotonic() + 10
    while shadow.it._busy and time.monotonic() < end:
        time.sleep(0.001)
    shadow.it.stop()


def test_a_share_of_the_lines_is_translated_and_counted_beside_the_champion(shadow):
    shadow.it.follow(SearchRequest(model_of(None), n_best=3, links=True), LINES, FOUND)
    settle(shadow)
    assert shadow.challenger.asked == [["otto", "123"]]
    how = shadow.challenger.how
    assert (how["n_best"], how["probabilities"], how["links"]) == (1, False, False)
    assert (shadow.read("lines"), shadow.read("different")) == (2, 1)
    assert (shadow.read("characters", "served"), shadow.read("characters", "shadow")) == (8, 7)
    assert (shadow.read("breaches", "served"), shadow.read("breaches", "shadow")) == (0, 2)
    assert (shadow.read("confidence", "served"), shadow.read("confidence", "shadow")) == (1.5, 0.5)


def test_nobody_waits_while_it_is_at_work(shadow):
    shadow.challenger.waits.clear()
    request = SearchRequest(model_of(None))
    shadow.it.follow(request, LINES, FOUND)
    for _ in range(5):
        shadow.it.follow(request, LINES, FOUND)
    shadow.challenger.waits.set()
    settle(shadow)
    assert len(shadow.challenger.asked) == 1


@pytest.mark.parametrize("model", [model_of(None, digest="new"), model_of(None, ("en", "de"))])
def test_the_served_model_itself_and_other_languages_are_left_alone(shadow, model):
    shadow.it.follow(SearchRequest(model), LINES, FOUND)
    settle(shadow)
    assert shadow.challenger.asked == []


def test_one_that_fails_is_counted_and_tells_no_text(shadow, caplog):
    shadow.challenger.fails = True
    with caplog.at_level(logging.WARNING):
        shadow.it.follow(SearchRequest(model_of(None)), LINES, FOUND)
        settle(shadow)
    assert shadow.read("failures") == 1
    assert "the challenger in the shadow failed" in caplog.text
    assert "secret" not in caplog.text
    assert shadow.read("lines") is None
