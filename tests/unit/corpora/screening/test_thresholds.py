"""Thresholds: what they promise for trusted pairs, and where they spend the loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.corpora.screening.settings import ScreenConfig
from nmt_core.corpora.screening.signals import FILTERS
from nmt_core.corpora.screening.thresholds import (
    NEVER,
    PLAINLY_WRONG,
    count_losable,
    fit_thresholds,
)

QUIET = np.linspace(0, 1, 3000)


@pytest.mark.parametrize(
    ("pairs", "share", "losable"),
    [(0, 0.01, 0), (98, 0.01, 0), (99, 0.01, 1), (998, 0.01, 9), (999, 0.01, 10), (99, 0.1, 10)],
)
def test_losable_pairs_are_the_stated_share_of_new_ones(pairs, share, losable):
    trusted = {"copied": np.zeros(pairs)}
    assert count_losable(trusted, ScreenConfig(lost_share=share)) == losable


@pytest.mark.parametrize("trusted", [None, 998, 3000])
def test_settings_take_precedence(trusted):
    measured = trusted and dict.fromkeys(FILTERS, np.linspace(0, 1, trusted))
    config = ScreenConfig(truncated="off", alignment=0.25, copied=0.0)
    thresholds = fit_thresholds(dict.fromkeys(FILTERS, QUIET), measured, config)

    assert (thresholds["truncated"], thresholds["alignment"], thresholds["copied"]) == (
        NEVER,
        0.25,
        0.0,
    )
    assert thresholds.keys() == {*FILTERS}
    if trusted != 3000:
        assert thresholds == PLAINLY_WRONG | {"truncated": NEVER, "alignment": 0.25, "copied": 0.0}


@given(st.integers(0, 2**32), st.integers(0, 3000), st.sampled_from([0.003, 0.01, 0.1]))
def test_no_more_trusted_pairs_are_lost_than_stated(seed, pairs, share):
    draw = np.random.default_rng(seed)

    def measure(count):
        return {
            name: np.round(draw.standard_normal(count) ** 3, int(draw.integers(0, 4)))
            for name in FILTERS
        }

    sample, trusted = measure(500), measure(pairs)
    thresholds = fit_thresholds(sample, trusted, ScreenConfig(lost_share=share))
    if share * (pairs + 1) >= 10:
        lost = np.any([trusted[name] > thresholds[name] for name in FILTERS], axis=0)
        assert lost.sum() <= share * (pairs + 1)
    else:
        assert thresholds == PLAINLY_WRONG


def test_the_loss_is_spent_where_noise_is():
    trusted = dict.fromkeys(FILTERS, QUIET)
    sample = dict.fromkeys(FILTERS, QUIET[::10]) | {"alignment": np.linspace(0.985, 0.999, 300)}
    thresholds = fit_thresholds(sample, trusted, ScreenConfig())

    lost = (QUIET > thresholds["alignment"]).sum()
    assert 20 <= lost <= 30
    others = {name: thresholds[name] for name in FILTERS if name != "alignment"}
    assert others == {name: max(PLAINLY_WRONG[name], 1.0) for name in others}


@pytest.mark.parametrize(
    ("sample", "threshold"),
    [
        ([0.9905] * 1000, 0.990),
        ([0.9895] * 1000, 0.999),
        ([0.9975] * 500 + [0.9905] * 300, 0.990),
        ([0.9975] * 500 + [0.9895] * 300, 0.997),
        ([0.9975] * 500 + [0.997] * 300, 0.996),
        ([0.9905] * 10 + [0.1] * 990, 0.999),
    ],
)
def test_steps_stop_at_the_last_losable_pair(sample, threshold):
    """Of 999 trusted pairs 10 are losable; that at the threshold of a filter is its first."""
    alone = ScreenConfig(**{name: "off" for name in FILTERS if name != "copied"})
    trusted = dict.fromkeys(FILTERS, np.arange(1, 1000) / 1000)
    thresholds = fit_thresholds(dict.fromkeys(FILTERS, np.array(sample)), trusted, alone)

    assert thresholds["copied"] == pytest.approx(threshold)


def test_filters_begin_above_all_trusted_pairs():
    """Where the sample has nothing more to drop, they stay there."""
    trusted = dict.fromkeys(FILTERS, np.zeros(3000)) | {"copied": QUIET}
    thresholds = fit_thresholds(trusted, trusted, ScreenConfig())

    assert thresholds == {
        name: max(limit, 1.0) if name == "copied" else limit
        for name, limit in PLAINLY_WRONG.items()
    }


def test_a_pair_that_several_filters_lose_is_lost_once():
    alike = np.linspace(10, 20, 3000)
    trusted = dict.fromkeys(FILTERS, np.zeros(3000)) | dict.fromkeys(
        ("truncated", "alignment"), alike
    )
    sample = dict(trusted) | {
        "truncated": np.repeat([19.95, 0.0, 0.0], 1000),
        "alignment": np.repeat([0.0, 19.95, 0.0], 1000),
    }
    thresholds = fit_thresholds(sample, trusted, ScreenConfig(lost_share=0.008))
    assert max(thresholds["truncated"], thresholds["alignment"]) < 19.95


def test_text_like_the_trusted_one_is_left_alone():
    draw = np.random.default_rng(1)
    sample, trusted = (
        {name: draw.standard_normal(count) for name in FILTERS} for count in (4000, 3000)
    )
    thresholds = fit_thresholds(sample, trusted, ScreenConfig())
    assert sum(int((sample[name] > thresholds[name]).sum()) for name in FILTERS) <= 0.01 * 4000
