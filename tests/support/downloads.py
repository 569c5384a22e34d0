"""A file to fetch over HTTP, and what a failed attempt says."""

import hashlib
import io
import tarfile

import pytest

from nmt_core.base.errors import DownloadError
from nmt_core.corpora.fetch.settings import HttpConfig

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
QUICK = HttpConfig(attempts=3, max_backoff_seconds=0.02, timeout_seconds=2.0)


def pack_europarl(code, pairs):
    """Return an archive of a language and English as EuroParl's are."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for language, lines in zip((code, "en"), zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines).encode()
            info = tarfile.TarInfo(f"europarl-v7.{code}-en.{language}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return content.getvalue()


def message(get, url, *args, **options):
    with pytest.raises(DownloadError) as caught:
        get(url, *args, **options)
    return str(caught.value)


def finals(folder):
    suffixes = (".part", ".json", ".rejected", ".lock")
    return [path.name for path in folder.iterdir() if path.suffix not in suffixes]
