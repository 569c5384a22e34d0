"""Settings of promotion, a section of params.yaml."""

from pathlib import Path

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.evaluation.statistics.settings import SliceBounds


class PromotionParams(Config):
    """Limits of a challenger's losses, regardless of its gains elsewhere."""

    slices: SliceBounds = Field({})
    """Points of the gate's first metric that a challenger may lose in each of these slices of the
    test set: ``{numbers: 1.0, negation: 1.0}``. Who is proved to lose more is rejected, who seems
    to is held. None by default, for a slice of few sentences seems to lose by chance and would hold
    what is better; ``reports/index.html`` shows sentences and interval of each."""

    glossary: Path | None = None
    """A glossary as ``nmt translate --glossary`` reads it; the sentences that have a term of it are
    the slice ``glossary``."""
