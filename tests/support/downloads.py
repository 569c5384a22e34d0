"""A file to fetch over HTTP, and the message of a failed attempt."""

import hashlib

import pytest

from nmt_core.base.errors import CorpusError
from nmt_core.corpora.fetch.source import HttpConfig

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
QUICK = HttpConfig(attempts=3, max_backoff_seconds=0.02, timeout_seconds=2.0)


def message(get, url, *args, **options):
    with pytest.raises(CorpusError) as caught:
        get(url, *args, **options)
    return str(caught.value)


def finals(folder):
    suffixes = (".part", ".json", ".rejected", ".lock")
    return [path.name for path in folder.iterdir() if path.suffix not in suffixes]
