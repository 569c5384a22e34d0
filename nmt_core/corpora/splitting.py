"""Splits of pairs into train, validation and test: by the hash of a sentence, or by sessions."""

from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError, suggest
from nmt_core.base.raw_lines import (
    explain_unreadable_file,
    read_raw_lines,
    require_regular_file,
)
from nmt_core.base.utf8 import BYTE_ORDER_MARK
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.text_files import require_pinned

Digests: TypeAlias = npt.NDArray[np.uint64]
"""Digests of the sentences of pairs, (pairs, sides)."""

Mask: TypeAlias = npt.NDArray[np.bool_]
Ranks: TypeAlias = npt.NDArray[np.int32]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Rate = Annotated[float, Field(gt=0, lt=10_000)]

PER = 10_000
"""The denominator of rates."""

NOT_HELD_OUT = -1
"""The rank of a session that is not held out."""

MAX_SALT_BYTES = 64
"""Longest key of BLAKE2b."""


class SessionSplit(Config):
    """Sessions whose last pairs are held out, if they occur nowhere else in the corpus.

    A translator meets text of later days than that of train; a hash also draws neighbours of
    training sentences.
    """

    file: Path
    """Line N names the session of pair N of the corpus, up to the first tab; plain or .gz."""

    held_out: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the sessions, or their prefixes: ep-00-07 are all days of July 2000. Test is the end
    of these sessions in the order of their names."""

    test_pairs: int = Field(3000, ge=1, le=10_000_000)
    """Number of pairs of test."""

    validation_pairs: int = Field(2000, ge=1, le=10_000_000)
    """Number of pairs of validation, which precede test."""

    sha256: str = ""
    """Digest of the file when params.yaml was written; ``make repro`` fills it in."""

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

    A keyed hash of the source sentence decides alone, so that a pair keeps its split when others
    are added or removed, and a sentence with several translations lies in one split. Or the end of
    some sessions is held out.
    """

    validation_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to validation, or slightly more so that documents stay whole."""

    test_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to test."""

    salt: str = "nmt"
    """Key of the hash, up to 64 bytes; another key selects other sentences."""

    sessions: SessionSplit | None = None
    """Hold out the end of some sessions; null uses the hash."""

    def rate(self, split: Split) -> float:
        """Return the sentences in 10,000 of validation or test."""
        return self.test_per_10000 if split == "test" else self.validation_per_10000

    def pins(self) -> dict[str, str]:
        """Return the digest of the file of sessions, by its path."""
        return {str(self.sessions.file): self.sessions.sha256} if self.sessions else {}

    def pinned(self) -> Self:
        """Return a copy with the present digest of that file.

        Raises:
            CorpusError: if it cannot be read.
        """
        return self._change({"sha256": self.sessions.digest()}) if self.sessions else self

    def absolute(self) -> Self:
        """Return a copy with an absolute path."""
        return self._change({"file": self.sessions.file.absolute()}) if self.sessions else self

    def _change(self, change: dict[str, Any]) -> Self:
        assert self.sessions
        return self.model_copy(update={"sessions": self.sessions.model_copy(update=change)})

    @model_validator(mode="after")
    def _check(self) -> "SplitConfig":
        if self.validation_per_10000 + self.test_per_10000 >= PER:
            raise ValueError("validation_per_10000 and test_per_10000 leave nothing to train on")
        if len(self.salt.encode()) > MAX_SALT_BYTES:
            raise ValueError(f"salt is longer than {MAX_SALT_BYTES} bytes")
        return self


class NearDuplicateConfig(Config):
    """Sentences of train that nearly equal one of validation or test."""

    distance: Annotated[float, Field(ge=0, le=0.4)] = 0.2
    """Word edits per word of a validation or test sentence up to which a sentence of train is a
    near duplicate: 0.2 allows one edit for five to nine words, two for ten to fourteen. Case and
    punctuation do not count; 0 turns the search off."""

    remove: bool = True
    """Remove training pairs with a near side; false only counts them."""

    examples: int = Field(5, ge=0, le=10_000)
    """Number of examples in ``reports/download.json`` and the model card."""


def split_of(source: str, config: SplitConfig) -> Split:
    """Return the split of all pairs with this source sentence.

    Test grows from one end of the hashes and validation from the other, so that changing the size
    of one does not affect the other.
    """
    hashed = digest(make_comparison_key(source), salt=config.salt)
    position = int.from_bytes(hashed, "little") / 2**64 * PER
    if position < config.test_per_10000:
        return "test"
    if position >= PER - config.validation_per_10000:
        return "validation"
    return "train"


def digest(key: str, *, salt: str = "") -> bytes:
    """Return the eight-byte digest by which sentences are compared."""
    return blake2b(key.encode(), digest_size=8, key=salt.encode()).digest()


def rank_sessions(sessions: SessionSplit, lines: int) -> Ranks:
    """Return for every pair the rank of its session among those held out, or ``NOT_HELD_OUT``.

    Raises:
        CorpusError: if the file cannot be read, has another number of lines, or does not name a
            session to hold out.
    """
    require_pinned(sessions)
    columns = ((line or b"").partition(b"\t")[0] for line in read_raw_lines(sessions.file))
    names = [name.decode(errors="replace").strip(BYTE_ORDER_MARK).strip() for name in columns]
    if len(names) != lines:
        raise CorpusError(
            f"{sessions.file} has {len(names)} lines but the corpus {lines}; "
            f"line N must name the session of pair N"
        )
    known = sorted(set(names))
    for prefix in sessions.held_out:
        if not any(name.startswith(prefix) for name in known):
            alike = sorted({name[: len(prefix)] for name in known})
            raise CorpusError(
                f"download.split.sessions.held_out: no session of {sessions.file} begins with "
                f"{prefix!r}; {suggest(prefix, alike)}; it names {known[0]} to {known[-1]}"
            )
    held_out = [name for name in known if name.startswith(sessions.held_out)]
    ranks = {name: rank for rank, name in enumerate(held_out)}
    return np.array([ranks.get(name, NOT_HELD_OUT) for name in names], dtype=np.int32)


def take_last(
    unique: Mask, ranks: Ranks, sessions: SessionSplit, wanted: Collection[Split]
) -> dict[Split, Mask]:
    """Select the last unique pairs of held-out sessions: test from the end, validation before it.

    ``unique`` marks pairs whose sides occur nowhere else, and ``ranks`` orders sessions.

    Raises:
        CorpusError: if there are too few.
    """
    sizes: dict[Split, int] = {
        "test": sessions.test_pairs,
        "validation": sessions.validation_pairs,
    }
    places = np.flatnonzero(unique)
    places = places[np.argsort(ranks[places], kind="stable")]
    needed = sum(sizes[name] for name in wanted)
    if len(places) < needed:
        raise CorpusError(
            f"download.split.sessions: those held out have {len(places):,} pairs that occur "
            f"nowhere else, fewer than the required {needed:,}; name more sessions, or ask for "
            f"fewer pairs"
        )
    taken: dict[Split, Mask] = {}
    for name in (name for name in sizes if name in wanted):
        taken[name] = np.zeros(len(unique), dtype=np.bool_)
        taken[name][places[len(places) - sizes[name] :]] = True
        places = places[: len(places) - sizes[name]]
    return taken


def mark_unique(rows: Digests) -> Mask:
    """Mark the rows of (pairs, sides) whose digest is unique in every column."""
    marked = np.ones(len(rows), dtype=np.bool_)
    for column in rows.T:
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        marked &= counts[places] == 1
    return marked
