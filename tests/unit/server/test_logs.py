"""A line of log is one JSON object, and holds no text of users."""

import io
import json
import logging
import re

import pytest

from nmt_core.server.logs import LogFormatter, describe_failure, set_up_logs


@pytest.fixture
def root():
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = kept
    root.setLevel(level)


def test_a_record_is_one_object_a_line(root):
    stream = io.StringIO()
    set_up_logs(stream)
    more = {"status": 200, "where": {"deep": 1}}
    logging.getLogger("nmt_core.server.a").info("served\nwell", extra=more)

    [line] = stream.getvalue().splitlines()
    said = {"message": "served\nwell", "level": "info", "logger": "nmt_core.server.a"}
    assert json.loads(line).items() >= (said | more).items()


def test_people_on_a_terminal_read_a_line(root):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    set_up_logs(stream := Terminal())
    log = logging.getLogger("nmt_core.server.a")
    log.info("request", extra={"id": "f00", "route": "/translate", "status": 200})
    log.warning("the old model serves on: %s", "it is square")
    logging.getLogger("elsewhere").error("cannot read %s", "a user's text")

    first, second, third = stream.getvalue().splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d request /translate 200", first)
    assert second.endswith(" warning: the old model serves on: it is square")
    assert third.endswith(" error: cannot read %s")


def test_what_other_rooms_fill_into_a_message_is_not_told(root):
    """They may warn of a line, and show it."""
    stream = io.StringIO()
    set_up_logs(stream)
    logging.getLogger("nmt_core.translation").warning("a line is long: %.60s", "my secret text")

    assert json.loads(stream.getvalue())["message"] == "a line is long: %.60s"


def fail():
    raise ValueError("my secret text")


def test_a_failure_is_told_by_place_and_kind_alone():
    with pytest.raises(ValueError) as caught:
        fail()
    told = describe_failure(caught.value)

    assert "test_logs.py" in told
    assert told.endswith("fail > ValueError")
    assert "secret" not in told


def test_exceptions_of_libraries_lose_their_message():
    try:
        fail()
    except ValueError:
        record = logging.getLogger("a").makeRecord(
            "a", logging.ERROR, "file", 1, "failed", (), __import__("sys").exc_info()
        )
    assert "secret" not in LogFormatter().format(record)
