"""Settings of the gate, which are read before anything slow is loaded."""

from typing import Annotated

from pydantic import AfterValidator, Field

from nmt_core.base.config import Config
from nmt_core.base.errors import NmtError
from nmt_core.evaluation.registered import DEFAULT_METRICS, METRICS, SLICES

SliceBounds = dict[
    Annotated[str, AfterValidator(SLICES.check)],
    Annotated[float, Field(ge=0, allow_inf_nan=False)],
]
"""Points that each slice may lose, by name."""


class GateError(NmtError):
    """Two systems cannot be compared."""


class GateConfig(Config):
    """Settings of the gate."""

    metrics: list[Annotated[str, AfterValidator(METRICS.check)]] = Field(
        DEFAULT_METRICS, min_length=1
    )
    """By which the two are judged: better in the first, no worse in any other."""

    significance: float = Field(0.04, gt=0, lt=0.5)
    """Probability up to which a difference is taken for more than chance; of equal systems, at most
    about this share is promoted, and as many are rejected. It keeps some distance to the usual
    0.05, which is the promise."""

    minimum_effect: float = Field(0.3, ge=0)
    """Points of the first metric below which a better model is not worth a change, however sure one
    is."""

    slices: SliceBounds = Field({})
    """Points of the first metric that each slice may lose, by name: ``{numbers: 1.0}``. Who is
    proved to lose more is rejected, who seems to is held. None by default: a slice of few sentences
    seems to lose by chance, and would hold what is better."""

    resamples: int = Field(1000, ge=100)
    """Of the bootstrap."""

    trials: int = Field(10_000, ge=100)
    """Of the randomisation; no probability comes out below one in so many."""

    seed: int = Field(1, ge=0)
    """Draws resamples and trials."""
