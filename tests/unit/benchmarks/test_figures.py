"""What the pictures of docs/sources.md are drawn from."""

import pytest

from benchmarks import figures
from tests.support.projects import PROJECT


def test_restarts_are_those_of_figure_5():
    """Each cycle begins at l0, ends at alpha of it, and is 0.9 times as long as the one before."""
    rates = list(figures.trace_restarts().y)
    restarts = [n for n in range(1, len(rates)) if rates[n] > rates[n - 1]]

    assert restarts == [1000, 1900, 2710, 3439, 4096, 4686]
    assert [rates[n] for n in (0, *restarts)] == pytest.approx([0.05] * 7, rel=1e-4)
    assert [rates[n - 1] for n in restarts] == pytest.approx([0.005] * 6, rel=1e-3)


def test_the_pictures_in_docs_are_drawn(tmp_path):
    figures.main(tmp_path)

    for name in ("positions.png", "restarts.png"):
        assert (tmp_path / name).stat().st_size > 10_000
        assert (PROJECT / "docs" / name).stat().st_size > 10_000
