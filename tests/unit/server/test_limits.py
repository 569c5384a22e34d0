"""Keys open, and rates bound."""

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.server import limits
from nmt_core.server.errors import RequestError
from nmt_core.server.limits import MOST_USERS, RateLimit, User, read_keys


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

    monkeypatch.setattr(limits.time, "monotonic", lambda: Clock.now)
    return Clock


def spend(rates, user, texts=1):
    """Return how many seconds to wait, 0 where the texts are taken."""
    try:
        rates.spend(user, texts)
    except RequestError as refused:
        return int(refused.headers["Retry-After"])
    return 0


def test_as_many_texts_are_taken_as_a_minute_may_hold(clock):
    rates, user = RateLimit(), User("me", 10)

    assert [0] * 10 == [spend(rates, user) for _ in range(10)]
    assert spend(rates, user) > 0


def test_who_waits_as_told_is_served(clock):
    rates, user = RateLimit(), User("me", 10)
    for _ in range(200):
        clock.now += spend(rates, user)
    began = clock.now
    for _ in range(20):
        while seconds := spend(rates, user):
            clock.now += seconds

    assert 90 <= clock.now - began <= 180


def test_users_have_rates_of_their_own(clock):
    rates = RateLimit()
    while not spend(rates, User("one", 3)):
        pass

    assert spend(rates, User("two", 3)) == 0
    assert spend(rates, User("free", None), 10**9) == 0


def test_a_request_of_more_texts_than_a_minute_holds_is_taken_once(clock):
    rates, user = RateLimit(), User("me", 10)

    assert spend(rates, user, 100) == 0
    assert spend(rates, user) > 500


def test_users_are_forgotten_when_they_are_many(clock):
    rates = RateLimit()
    for number in range(MOST_USERS + 100):
        rates.spend(User(str(number), 1), 1)

    assert len(rates._due) == MOST_USERS


def test_keys_are_found_with_their_rates(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# of friends\nsecret-key-1\nsecret-key-2 120 # a great friend\n\n")
    keys = read_keys(path)

    assert keys.find("secret-key-1", 7).rate == 7
    assert keys.find("secret-key-2", 7).rate == 120
    assert "secret" not in keys.find("secret-key-1", 7).name
    assert "secret" not in repr(keys)
    for wrong in ("secret-key-3", "", "secret-key-1 ", "\ud800"):
        with pytest.raises(RequestError) as refused:
            keys.find(wrong, 7)
        assert refused.value.status == 403


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no API key"),
        ("short\n", "line 1: a line is an API key of at least 8 characters"),
        ("# good\nsecret-key-1 many\n", "line 2"),
        ("secret-key-1 1 2\n", "line 1"),
        ("secret-key-\xe9\n", r"cannot be read (it is not UTF-8)"),
    ],
)
def test_a_wrong_file_of_keys_is_told_without_the_keys(tmp_path, text, reason):
    (path := tmp_path / "keys").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError) as told:
        read_keys(path)

    assert reason in str(told.value)
    assert "secret-key" not in str(told.value)


def test_a_file_of_keys_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("bytes", "nowhere"):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_keys(tmp_path / name)
