"""Turn parallel text into train, validation and test sets that share no sentence.

What can be said of a pair alone is found out for many at once (:mod:`nmt_core.parallel`); then, per
pair, 16 bytes come into memory, the digests by which duplicates and leaks are found. Validation and
test keep every line as the corpus has it; only train is filtered.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from nmt_core.config import Config
from nmt_core.errors import CorpusError
from nmt_core.parallel.jobs import WorkersConfig, append, run_in_order
from nmt_core.text.corpus import CorpusReading, Pair, PairRows, Problem, Text, cut_rows, read_pairs
from nmt_core.text.filters import FilterConfig, find_fault, make_comparison_key

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
Rate = Annotated[float, Field(gt=0, lt=10_000)]
Digests = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

PER = 10_000
"""Rates of the split are given in so many sentences."""

MAX_SALT_BYTES = 64
"""Longest key that BLAKE2b takes."""

KINDS = ("source", "target", "digests")
"""What is kept of the pairs of a split while they are compared."""


class SplitConfig(Config):
    """How to set pairs aside when a corpus comes without validation or test set.

    A keyed hash of the source sentence decides alone, so a pair stays where it is when others are
    added or removed, and a sentence with several translations lies in one split.
    """

    validation_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to validation; 10 make about 1,900 of EuroParl's 1.9 million."""

    test_per_10000: Rate = 10.0
    """Sentences in 10,000 that go to test."""

    salt: str = "nmt"
    """Key of the hash, up to 64 bytes; another salt draws other sets."""

    @model_validator(mode="after")
    def _check(self) -> "SplitConfig":
        if self.validation_per_10000 + self.test_per_10000 >= PER:
            raise ValueError("validation_per_10000 and test_per_10000 leave nothing to train on")
        if len(self.salt.encode()) > MAX_SALT_BYTES:
            raise ValueError(f"salt is longer than {MAX_SALT_BYTES} bytes")
        return self


@dataclass
class CleaningOutcome:
    """Pairs kept per split, and removed per split and reason."""

    kept: dict[str, int] = field(default_factory=dict)
    removed: dict[str, Counter[str]] = field(default_factory=dict)
    readings: dict[str, CorpusReading] = field(default_factory=dict)
    """What was met in each text."""


@dataclass(frozen=True)
class Sieve:
    """What decides which split a pair of one text belongs to, and whether it may."""

    name: Split
    drop: tuple[Problem, ...]
    split_off: frozenset[Split]
    """What this text must give, because no other does."""
    filters: FilterConfig
    split: SplitConfig

    def home(self, pair: Pair) -> Split:
        """Return the split that a pair belongs to."""
        if not self.split_off:
            return self.name
        drawn = split_of(pair.source, self.split)
        return drawn if drawn in self.split_off else self.name


@dataclass(frozen=True)
class SiftJob(PairRows):
    """Pairs that nobody has looked at yet."""

    sieve: Sieve


@dataclass(frozen=True)
class Sifted:
    """What was met while sifting."""

    reading: CorpusReading = field(default_factory=CorpusReading)
    unfit: Counter[str] = field(default_factory=Counter)


def split_of(source: str, config: SplitConfig) -> Split:
    """Return where all pairs with this source sentence belong.

    Test grows from one end of the hashes and validation from the other, so changing the size of
    one does not touch the other.
    """
    digest = _digest(make_comparison_key(source), salt=config.salt)
    place = int.from_bytes(digest, "little") / 2**64 * PER
    if place < config.test_per_10000:
        return "test"
    if place >= PER - config.validation_per_10000:
        return "validation"
    return "train"


def sift(job: SiftJob, part: Path) -> Sifted:
    """Write the pairs of each split with their digests, but for those unfit to train on."""
    sieve, found = job.sieve, Sifted()
    with ExitStack() as stack:
        homes = {name: _Home(part, name, stack) for name in (sieve.name, *sieve.split_off)}
        for pair in read_pairs(job, drop=sieve.drop, reading=found.reading):
            home = sieve.home(pair)
            why = find_fault(pair, sieve.filters) if home == "train" else None
            if why is None:
                homes[home].add(pair)
            else:
                found.unfit[why] += 1
    return found


def clean_and_split(
    texts: Mapping[Split, Text],
    folder: Path,
    *,
    scratch: Path,
    filters: FilterConfig,
    split: SplitConfig,
    workers: WorkersConfig,
) -> CleaningOutcome:
    """Write ``{train,validation,test}.{source,target}`` into ``folder``, without a leak.

    No sentence of test, on either side, is left in validation or train, and none of validation in
    train; sentences are the same if their :func:`comparison_key` is.

    Args:
        texts: "train" and, where the corpus brings them, "validation" and "test"; what is not there
            is split off train, each pair of it once.
        folder: where to write; the caller makes it appear whole.
        scratch: folder for all pairs while they are compared.
        filters: applied to train alone.
        split: how to split train.
        workers: who looks at the pairs one by one.

    Raises:
        CorpusError: if the text cannot be trusted, or a split is left without any pair.
        WorkersError: if workers are lost.
    """
    outcome = CleaningOutcome(
        removed={name: Counter() for name in SPLITS},
        readings={name: CorpusReading() for name in texts},
    )
    jobs = list(_jobs(texts, scratch, filters, split, workers.chunk_lines))
    staged = _stage(jobs, scratch, workers, outcome)
    held_out: dict[str, _Keys] = {}
    for name in ("test", "validation", "train"):
        keys = staged[name].keys()
        removed = outcome.removed[name]
        keep = np.ones(len(keys.source), dtype=np.bool_)
        for other, other_keys in held_out.items():
            keep = _strike(keep, keys.shared_with(other_keys), removed, f"also_in_{other}")
        if filters.remove_duplicates if name == "train" else name not in texts:
            keep = _strike(keep, keys.repeated(), removed, "duplicate")
        staged[name].write(folder, keep)
        held_out[name] = keys.only(keep)
        outcome.kept[name] = int(keep.sum())
    _check(outcome, texts, split)
    return outcome


