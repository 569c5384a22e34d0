"""Keys open, and rates bound."""

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.server import limits
from nmt_core.server.errors import RequestError
from nmt_core.server.limits import RateLimit, User, read_keys


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


def test_keys_are_found_with_their_rates(tmp_path):
    path = tmp_path / "keys"
    path.write_text("\ufeffeightkey\n# of friends\nsecret-key-2 120 # a 9\n\n key#3-long\t1 \n")
    keys = read_keys(path)
    users = [keys.find(key, 7) for key in ("eightkey", "secret-key-2", "key#3-long")]

    assert [7, 120, 1] == [user.rate for user in users]
    assert [f"key {user.key}" for user in users] == [user.name for user in users]
    assert len({user.key for user in users}) == 3
    assert "eightkey" not in users[0].name
    assert "secret" not in repr(keys)
    for wrong in ("eightkeY", "", "eightkey ", "\ud800"):
        with pytest.raises(RequestError, match="Invalid API key") as refused:
            keys.find(wrong, 7)
        assert refused.value.status == 403


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no API key"),
        ("short\n", "line 1: a line is an API key of at least 8 characters"),
        ("# good\nsecret-key-1 many\n", "line 2"),
        ("secret-key-1 1 2\n", "line 1"),
        ("secret-key-1 0\n", "line 1"),
        ("secret-key-1 \xb2\n".encode(), "line 1"),
        ("secret-key-\xe9\n", r"cannot be read (it is not UTF-8)"),
    ],
)
def test_a_wrong_file_of_keys_is_told_without_the_keys(tmp_path, text, reason):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    (path := tmp_path / "keys").write_bytes(data)
    with pytest.raises(ConfigError) as told:
        read_keys(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_keys(tmp_path / "nowhere")

    assert reason in str(told.value)
    assert "secret-key" not in str(told.value)
