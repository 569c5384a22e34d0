"""Addresses: valid in settings, safe to print, and public or private."""

import socket

import pytest

from nmt_core.base.config import Config, build
from nmt_core.base.errors import ConfigError
from nmt_core.corpora.fetch.address import Address, is_private, redact, redact_url


class Settings(Config):
    url: Address


@pytest.mark.parametrize(
    "url",
    [
        "https://h/{pair}.tgz",
        "http://[::1]:80/a?version=2",
        "https://h/a@b.tgz?mail=a@b",
        "https://h/a?id=1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms&t=de-en_EuroParl#page",
    ],
)
def test_an_address_without_secrets_is_taken(url):
    assert build(Settings, {"url": url}, at="a").url == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://anna:canary@h/a", "a user name or password, since settings are committed"),
        ("https://canary@h/a", "a user name or password"),
        ("https://anna:can@canary@h/a", "a user name or password"),
        ("https://h/a?x=1&Api_Key=canary", "a secret"),
        ("https://h/a?X-Amz-Signature=canary", "a secret"),
        ("https://h/a?password=canary", "a secret"),
        ("https://h/a;token=canary", "a secret"),
        ("https://h/a#to%6Ben=canary", "a secret"),
        ("https://h/a?t=ghp_16C7e42F292c6912E7710canary", "a secret"),
        ("anna:canary@h/a", "must begin with http:// or https://"),
        ("http://anna:canary", "must begin with http:// or https://"),
        ("http://anna:can/ary@h/a", "must begin with http:// or https://"),
        ("ftp://anna:canary@h/a", "got 'ftp://h/a'"),
        ("http://[anna:canary@h/a", "got 'an address that cannot be read'"),
    ],
)
def test_a_secret_is_refused_and_not_repeated(url, reason):
    with pytest.raises(ConfigError) as told:
        build(Settings, {"url": url}, at="download")

    assert reason in str(told.value)
    assert not {"canary", "can@", "ary@"} & {*str(told.value).replace("/", " ").split()}
    assert "canary" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://anna:canary@h:8080/a?token=canary#canary", "http://h:8080/a?..."),
        ("http://h/a;token=canary", "http://h/a?..."),
        ("postgresql://anna:c%40nary@[::1]:5/nmt", "postgresql://[::1]:5/nmt"),
        ("sqlite:////tmp/nmt.db", "sqlite:////tmp/nmt.db"),
        ("runs/mlflow", "runs/mlflow"),
        ("anna:canary@h", "an address that cannot be read"),
        ("http://a:b@c:d", "an address that cannot be read"),
    ],
)
def test_an_address_is_shown_without_secrets(url, expected):
    assert redact_url(url) == expected


def test_secrets_are_removed_from_any_text():
    text = "'http://anna:canary@h/a?t=canary' failed (postgresql://b:c@d@i/x, a@b?, c:/d@e)"
    text += "; http://h/b#token=canary or http://h/c; read on"
    expected = "'http://h/a?...' failed (postgresql://i/x, a@b?, c:/d@e)"
    expected += "; http://h/b?... or http://h/c; read on"

    assert redact(text) == expected


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "2130706433", "0x7f000001", "127.1", "017700000001", "0", "localhost",
     "localhost.", "a.localhost", "10.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
     "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::1"],
)  # fmt: skip
def test_private_address_is_recognised_in_any_spelling(host):
    assert is_private(host)


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "2852039166", "fe80::1", "::ffff:169.254.0.1", "64:ff9b::a9fe:a9fe",
     "2002:a9fe:a9fe::1", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
     "64:ff9b:1::a9fe:a9fe"],
)  # fmt: skip
def test_metadata_services_of_clouds_are_private(host):
    assert is_private(host)


@pytest.mark.parametrize(
    "host",
    ["8.8.8.8", "134744072", "2606:4700:4700::1111", "64:ff9b::808:808", "2002:808:808::1",
     "a..b", "x" * 300, "no name.invalid"],
)  # fmt: skip
def test_public_and_unknown_hosts_are_not_private(host):
    assert not is_private(host)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [(["8.8.8.8"], False), (["8.8.8.8", "192.168.0.1"], True), (["fe80::1%lo"], True)],
)
def test_name_is_private_if_any_address_is(monkeypatch, numbers, expected):
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 0)) for number in numbers]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    assert is_private("mirror.example") == expected
