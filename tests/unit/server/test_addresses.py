"""Hosts, origins and clients that a request names."""

import pytest
from starlette.datastructures import Headers

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.server.errors import RequestError
from nmt_core.server.middleware import check_host, check_origin
from nmt_core.server.settings import ServerConfig
from nmt_core.server.users import name_client
from tests.support.stand_in import Connection, in_a_loop, serve_stand_in


def find_status(check, *arguments):
    """Return the status by which a check refuses a request; 200 if the check passes."""
    try:
        check(*arguments)
    except RequestError as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("host", "hosts", "status"),
    [
        ("localhost", (), 200),
        ("LOCALHOST:5001", (), 200),
        ("127.0.0.1:5001", (), 200),
        ("[::1]:5001", (), 200),
        ("10.1.2.3", (), 200),
        ("own.lan", (), 200),
        ("example.org", (), 403),
        ("example.org", ("example.org",), 200),
        ("Example.org:80", ("example.org",), 200),
        ("example.org", ("Example.ORG",), 200),
        ("sub.example.org", ("example.org",), 403),
        ("example.org", ("*",), 200),
        ("1.2.3", (), 403),
        (None, (), 200),
        ("", (), 403),
        ("", ("*",), 200),
        ("localhost.example.org", (), 403),
        ("x" * 300, (), 403),
        ("[", (), 400),
    ],
)
def test_host_is_an_address_or_a_servers_name(host, hosts, status):
    config = ServerConfig(host="Own.lan", hosts=hosts)
    headers = Headers({} if host is None else {"host": host})

    assert find_status(check_host, headers, config) == status


@pytest.mark.parametrize(
    ("method", "origin", "origins", "status"),
    [
        ("POST", None, (), 200),
        ("POST", "http://own.lan:5001", (), 200),
        ("POST", "https://own.lan:5001", (), 200),
        ("POST", "http://own.lan", (), 403),
        ("POST", "https://x.org", (), 403),
        ("POST", "https://x.org", ("https://x.org",), 200),
        ("POST", "https://x.org:8443", ("https://X.org:8443/",), 200),
        ("POST", "null", (), 403),
        ("POST", "null", ("null",), 200),
        ("POST", "https://x.org", ("https://y.org",), 403),
        ("POST", "https://x.org", ("*",), 200),
        ("POST", "http://[", (), 400),
        ("PUT", "https://x.org", (), 403),
        ("GET", "https://x.org", (), 200),
        ("HEAD", "https://x.org", (), 200),
        ("OPTIONS", "https://x.org", (), 200),
    ],
)
def test_pages_of_other_sites_are_refused_writing(method, origin, origins, status):
    headers = Headers({"host": "own.lan:5001"} | ({"origin": origin} if origin else {}))

    assert find_status(check_origin, method, headers, ServerConfig(origins=origins)) == status


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2::3", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::3", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_client_is_ipv4_address_or_network(address, name):
    assert name_client(address) == name


@in_a_loop
async def test_ipv6_network_shares_one_rate():
    app, statuses = serve_stand_in(rate_limit=3), []
    async with app.router.lifespan_context(app):
        for number in range(5):
            connection = Connection(app)
            connection.scope["client"] = (f"2001:db8::{number}", 1)
            connection.put(b'{"q": "hallo", "source": "de", "target": "en"}')
            await connection.run()
            statuses.append(connection.status)

    assert statuses == [200, 200, 200, 429, 429]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hosts", "https://x.org"),
        ("hosts", "x.org:80"),
        ("hosts", ""),
        ("origins", "x.org"),
        ("origins", "https://x.org/page"),
        ("origins", "https://"),
        ("origins", "https://x.org?page"),
        ("origins", ""),
    ],
)
def test_impossible_host_or_origin_stops_the_start(name, value):
    with pytest.raises(ConfigError, match=rf"serve\.{name}\.0: "):
        build(ServerConfig, {name: [value]}, at="serve")


def test_defaults_restrict_the_server_to_its_machine():
    config = ServerConfig()

    assert (config.host, config.port, config.suggestions) == ("127.0.0.1", 5001, "off")
    assert (config.hosts, config.origins, config.trusted_proxies) == ((), (), ())
    assert (config.rate_limit, config.corrections, config.memory) == (None,) * 3
