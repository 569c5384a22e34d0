"""What tests of corpora are given."""

from functools import cache

import pytest

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
