"""Settings of the server have limits, and defaults that keep it to this machine."""

import json

import pytest
from pydantic import ValidationError

from nmt_core.server.settings import ServerConfig

LIMITS = {
    "port": (0, 65535),
    "max_characters": (1, 10_000_000),
    "max_texts": (1, 100_000),
    "max_alternatives": (0, 32),
    "max_file_bytes": (1, 1_000_000_000),
    "max_connections": (1, 100_000),
    "rate_limit": (1, None),
    "suggestion_characters": (1, 100_000),
    "suggestion_rate": (1, None),
    "queue_tokens": (1, None),
    "max_tokens": (1, None),
    "max_held_bytes": (1_000_000, None),
    "document_bytes": (2**27, None),
    "document_seconds": (1, None),
    "document_processes": (1, 64),
    "batch_tokens": (1, 1_000_000),
    "portion_tokens": (1, 1_000_000),
    "workers": (1, 256),
    "memory_threshold": (0.01, 1),
    "review_below": (0, 1),
    "wait_seconds": (0, 1),
    "work_seconds": (0.01, None),
    "read_seconds": (0.01, None),
    "stop_seconds": (0.01, None),
    "watch_seconds": (0.01, None),
}
"""The least and the greatest value of each number."""


def fits(name, value):
    try:
        return getattr(ServerConfig(**{name: value}), name) == value
    except ValidationError:
        return False


@pytest.mark.parametrize("name", LIMITS)
def test_number_has_its_limits(name):
    least, most = LIMITS[name]

    assert [fits(name, value) for value in (least, least - 0.01, least - 1)] == [True, False, False]
    assert fits(name, 10**12 if most is None else most)
    assert most is None or not fits(name, most + 1)


def test_every_number_is_listed():
    numbers = {
        name
        for name, field in ServerConfig.model_fields.items()
        if field.annotation in (int, float, int | None)
    }
    assert numbers == {*LIMITS}


def test_defaults_keep_the_server_to_its_machine():
    config = ServerConfig()

    assert (config.host, config.port, config.suggestions) == ("127.0.0.1", 5001, "off")
    assert (config.hosts, config.origins, config.trusted_proxies) == ((), (), ())
    assert (config.rate_limit, config.corrections, config.memory) == (None,) * 3


@pytest.mark.parametrize(("file", "held"), [(1, 10**6), (250_000, 10**6), (250_001, 1_000_004)])
def test_two_files_from_two_addresses_are_held(file, held):
    config = ServerConfig(max_file_bytes=file, max_held_bytes=10**6)

    assert config.most_held_bytes == held


def test_body_may_escape_every_character():
    config = ServerConfig(max_characters=7, max_texts=3)
    body = json.dumps({"q": ["\U0001f600" * 7, "", ""]})

    assert len(body) <= config.max_body_bytes == 12 * 7 + 100 * 3 + 10_000