@dataclass(frozen=True)
class _Keys:
    """Digests of the sentences of some pairs, in order."""

    source: Digests
    target: Digests

    def only(self, keep: Mask) -> "_Keys":
        return _Keys(self.source[keep], self.target[keep])

    def shared_with(self, other: "_Keys") -> Mask:
        """Mark pairs of which either side stands in ``other``."""
        in_source: Mask = np.isin(self.source, other.source)
        return in_source | np.isin(self.target, other.target)

    def repeated(self) -> Mask:
        """Mark pairs that an earlier pair equals on both sides."""
        order = np.lexsort((self.target, self.source))  # stable: equals keep their order
        source, target = self.source[order], self.target[order]
        marked = np.zeros(len(order), dtype=np.bool_)
        marked[order[1:]] = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
        return marked


class _Home:
    """Some pairs of one split, in files named for their kind."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self._source, self._target, self._digests = (
            stack.enter_context((folder / f"{name}.{kind}").open("wb")) for kind in KINDS
        )

    def add(self, pair: Pair) -> None:
        self._source.write(f"{pair.source}\n".encode())
        self._target.write(f"{pair.target}\n".encode())
        self._digests.write(b"".join(_digest(make_comparison_key(line)) for line in pair))


class _Staged:
    """All pairs of one split, put together of what was sifted."""

    def __init__(self, folder: Path, name: str) -> None:
        self._files = {kind: folder / f"{name}.{kind}" for kind in KINDS}
        for path in self._files.values():
            path.touch()

    def take(self, part: Path) -> None:
        for path in self._files.values():
            if (part / path.name).exists():
                append(part / path.name, path)

    def keys(self) -> _Keys:
        digests = np.fromfile(self._files["digests"], dtype="<u8").reshape(-1, 2)
        return _Keys(digests[:, 0].copy(), digests[:, 1].copy())

    def write(self, folder: Path, keep: Mask) -> None:
        for kind in ("source", "target"):
            path = self._files[kind]
            with path.open("rb") as lines, (folder / path.name).open("wb") as file:
                file.writelines(compress(lines, keep.tolist()))
        for path in self._files.values():
            path.unlink()


def _jobs(
    texts: Mapping[Split, Text],
    scratch: Path,
    filters: FilterConfig,
    split: SplitConfig,
    lines: int,
) -> Iterator[SiftJob]:
    missing = frozenset(SPLITS) - frozenset(texts)
    for name, text in texts.items():
        split_off = missing if name == "train" else frozenset[Split]()
        sieve = Sieve(name, text.drop, split_off, filters, split)
        for rows in cut_rows(text, lines, scratch=scratch):
            yield SiftJob(rows.spans, rows.names, sieve)


def _stage(
    jobs: Sequence[SiftJob], scratch: Path, workers: WorkersConfig, outcome: CleaningOutcome
) -> dict[Split, _Staged]:
    staged = {name: _Staged(scratch, name) for name in SPLITS}
    with run_in_order(sift, jobs, workers, beside=scratch / "sifted", title="cleaning") as done:
        for job, (part, found) in zip(jobs, done, strict=True):
            for stage in staged.values():
                stage.take(part)
            outcome.removed["train"].update(found.unfit)
            outcome.readings[job.sieve.name].add(found.reading)
    return staged


def _strike(keep: Mask, marked: Mask, removed: Counter[str], why: str) -> Mask:
    struck = int((keep & marked).sum())
    if struck:
        removed[why] += struck
    return keep & ~marked


def _check(outcome: CleaningOutcome, texts: Mapping[Split, Text], split: SplitConfig) -> None:
    """Refuse a split without any pair, train first, for the others may come of it."""
    rates = {"validation": split.validation_per_10000, "test": split.test_per_10000}
    for name in ("train", "test", "validation"):
        if outcome.kept[name]:
            continue
        reading = outcome.readings.get(name, outcome.readings["train"])
        breaks = reading.repaired["inner_line_break"] > sum(outcome.kept.values())
        hint = ""
        if breaks or reading.dropped["line_too_long"]:
            hint = r"; lines must end in \n, for which CR alone does not stand"
        if name not in texts:
            raise CorpusError(
                f"no pair of {outcome.kept['train']} fell into {name} at {rates[name]:g} in "
                f"10,000; raise split.{name}_per_10000 or give a {name} text{hint}"
            )
        why = outcome.removed[name] + reading.dropped
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(why.items()))
        others = any(outcome.kept.values())
        nothing = "none, all fell into other splits" if others else "none, the text is empty"
        raise CorpusError(
            f"no pair is left for {name} (removed: {reasons or nothing}); "
            f"give more text or loosen the filter{hint}"
        )


def _digest(key: str, *, salt: str = "") -> bytes:
    return blake2b(key.encode(), digest_size=8, key=salt.encode()).digest()
