"""The result of the download stage, stored in ``reports/download.json``.

Reports of earlier versions lack some fields, so most fields have a default.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, field_serializer

from nmt_core.base import config, files
from nmt_core.base.config import Config

Removed = dict[str, dict[str, int]]
"""Number of pairs left out, by split and reason."""


class Result(Config):
    """Base class of results on disk; unknown keys are ignored, for other versions."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=True)


class NearDuplicates(Result):
    """Training pairs that are near duplicates of test or validation sentences."""

    pairs: int
    test_sentences: int
    """Number of test sentences with near duplicates."""
    validation_sentences: int
    examples: list[dict[str, Any]] = Field([])
    """Examples with ``side``, the sentences ``train`` and ``held_out``, and the number of word
    ``edits`` between them."""


class CorpusReport(Result):
    """Counts of a corpus: pairs that were kept and left out."""

    kind: str = ""
    licence: str = ""
    tag: str = ""
    languages: str = ""
    """The direction that the corpus serves, such as de-en; empty if the model learns only one."""
    pairs: dict[str, int]
    """Number of kept pairs by split."""
    removed: Removed = Field({})
    weight: float = 1.0
    examples: dict[str, list[tuple[str, str]]] = Field({})
    """A few of the pairs left out, by reason."""
    notices: list[str] = Field([])
    origins: list[dict[str, Any]] = Field([])
    """The files that the corpus was read from."""

    @property
    def left_out(self) -> int:
        """Number of pairs left out of all splits."""
        return sum(sum(reasons.values()) for reasons in self.removed.values())


class MonolingualReport(Result):
    """Counts of a monolingual corpus: lines that were kept and left out."""

    language: str
    licence: str
    lines: int
    removed: dict[str, int]
    """Number of lines left out, by reason."""
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
    """Number of kept pairs by split."""
    removed: Removed = Field({})
    near_duplicates: NearDuplicates | None = None
    """None, ``{}`` on disk, if they were not searched for."""
    repaired: dict[str, int] = Field({})
    noticed: dict[str, int] = Field({})
    """Number of lines by finding, such as ``header_row``."""
    corpora: dict[str, CorpusReport] = Field({})
    corpus: CorpusDescription | None = None
    """None in reports of earlier versions."""
    monolingual: dict[str, MonolingualReport] = Field({})
    vectors: dict[str, dict[str, Any]] = Field({})
    """Rows of word vectors, by side."""
    initial_model: dict[str, Any] = Field({})

    @field_serializer("near_duplicates")
    def _write_none(self, value: NearDuplicates | None) -> dict[str, Any]:
        return value.model_dump(mode="json") if value else {}

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "DownloadReport":
        """Return the report from the content of ``download.json``.

        Raises:
            ConfigError: if the content is not a report.
        """
        near = values.get("near_duplicates") or None
        return config.build(cls, {**values, "near_duplicates": near}, at="download.json")

    @classmethod
    def read(cls, path: Path) -> "DownloadReport":
        """Return the report from a file."""
        return cls.parse(files.read_json(path))

    def dump(self) -> dict[str, Any]:
        """Return the content of ``download.json``."""
        return self.model_dump(mode="json")

    def compute_shares(self) -> dict[str, float]:
        """Return each corpus's share of the pairs that training reads."""
        sizes = {name: each.weight * each.pairs["train"] for name, each in self.corpora.items()}
        total = sum(sizes.values()) or 1.0
        return {name: size / total for name, size in sizes.items()}
