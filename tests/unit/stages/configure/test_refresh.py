"""What is pinned anew, and what stays as it is."""

from types import SimpleNamespace

from nmt_core.base.errors import DownloadError
from stages.configure import refresh


def test_a_file_whose_server_is_away_gets_no_pin_and_another_does(monkeypatch, tmp_path):
    files = {name: SimpleNamespace(name=name, url=name, sha256="", digest="") for name in "ab"}
    corpus = SimpleNamespace(sources=lambda _: files.values(), with_digests=dict)

    def renew(source, *_):
        if source is files["a"]:
            raise DownloadError("away")
        return SimpleNamespace(sha256="1" * 64)

    monkeypatch.setattr(refresh, "renew", renew)
    download = SimpleNamespace(languages=None, http=None)
    pinned, [said] = refresh._asked(corpus, download, tmp_path)

    assert pinned == {"b": "1" * 64}
    assert said == f"b had no pin and got one: SHA-256 {'1' * 64}"
