"""Corrections of translations, and the lines of a journal that tell of them."""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, field_validator

from nmt_core.base.config import Config
from nmt_core.base.languages import Languages

CorrectionVerdict = Literal["approved", "dropped"]
CorrectionStatus = Literal["suggested", "approved", "dropped"]
ID_CHARACTERS = 16

KEY_CHARACTERS = 16
"""Of the digest of an API key, that name it."""


class Suggestion(Config):
    """A better translation of a text, as a user gives it."""

    languages: Languages
    """Of the text and of its translation."""

    source: str
    """The text, of any number of lines."""

    target: str
    """What it should be translated as."""

    before: str = ""
    """The translation that is corrected; empty if it is not known."""

    key: str = ""
    """Digest of the API key of whoever gave it, cut; empty if nobody needs one."""

    model: str = ""
    """Digest of the exported model that was served then; empty if there was none."""

    @field_validator("source", "target")
    @classmethod
    def _holds_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must hold text, and is empty")
        return text

    @property
    def id(self) -> str:
        """A digest of the text, its correction, their languages and the key.

        What one user gives again has the same.
        """
        told = [*self.languages.codes, self.source, self.target, self.key]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:ID_CHARACTERS]


class SuggestedEntry(Suggestion):
    """The line of a journal that a suggestion came."""

    event: Literal["suggested"] = "suggested"
    """The tag of this kind."""

    time: str
    """When it came, by the clock of the machine: it orders nothing, since clocks jump."""


class DecidedEntry(Config):
    """The line of a journal that a correction was approved or dropped."""

    event: CorrectionVerdict
    """The tag of this kind, and what was decided."""

    id: str
    """Of the correction."""

    reason: str = ""
    """Why; empty if nobody said."""

    time: str
    """When it was decided, by the clock of the machine."""


JournalEntry = Annotated[SuggestedEntry | DecidedEntry, Field(discriminator="event")]
ENTRIES: TypeAdapter[SuggestedEntry | DecidedEntry] = TypeAdapter(JournalEntry)


@dataclass(frozen=True, slots=True)
class Correction:
    """A suggestion, and what has become of it."""

    id: str
    suggestion: Suggestion
    status: CorrectionStatus
    place: int
    """Number of the line that gave it its status: the later, the newer, whatever clocks said. What
    is suggested again is as new as it was last said; what is decided, as the decision."""
    time: str
    """When it was first suggested."""
    times: int = 1
    """How often its user gave it."""
    reason: str = ""
    """Why it was approved or dropped; empty if nobody said."""
