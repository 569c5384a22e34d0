"""Compressed files are unpacked up to a limit."""

import gzip

import pytest

from nmt_core.base import raw_lines
from nmt_core.base.errors import CorpusError
from nmt_core.base.raw_lines import open_raw


@pytest.mark.parametrize("more", [0, 1])
def test_unpacking_stops_at_the_limit(tmp_path, monkeypatch, more):
    monkeypatch.setattr(raw_lines, "MIN_UNPACKED_LIMIT", 100_000)
    content = b"x" * (100_000 + more)
    (path := tmp_path / "a.gz").write_bytes(gzip.compress(content))
    with open_raw(path) as file:
        if more:
            with pytest.raises(CorpusError, match="times its size"):
                file.read()
        else:
            assert file.read() == content
