"""A line of the log is one JSON object, or a line for people, and contains no text of users."""

import io
import json
import logging
import re

import pytest

from nmt_core.server.errors import LogFormatter, RequestError, describe_failure, set_up_logs


@pytest.fixture
def root():
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = kept
    root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_record_is_one_object_per_line(root):
    stream = io.StringIO()
    set_up_logs(stream)
    more = {"status": 200, "where": {"deep": 1}}
    logging.getLogger("nmt_core.server.a").info("served\nwell", extra=more)
    logging.getLogger("nmt_core.translation").warning("a line is long: %.60s", "my secret text")

    first, second = map(json.loads, stream.getvalue().splitlines())
    expected = {"message": "served\nwell", "level": "info", "logger": "nmt_core.server.a"}
    assert first.items() >= (expected | more).items()
    assert second["message"] == "a line is long: %.60s"


def test_people_on_a_terminal_read_a_line(root):
    set_up_logs(stream := Terminal())
    log = logging.getLogger("nmt_core.server.a")
    log.info("request", extra={"id": "f00", "route": "/translate", "status": 200})
    log.warning("the old model serves on: %s", "it is square")
    logging.getLogger("elsewhere").error("cannot read %s", "a user's text")

    first, second, third = stream.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d request /translate 200", first)
    assert second.endswith(" warning: the old model serves on: it is square")
    assert third.endswith(" error: cannot read %s")


def fail():
    raise ValueError("my secret text")


def test_failure_is_logged_by_place_and_kind():
    with pytest.raises(ValueError) as caught:
        fail()
    failure, exc_info = describe_failure(caught.value), (ValueError, caught.value, caught.tb)
    record = logging.LogRecord("a", logging.ERROR, "file", 1, "failed", (), exc_info)

    assert "test_errors.py" in failure
    assert failure.endswith("fail > ValueError")
    assert "secret" not in failure
    assert json.loads(LogFormatter().format(record))["failure"] == failure


def test_refusal_is_json_that_escapes_half_characters():
    answer = RequestError(418, "ä \ud800", {"X-More": "1"}).render()

    assert (answer.status_code, json.loads(answer.body)) == (418, {"error": "ä \ud800"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-more"] == "1"
