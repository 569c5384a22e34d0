"""Settings of screening."""

from typing import Annotated, Literal

from pydantic import Field

from nmt_core.base.config import Config

FilterName = Literal[
    "language", "script", "copied", "repetition", "literals", "truncated", "alignment"
]  # fmt: skip
"""The filters, in order."""

FindingKind = Literal[
    "swapped", "wrong_language", "shifted", "unrelated", "noise", "header", "entities", "mojibake",
    "tags", "tokenized", "lower_case", "numbers", "repeated", "stray_language",
]  # fmt: skip
"""Problems of a whole corpus, or of some of its pairs."""

RepairName = Literal["mojibake", "entities", "tags"]
"""Problems of a line that can be repaired."""

Threshold = float | Literal["off"] | None
"""Threshold of a signal: pairs above it are dropped. null fits it; "off" drops no pair."""


class LookConfig(Config):
    """Sanity check on a sample of a corpus: a fault of the whole corpus stops the run."""

    accepted: list[FindingKind] = Field(default_factory=list)
    """Kinds of findings that are accepted: they neither stop the run nor are reported."""


class ScreenConfig(Config):
    """Filters with thresholds learnt from the text; each signal grows with the defect."""

    lost_share: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    """Share of trusted pairs that all fitted filters together may drop."""

    sample_pairs: Annotated[int, Field(ge=100, le=1_000_000)] = 20_000
    """Size of the sample, drawn evenly from the whole corpus."""

    language: Threshold = None
    """Advantage of the likeliest other language: a difference of log-likelihoods over the square
    root of the line's bytes (py3langid). Lines of fewer than 16 letters are not judged."""

    script: Threshold = None
    """Share of letters in unusual scripts of the side."""

    copied: Threshold = None
    """Share of words on both sides, smoothed for short lines."""

    repetition: Threshold = None
    """Difference between the sides in words that repeat those right before them."""

    literals: Threshold = None
    """Number of numbers, URLs and the like without a counterpart."""

    truncated: Threshold = None
    """Surprise in nats of the ratio of lengths, and of a shorter side without the longer one's
    final punctuation."""

    alignment: Threshold = None
    """Negative gain in nats of explaining a word by the other side instead of by chance, on the
    side that is explained worse."""
