"""Translated files are kept for a while, and never too many."""

import pytest

from nmt_core.server import downloads
from nmt_core.server.downloads import KEPT_SECONDS, Downloads
from nmt_core.server.errors import RequestError


def test_keys_cannot_be_guessed():
    kept = Downloads()
    keys = {kept.keep("a", "b", b"") for _ in range(1000)}

    assert len(keys) == 1000
    assert min(map(len, keys)) >= 20


def test_a_file_is_fetched_as_often_as_wanted_for_its_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(downloads.time, "monotonic", lambda: now[0])
    kept = Downloads()
    key = kept.keep("a.txt", "text/plain", b"text")
    for now[0] in (0.0, KEPT_SECONDS):
        found = kept.fetch(key)
        assert (found.name, found.mime_type, found.content) == ("a.txt", "text/plain", b"text")
    now[0] += 0.1
    with pytest.raises(RequestError, match="is not here; translations are kept for 10 min") as gone:
        kept.fetch(key)

    assert gone.value.status == 404
    assert not kept._kept


@pytest.mark.parametrize(("sizes", "left"), [([3, 3, 4], 3), ([3, 3, 5], 2), ([3, 3, 8], 1)])
def test_the_oldest_go_where_there_are_too_many(monkeypatch, sizes, left):
    monkeypatch.setattr(downloads, "MOST_BYTES", 10)
    files = Downloads()
    keys = [files.keep("a", "b", bytes(size)) for size in sizes]

    assert keys[-left:] == [*files._kept]
    assert len(files.fetch(keys[-left]).content) == sizes[-left]  # full, but nothing new comes
