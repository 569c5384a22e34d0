"""Splits by the hash of a sentence."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError
from nmt_core.corpora.splitting import SplitConfig, split_of

HALVES = SplitConfig(validation_per_10000=2500, test_per_10000=2500)


@given(source=st.text(min_size=1, max_size=6), rate=st.floats(1, 4000), other=st.floats(1, 4000))
def test_split_sizes_are_independent(source, rate, other):
    small = SplitConfig(validation_per_10000=rate, test_per_10000=min(rate, other))
    large = SplitConfig(validation_per_10000=rate, test_per_10000=max(rate, other))

    if split_of(source, small) != "train":
        assert split_of(source, small) == split_of(source, large)


@pytest.mark.parametrize(("validation", "test"), [(2500, 2500), (1000, 3000)])
def test_splits_have_the_requested_size(validation, test):
    sizes = SplitConfig(validation_per_10000=validation, test_per_10000=test)
    counts = Counter(split_of(f"Satz {number}", sizes) for number in range(20_000))

    assert counts["test"] == pytest.approx(2 * test, rel=0.05)
    assert counts["validation"] == pytest.approx(2 * validation, rel=0.1)


def test_splits_never_change_between_versions():
    """These values must not change: another hash would move sentences from test into train."""
    sentences = ["Guten Tag.", "Der Hund schläft.", "Wo ist das Buch?", "Danke!", "Ein Haus."]

    kept = [split_of(sentence, HALVES) for sentence in sentences]
    assert kept == ["validation", "test", "test", "test", "train"]
    other = HALVES.model_copy(update={"salt": "other"})
    differing = sum(split_of(f"{n}", HALVES) != split_of(f"{n}", other) for n in range(1000))
    assert differing > 400


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"validation_per_10000": 5e3, "test_per_10000": 5e3}, "must be less than 10,000"),
        ({"salt": "ä" * 33}, "at: salt must have at most 64 bytes"),
    ],
)
def test_contradictory_settings_are_refused(values, expected):
    with pytest.raises(ConfigError, match=expected):
        build(SplitConfig, values, at="at")
