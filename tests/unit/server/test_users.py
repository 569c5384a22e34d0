"""API keys admit users, and rates limit them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError
from nmt_core.server import users
from nmt_core.server.errors import RequestError, slow_down
from nmt_core.server.users import RateLimit, User, find_user, read_keys


def spend(rates, user, texts=1):
    """Return how many seconds to wait, 0 if the texts are accepted."""
    try:
        rates.spend(user, texts)
    except RequestError as refused:
        return int(refused.headers["Retry-After"])
    return 0


@given(st.integers(1, 30), st.lists(st.integers(0, 90), max_size=30))
def test_a_minute_admits_the_rate_after_one_request(rate, pauses):
    rates, user, now, due = RateLimit(), User("me", rate), 0.0, 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(users.time, "monotonic", lambda: now)
        for pause in pauses:
            now += pause
            begin = max(due, now)
            late = begin + 60 / rate - now
            wait = spend(rates, user)
            assert (wait == 0) is (begin <= now or late <= 60 + 30 / rate)
            if wait == 0:
                due = begin + 60 / rate
            else:
                assert late - 60 <= wait <= late - 60 + 1.5


def test_each_user_has_a_rate(monkeypatch):
    monkeypatch.setattr(users.time, "monotonic", lambda: 1000.0)
    rates = RateLimit()

    assert [spend(rates, User("one", 3)) for _ in range(5)] == [0, 0, 0, 20, 20]
    assert spend(rates, User("two", 3)) == 0
    assert spend(rates, User("free", None), 10**9) == 0


def test_first_request_can_exceed_a_minute(monkeypatch):
    monkeypatch.setattr(users.time, "monotonic", lambda: 1000.0)
    rates, user = RateLimit(), User("me", 10)

    assert spend(rates, user, 100) == 0
    assert spend(rates, user) == 546


def test_oldest_user_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(users, "MAX_USERS", 2)
    rates = RateLimit()
    for name in "abac":
        rates.spend(User(name, 5), 1)

    assert [*rates._due] == ["a", "c"]


@given(st.floats(0, 1e6))
def test_wait_is_in_whole_seconds(seconds):
    error = slow_down("why", seconds)
    wait = int(error.headers["Retry-After"])

    assert max(1, seconds) <= wait <= seconds + 1.5
    assert error.status == 429
    assert error.message == f"Slowdown: why; try again in {wait} seconds"


def test_keys_are_found_with_their_rates(tmp_path):
    path = tmp_path / "keys"
    path.write_text("\ufeffeightkey\n# of friends\nsecret-key-2 120 # a 9\n\n key#3-long\t1 \n")
    keys = read_keys(path)
    found = [find_user(keys, key, 7) for key in ("eightkey", "secret-key-2", "key#3-long")]

    assert [7, 120, 1] == [user.rate for user in found]
    assert [f"key {user.key}" for user in found] == [user.name for user in found]
    assert [16] * 3 == [len(user.key) for user in found]
    assert len({user.key for user in found}) == 3
    assert "eightkey" not in found[0].name
    assert "secret" not in repr(keys)
    for wrong in ("eightkeY", "", "eightkey ", "\ud800"):
        with pytest.raises(RequestError, match="Invalid API key") as refused:
            find_user(keys, wrong, 7)
        assert refused.value.status == 403


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "has no API key"),
        (b"short\n", "line 1 is invalid; write an API key of at least 8 characters"),
        (b"# good\nsecret-key-1 many\n", "line 2"),
        (b"secret-key-1 1 2\n", "line 1"),
        (b"secret-key-1 0\n", "line 1"),
        ("secret-key-1 \xb2\n".encode(), "line 1"),
        (b"secret-key-\xe9\n", "not UTF-8"),
    ],
)
def test_wrong_file_is_named_without_its_keys(tmp_path, text, reason):
    (path := tmp_path / "keys").write_bytes(text)
    with pytest.raises(ConfigError, match=reason) as error:
        read_keys(path)

    assert "secret-key" not in str(error.value)


def test_missing_file_of_keys_is_named(tmp_path):
    with pytest.raises(ConfigError, match="keys cannot be read"):
        read_keys(tmp_path / "keys")
