import pytest

from nmt_core.corpora.fetch.http import fetch
from nmt_core.corpora.fetch.source import Source
from tests.support.downloads import QUICK


@pytest.fixture
def get(tmp_path):
    def get(url, config=QUICK, **options):
        return fetch(Source(url, "download.corpora.europarl.url", **options), tmp_path, config)

    return get
