"""Split pairs into train, validation and test, by a hash or by sessions."""

from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.raw_lines import explain_unreadable_file, require_regular_file
from nmt_core.corpora.filters import make_comparison_key

Split = Literal["train", "validation", "test"]
SplitUnit = Literal["pair", "document", "date", "speaker"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Rate = Annotated[float, Field(gt=0, lt=10_000)]

PER = 10_000
"""The denominator of the split's rates."""

MAX_SALT_BYTES = 64
"""Longest key that BLAKE2b takes."""


class SessionSplit(Config):
    """Sessions whose last pairs are held out, if they occur nowhere else in the corpus.

    Text of later days than train's is what a translator meets; a hash also draws neighbours of
    training sentences.
    """

    file: Path
    """Line N names the session of pair N of the corpus, up to the first tab; plain or .gz."""

    held_out: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the sessions, or how they begin: ep-00-07 are all days of July 2000. In the order of
    their names, test is the end of what they hold."""

    test_pairs: int = Field(3000, ge=1, le=10_000_000)
    """Pairs of test."""

    validation_pairs: int = Field(2000, ge=1, le=10_000_000)
    """Pairs of validation, those before test."""

    sha256: str = ""
    """Digest of what the file held when params.yaml was written; ``make repro`` fills it in."""

    def __str__(self) -> str:
        return str(self.file)

    def digest(self) -> str:
        """Return the SHA-256 of the file.

        Raises:
            CorpusError: if it cannot be read.
        """
        try:
            return files.sha256(require_regular_file(self.file))
        except OSError as error:
            raise explain_unreadable_file(self.file, error) from None


class SplitConfig(Config):
    """Splits of a corpus that has no validation or test set.

    A keyed hash of the source sentence decides alone, so a pair stays where it is when others are
    added or removed, and a sentence with several translations lies in one split; or where text is
    from decides: whole documents, the newest days, or sessions, such as those of a parliament.
    """

    by: SplitUnit = "pair"
    """What stays whole, where the format of the text says where a pair is from: document and
    speaker, drawn by the hash until there are enough pairs, or date, the newest of which are test.
    What has no date or speaker is train; what has no document is of one named after its file."""

    validation_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to validation, or some more that documents stay whole; 10 make
    about 1,900 of EuroParl's 1.9 million."""

    test_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to test."""

    salt: str = "nmt"
    """Key of the hash, up to 64 bytes; another one puts other sentences into the sets."""

    sessions: SessionSplit | None = None
    """Take what is set aside from the end of some sessions; null lets the hash draw it."""

    def pins(self) -> dict[str, str]:
        """Return the digest of the file of sessions, by its path."""
        return {str(self.sessions.file): self.sessions.sha256} if self.sessions else {}

    def pinned(self) -> Self:
        """Return the same with the present digest of that file.

        Raises:
            CorpusError: if it cannot be read.
        """
        return self._changed({"sha256": self.sessions.digest()}) if self.sessions else self

    def absolute(self) -> Self:
        """Return the same with a path that leads to that file from any folder."""
        return self._changed({"file": self.sessions.file.absolute()}) if self.sessions else self

    def _changed(self, change: dict[str, Any]) -> Self:
        assert self.sessions
        return self.model_copy(update={"sessions": self.sessions.model_copy(update=change)})

    @model_validator(mode="after")
    def _check(self) -> "SplitConfig":
        if self.validation_per_10000 + self.test_per_10000 >= PER:
            raise ValueError("validation_per_10000 and test_per_10000 leave nothing to train on")
        if self.sessions and self.by != "pair":
            raise ValueError(f"sessions and by: {self.by} exclude each other; set one of them")
        if len(self.salt.encode()) > MAX_SALT_BYTES:
            raise ValueError(f"salt is longer than {MAX_SALT_BYTES} bytes")
        return self


class NearDuplicateConfig(Config):
    """Sentences of train that are too near to one of validation or test."""

    distance: Annotated[float, Field(ge=0, le=0.4)] = 0.2
    """Words to insert, drop or change, per word of a validation or test sentence, up to which a
    sentence of train is near it: 0.2 are one in five to nine words, two in ten to fourteen. Case
    and punctuation do not count; 0 looks for none."""

    remove: bool = True
    """Remove pairs of train with a side that is near; false only counts them."""

    examples: int = Field(5, ge=0, le=10_000)
    """Number of examples in ``reports/download.json`` and the model card."""


def split_of(source: str, config: SplitConfig) -> Split:
    """Return the split of all pairs with this source sentence.

    Test grows from one end of the hashes and validation from the other, so changing the size of
    one does not touch the other.
    """
    drawn = digest(make_comparison_key(source), salt=config.salt)
    position = int.from_bytes(drawn, "little") / 2**64 * PER
    if position < config.test_per_10000:
        return "test"
    if position >= PER - config.validation_per_10000:
        return "validation"
    return "train"


def digest(key: str, *, salt: str = "") -> bytes:
    """Return the eight-byte digest by which sentences are compared."""
    return blake2b(key.encode(), digest_size=8, key=salt.encode()).digest()
