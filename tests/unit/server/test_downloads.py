"""Translated files are kept for a while, and never too many."""

import pytest

from nmt_core.server import downloads
from nmt_core.server.downloads import KEPT_SECONDS, Downloads
from nmt_core.server.errors import RequestError


def is_kept(kept, key):
    try:
        kept.fetch(key)
    except RequestError:
        return False
    return True


def test_a_file_is_fetched_as_often_as_wanted():
    kept = Downloads()
    key = kept.keep("a.txt", "text/plain", b"text")

    assert ("a.txt", b"text") == (kept.fetch(key).name, kept.fetch(key).content)
    with pytest.raises(RequestError) as refused:
        kept.fetch(f"{key}x")
    assert refused.value.status == 404


def test_keys_cannot_be_guessed():
    kept = Downloads()
    keys = {kept.keep("a", "b", b"") for _ in range(1000)}

    assert len(keys) == 1000
    assert min(map(len, keys)) >= 20


def test_files_are_forgotten(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(downloads.time, "monotonic", lambda: now[0])
    kept = Downloads()
    key = kept.keep("a.txt", "text/plain", b"text")
    now[0] = KEPT_SECONDS - 1
    assert is_kept(kept, key)
    now[0] = KEPT_SECONDS + 1

    assert not is_kept(kept, key)
    assert not kept._kept


@pytest.mark.parametrize(
    ("sizes", "kept"), [([3, 3, 4], [1, 1, 1]), ([3, 3, 5], [0, 1, 1]), ([3, 3, 8], [0, 0, 1])]
)
def test_the_oldest_go_where_there_are_too_many(monkeypatch, sizes, kept):
    monkeypatch.setattr(downloads, "MOST_BYTES", 10)
    files = Downloads()
    keys = [files.keep("a", "b", bytes(size)) for size in sizes]

    assert kept == [is_kept(files, key) for key in keys]
