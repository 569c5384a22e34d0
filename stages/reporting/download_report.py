"""The result of the download stage, as ``reports/download.json`` holds it.

Earlier versions lack some fields, so most have a default.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, field_serializer

from nmt_core.base import config, files
from nmt_core.base.config import Config

Removed = dict[str, dict[str, int]]
"""Pairs left out, by split and reason."""


class Result(Config):
    """Base of results on disk; keys of other versions are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=True)


class NearDuplicates(Result):
    """Training pairs near a test or validation sentence."""

    pairs: int
    test_sentences: int
    """Test sentences that such a pair is near to."""
    validation_sentences: int
    examples: list[dict[str, Any]] = Field([])
    """Each with its ``side``, the sentence of ``train``, that which is ``held_out``, and the
    ``edits`` between them, in words."""


class CorpusReport(Result):
    """The pairs of a corpus that were kept, and those left out."""

    kind: str = ""
    licence: str = ""
    tag: str = ""
    pairs: dict[str, int]
    """By split."""
    removed: Removed = Field({})
    weight: float = 1.0
    examples: dict[str, list[tuple[str, str]]] = Field({})
    """A few of the pairs left out, by reason."""
    notices: list[str] = Field([])
    origins: list[dict[str, Any]] = Field([])
    """The files it came from."""

    @property
    def left_out(self) -> int:
        """Number of pairs left out of all splits."""
        return sum(sum(reasons.values()) for reasons in self.removed.values())


class MonolingualReport(Result):
    """The lines of a corpus of one language that were kept, and those left out."""

    language: str
    licence: str
    lines: int
    removed: dict[str, int]
    """Lines left out, by reason."""
    notices: list[str] = Field([])
    origins: list[dict[str, Any]] = Field([])


class CorpusDescription(Result):
    """All corpora together, for the model card and the registry."""

    kind: str = ""
    name: str = ""
    licence: dict[str, str] = Field({})
    """License fields of Hugging Face's metadata."""
    text: str = ""
    held_out: str
    """The rule by which the test set is held out."""


class DownloadReport(Result):
    """Everything that the download stage counts."""

    pairs: dict[str, int] = Field({})
    """By split."""
    removed: Removed = Field({})
    near_duplicates: NearDuplicates | None = None
    """None, ``{}`` on disk, if they were not searched for."""
    repaired: dict[str, int] = Field({})
    noticed: dict[str, int] = Field({})
    """Lines by what was noticed of them."""
    corpora: dict[str, CorpusReport] = Field({})
    corpus: CorpusDescription | None = None
    """None in the result of an earlier version."""
    monolingual: dict[str, MonolingualReport] = Field({})
    vectors: dict[str, dict[str, Any]] = Field({})
    """Rows of word vectors, by side."""
    initial_model: dict[str, Any] = Field({})

    @field_serializer("near_duplicates")
    def _write_none(self, value: NearDuplicates | None) -> dict[str, Any]:
        return value.model_dump(mode="json") if value else {}

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "DownloadReport":
        """Return the result in the content of a ``download.json``.

        Raises:
            ConfigError: if it is not one.
        """
        near = values.get("near_duplicates") or None
        return config.build(cls, {**values, "near_duplicates": near}, at="download.json")

    @classmethod
    def read(cls, path: Path) -> "DownloadReport":
        """Return the result in a file."""
        return cls.parse(files.read_json(path))

    def dump(self) -> dict[str, Any]:
        """Return the content of ``download.json``."""
        return self.model_dump(mode="json")

    def compute_shares(self) -> dict[str, float]:
        """Return each corpus's share of the pairs that training reads."""
        sizes = {name: one.weight * one.pairs["train"] for name, one in self.corpora.items()}
        total = sum(sizes.values()) or 1.0
        return {name: size / total for name, size in sizes.items()}
