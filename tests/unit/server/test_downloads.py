"""Translated files are kept for a while, and never too many."""

import pytest

from nmt_core.server import downloads
from nmt_core.server.downloads import KEPT_SECONDS, Downloads
from nmt_core.server.errors import RequestError


def test_keys_cannot_be_guessed():
    files = Downloads()
    keys = {files.add("a", "b", b"") for _ in range(1000)}

    assert len(keys) == 1000
    assert min(map(len, keys)) >= 20


def test_file_is_fetched_until_it_expires(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(downloads.time, "monotonic", lambda: now[0])
    files = Downloads()
    key = files.add("a.txt", "text/plain", b"text")
    for now[0] in (0.0, KEPT_SECONDS):
        assert files.fetch(key)[:3] == ("a.txt", "text/plain", b"text")
    now[0] += 0.1
    with pytest.raises(RequestError, match="kept for 10 minutes") as error:
        files.fetch(key)

    assert error.value.status == 404
    assert not files._files


@pytest.mark.parametrize(("sizes", "left"), [([3, 3, 4], 3), ([3, 3, 5], 2), ([3, 3, 8], 1)])
def test_oldest_files_go_first(monkeypatch, sizes, left):
    monkeypatch.setattr(downloads, "MAX_BYTES", 10)
    files = Downloads()
    keys = [files.add("a", "b", bytes(size)) for size in sizes]

    assert keys[-left:] == [*files._files]
    assert len(files.fetch(keys[-left]).content) == sizes[-left]  # full, but nothing new comes
