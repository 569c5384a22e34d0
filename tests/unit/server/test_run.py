"""The socket that the server listens on."""

import socket

import pytest

from infra.servers.server import find_free_port
from nmt_core.errors import ConfigError
from nmt_core.server.run import listen
from nmt_core.server.settings import ServerConfig


def test_no_answer_waits_for_its_client_to_acknowledge_the_first_half():
    """Nagle's algorithm and delayed acknowledgements cost 40 ms a request."""
    config = ServerConfig(port=find_free_port("127.0.0.1"))
    with listen(config) as listening, socket.create_connection(("127.0.0.1", config.port)):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_port_is_told_in_a_sentence():
    config = ServerConfig(port=find_free_port("127.0.0.1"))
    with listen(config), pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1:"):
        listen(config)
