"""Settings of learning from users, which a flow takes as parameters."""

from pathlib import Path

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.corpora.screening.settings import ScreenConfig
from nmt_core.training.settings import AverageShare
from stages import paths


class LearningConfig(Config):
    """What is learnt of corrections, and how long."""

    journal: Path = paths.CORRECTIONS
    """The journal of corrections, as ``nmt serve`` writes it."""

    memory: Path | None = None
    """A translation memory whose approved units are learnt, too, as ``nmt memory`` writes it; a
    correction of the same text holds more."""

    undecided: bool = True
    """Learn also what nobody has approved yet, after the filters; false learns what is approved."""

    least: int = Field(30, ge=1)
    """Corrections below which there is too little to learn from."""

    without_verdict: bool = False
    """Train although too few corrections are set aside for a verdict, so that nothing can win."""

    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the corrections that is never learnt, to test on."""

    distance: float = Field(0.2, ge=0, le=0.4)
    """Edits per word up to which what is learnt is too near to what is tested on."""

    share: float = Field(0.15, gt=0, lt=1)
    """Share of the corrections among what is read; the rest is the text of before. More of them
    costs the text of before more than it gives (docs/results.md)."""

    passes: float = Field(10.0, gt=0)
    """How often each correction is read."""

    learning_rate: float = Field(0.001, gt=0)
    """Highest rate; that of ``START=champion`` unlearns what the champion has converged to."""

    champion_share: AverageShare = 0.0
    """Share of the champion in what is learnt, by ``train.initial_share``; ``auto`` is the least
    tenth that keeps its loss on its own validation text, and may be too much of it for words that
    it has never read (docs/results.md)."""

    screen: ScreenConfig = ScreenConfig()
    """Filters of what nobody has approved: signals are learnt from the text of before, thresholds
    take as much of the corrections as can be for the loss of some of validation and test."""
