"""Settings of translation."""

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.search.settings import BeamConfig


class TranslatorConfig(Config):
    """Search and batching of translations."""

    beam: BeamConfig = BeamConfig()
    """How to search."""

    batch_tokens: int = Field(2048, ge=1, le=1_000_000)
    """Padded source tokens per batch, which hold ``beam.beam_size`` hypotheses each; a longer line
    is searched alone. Where the vocabulary is large, a batch has fewer lines."""

    max_source_tokens: int = Field(512, ge=1, le=10_000)
    """Tokens of a line, or of a given beginning, that are read; the rest is left out, with a
    warning. It bounds time and memory, and models know little about lines longer than those they
    were trained on."""
