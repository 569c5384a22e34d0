"""Settings of the server have defaults that keep it to this machine, and sums that fit."""

import json

from nmt_core.server.settings import ServerConfig


def test_defaults_keep_the_server_to_its_machine():
    config = ServerConfig()

    assert (config.host, config.port, config.suggestions) == ("127.0.0.1", 5001, "off")
    assert (config.hosts, config.origins, config.trusted_proxies) == ((), (), ())
    assert (config.rate_limit, config.corrections, config.memory) == (None,) * 3


def test_body_may_escape_every_character():
    config = ServerConfig(max_characters=7, max_texts=3)
    body = json.dumps({"q": ["\U0001f600" * 7, "", ""]})

    assert len(body) <= config.max_body_bytes == 12 * 7 + 100 * 3 + 10_000
