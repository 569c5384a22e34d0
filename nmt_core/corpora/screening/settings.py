"""Settings of screening."""

from typing import Annotated, Literal

from pydantic import Field

from nmt_core.base.config import Config

FilterName = Literal[
    "language", "script", "copied", "repetition", "literals", "truncated", "alignment"
]  # fmt: skip
"""The filters, in the order in which they are asked."""

FindingKind = Literal[
    "swapped", "wrong_language", "shifted", "unrelated", "noise", "header", "entities", "mojibake",
    "tags", "tokenized", "lower_case", "numbers", "repeated", "stray_language",
]  # fmt: skip
"""Problems of a whole corpus, or of some of its pairs."""

RepairName = Literal["mojibake", "entities", "tags"]
"""Problems of a line that can be repaired."""

Threshold = float | Literal["off"] | None
"""Of a signal: pairs above are taken. null fits it, a number is a person's, "off" takes none."""


class LookConfig(Config):
    """A look at a sample of a corpus: faults of all of it stop the run, others are reported."""

    accepted: list[FindingKind] = Field(default_factory=list)
    """Findings that you know of and want: they neither stop the run nor are they reported."""


class ScreenConfig(Config):
    """Filters whose thresholds are learnt from the text; each signal grows with what is wrong."""

    lost_share: Annotated[float, Field(gt=0, lt=0.5)] = 0.01
    """Share of trusted pairs that all fitted filters together may take."""

    sample_pairs: Annotated[int, Field(ge=100, le=1_000_000)] = 20_000
    """Pairs of a corpus that are looked at first, drawn evenly from all of it."""

    language: Threshold = None
    """By how much another language is likelier than that of the side: a difference of logarithms
    over the root of the line's bytes (py3langid). Lines of fewer than 16 letters abstain."""

    script: Threshold = None
    """Share of letters of a script that the side is not written in."""

    copied: Threshold = None
    """Share of words that stand on both sides; short lines count as if they shared fewer."""

    repetition: Threshold = None
    """Words that say again what stands right before them, more on one side than on the other."""

    literals: Threshold = None
    """Numbers, addresses and the like that have no counterpart, of both sides."""

    truncated: Threshold = None
    """Surprise in nats of the ratio of lengths, and of a shorter side that lacks the final sign of
    the longer one."""

    alignment: Threshold = None
    """Nats that a word is explained by the other side better than by chance, negative, of the side
    that is explained worse (our aligner's table)."""
