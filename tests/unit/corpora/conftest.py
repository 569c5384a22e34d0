"""What tests of corpora are given."""

from collections import Counter
from functools import cache

import pytest

from nmt_core.corpora import reading
from nmt_core.corpora.screening import findings, signals
from nmt_core.corpora.screening.language_scores import LanguageScorer


@pytest.fixture(autouse=True, scope="session")
def _scorers():
    """Make a scorer of languages once: it copies the classifier's tables, and changes nothing."""
    make = cache(LanguageScorer)
    with pytest.MonkeyPatch.context() as patch:
        for module in (findings, signals):
            patch.setattr(
                module,
                "LanguageScorer",
                lambda languages=None: make(languages if languages is None else tuple(languages)),
            )
        yield


@pytest.fixture
def sifted(monkeypatch):
    """The names of what is read, which does not happen for what was kept."""
    names = []
    real = reading.sift_corpus
    monkeypatch.setattr(
        reading,
        "sift_corpus",
        lambda *args, **options: (names.append(options["name"]), real(*args, **options))[1],
    )

    def since():
        read = Counter(names)
        names.clear()
        return read

    return since
