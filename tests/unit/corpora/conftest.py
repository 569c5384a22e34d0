"""What tests of corpora are given."""

from collections import Counter
from functools import cache

import pytest

from nmt_core.corpora import reading
from nmt_core.corpora.screening import inspection, signals
from nmt_core.corpora.screening.language_scores import LanguageScorer


@pytest.fixture(autouse=True, scope="session")
def _scorers():
    """Make a scorer of languages once: it copies the classifier's tables, and changes nothing."""
    make = cache(LanguageScorer)
    with pytest.MonkeyPatch.context() as patch:
        for module in (inspection, signals):
            patch.setattr(
                module,
                "LanguageScorer",
                lambda languages=None: make(languages if languages is None else tuple(languages)),
            )
        yield


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
