"""Settings of the server have defaults that keep it to this machine."""

from nmt_core.server.settings import ServerConfig


def test_defaults_keep_the_server_to_its_machine():
    config = ServerConfig()

    assert (config.host, config.port, config.suggestions) == ("127.0.0.1", 5001, "off")
    assert (config.hosts, config.origins, config.trusted_proxies) == ((), (), ())
    assert (config.rate_limit, config.corrections, config.memory) == (None,) * 3
