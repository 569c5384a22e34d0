"""Settings of making pairs, which a flow takes as parameters."""

from pathlib import Path

from pydantic import Field, field_validator, model_validator

from nmt_core.base.config import Config
from nmt_core.corpora.named import check_name
from stages import paths

DISTILLED, BACKTRANSLATED = "distilled", "backtranslated"
"""Names of the corpora of either direction, and the tag of the second."""


class SynthesisConfig(Config):
    """What a teacher translates, and which of its translations are kept."""

    teacher: str = str(paths.EXPORT)
    """Who translates: the folder of an exported model, or the address of a server that speaks
    LibreTranslate's API (its key in ``NMT_TEACHER_KEY``)."""

    backward: bool = False
    """Translate text of the target language into the source language, so that what a model learns
    to write is real text (Sennrich, Haddow and Birch 2016); else text of the source language, so
    that a small model learns to write as a large one does (Kim and Rush 2016)."""

    text: tuple[Path, ...] = ()
    """Files with a sentence a line. Without any, the training pairs' sources and the monolingual
    text of the source language; backward, the monolingual text of the target language."""

    name: str = ""
    """Name of the corpus; empty takes ``distilled``, or ``backtranslated``."""

    beam_size: int = Field(2, ge=1, le=100)
    """Live hypotheses per sentence of a teacher that is a model."""

    sampling: bool = False
    """Draw translations at random instead (Edunov et al. 2018), which takes PyTorch and more time,
    and helps a model of millions of pairs; one of few draws nonsense."""

    seed: int = Field(1, ge=0)
    """Another seed draws other translations."""

    chunk_lines: int = Field(1000, ge=1, le=100_000)
    """Lines after which what was translated is on the disk for good."""

    part: str = Field("1/1", pattern=r"^[1-9]\d{0,3}/[1-9]\d{0,3}$")
    """Which part of the chunks this machine translates, where several see one folder: ``2/4`` takes
    each fourth, from the second on."""

    lowest: float = Field(0.05, ge=0, lt=1)
    """Share of the translations without a flaw that are dropped, those of the lowest scores."""

    share: float = Field(0.5, gt=0, lt=1)
    """Share of these pairs among what is read in training."""

    licence: str = Field("own", min_length=1)
    """Licence of these pairs, which the card of the model names."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        return check_name(name) if name else name

    @field_validator("part")
    @classmethod
    def _check_part(cls, part: str) -> str:
        number, parts = map(int, part.split("/"))
        if number > parts:
            raise ValueError(f"there is no part {number} of {parts}")
        return part

    @model_validator(mode="after")
    def _check_sampling(self) -> "SynthesisConfig":
        if self.sampling and not Path(self.teacher).is_dir():
            raise ValueError(
                f"sampling takes the folder of an exported model, and {self.teacher} is none"
            )
        return self

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return self.name or (BACKTRANSLATED if self.backward else DISTILLED)

    @property
    def folder(self) -> Path:
        """The folder of the corpus, and of what was translated for it."""
        return paths.DOWNLOADS / "synthetic" / self.corpus
