"""What tests of corpora are given."""

from collections import Counter

import pytest

from nmt_core.corpora import reading


@pytest.fixture
def filtered(monkeypatch):
    """The names of what is read, which does not happen for what was kept."""
    names = []
    real = reading.filter_corpus
    monkeypatch.setattr(
        reading,
        "filter_corpus",
        lambda *args, **options: (names.append(options["name"]), real(*args, **options))[1],
    )

    def since():
        read = Counter(names)
        names.clear()
        return read

    return since
