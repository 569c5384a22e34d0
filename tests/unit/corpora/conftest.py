"""Fixtures for tests of corpora."""

from collections import Counter

import pytest

from nmt_core.corpora import reading


@pytest.fixture
def filtered(monkeypatch):
    """The names of corpora that are read; cached corpora are not read."""
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
