"""Join sifted corpora into train, validation and test sets that share no sentence.

Duplicates and leaks are found by digests, whichever corpora they are of; those of a part of the
pairs come into memory at a time. Pairs stay in the order of the corpora, so each has its range of
lines.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.base.parallel.spans import append
from nmt_core.corpora.near_duplicates import Nearness, find_near_pairs
from nmt_core.corpora.parallel_text import CorpusReading
from nmt_core.corpora.sessions import Mask
from nmt_core.corpora.sifting import SiftedCorpus
from nmt_core.corpora.splitting import SPLITS, NearDuplicateConfig, Split, SplitConfig
from nmt_core.corpora.staging import SIDES, PairKeys, StagedPairs


@dataclass
class CleanedCorpus:
    """Counts of a corpus: pairs kept per split, removed per split and reason, and problems."""

    kept: dict[Split, int] = field(default_factory=dict)
    removed: dict[Split, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in SPLITS}
    )
    readings: dict[Split, CorpusReading] = field(default_factory=dict)

    def list_reasons(self, name: Split) -> Counter[str]:
        """Return why pairs of a split were left out, those included that are no text."""
        return self.removed[name] + self.readings.get(name, CorpusReading()).dropped


@dataclass
class CleaningOutcome:
    """The outcome of joining corpora."""

    corpora: dict[str, CleanedCorpus]
    near: Nearness | None = None
    """Pairs of train that are near to those of test and then validation; None if not compared."""

    @property
    def kept(self) -> dict[Split, int]:
        """Pairs of each split, of all corpora."""
        return {
            name: sum(one.kept.get(name, 0) for one in self.corpora.values()) for name in SPLITS
        }

    def list_reasons(self, name: Split) -> Counter[str]:
        """Return why pairs of a split were left out, of all corpora."""
        return sum((one.list_reasons(name) for one in self.corpora.values()), Counter[str]())


@dataclass(frozen=True)
class JoinedSplit:
    """The pairs of a split of all corpora, one corpus after another."""

    name: Split
    pairs: StagedPairs
    keys: PairKeys
    sifted: Sequence[SiftedCorpus]
    corpora: Sequence[CleanedCorpus]
    bounds: tuple[int, ...]
    """Where each corpus begins, and the last ends."""

    @classmethod
    def read(
        cls,
        name: Split,
        sifted: Sequence[SiftedCorpus],
        corpora: Sequence[CleanedCorpus],
        scratch: Path,
    ) -> "JoinedSplit":
        """Join the pairs of a split in a folder for temporary files."""
        pairs, counts = StagedPairs(scratch, name), []
        for corpus in sifted:
            if name == "train" or not corpus.replayed:
                pairs.take(corpus.folder)
            counts.append(pairs.files["digests"].stat().st_size // PairKeys.BYTES)
        return cls(name, pairs, pairs.keys(), sifted, corpora, (0, *counts))

    def ranges(self) -> Iterator[tuple[CleanedCorpus, slice]]:
        """Yield the range of pairs of each corpus."""
        for corpus, (begin, end) in zip(self.corpora, pairwise(self.bounds), strict=True):
            yield corpus, slice(begin, end)

    def strike(self, keep: Mask, marked: Mask, why: str) -> None:
        """Keep none of the marked pairs, and count them."""
        for corpus, rows in self.ranges():
            if struck := int((keep[rows] & marked[rows]).sum()):
                corpus.removed[self.name][why] += struck
        keep[marked] = False

    def write(self, folder: Path, keep: Mask) -> None:
        """Write the pairs that are kept."""
        self.pairs.write(folder, keep)
        for corpus, rows in self.ranges():
            corpus.kept[self.name] = int(keep[rows].sum())


def join_corpora(
    sifted: Mapping[str, SiftedCorpus],
    folder: Path,
    *,
    scratch: Path,
    split: SplitConfig,
    near_duplicates: NearDuplicateConfig,
    workers: WorkersConfig,
) -> CleaningOutcome:
    """Write ``{train,validation,test}.{source,target}`` into ``folder``, without a leak.

    No sentence of test, on either side, is left in validation or train, and none of validation in
    train, of whichever corpora; sentences are the same if their :func:`comparison_key` is. Nor is
    one left in train that is near to one of test or validation; ``test.near`` says of each pair of
    test how many were. Of pairs that are equal, the first is kept; given sets stay as they are.

    Args:
        sifted: the corpora by name, in the order in which they are written.
        folder: the target; the caller makes it appear whole.
        scratch: folder for all pairs while they are compared.
        split: how train was split.
        near_duplicates: the threshold of sentences that are too near to stay in train.
        workers: processes or a cluster.

    Raises:
        CorpusError: if a split, or the train of a corpus, is left without any pair.
        WorkersError: if workers are lost.
    """
    corpora = {name: CleanedCorpus(readings=corpus.readings) for name, corpus in sifted.items()}
    for name, corpus in sifted.items():
        for removed, reasons in corpus.removed.items():
            corpora[name].removed[removed].update(reasons)
    outcome = CleaningOutcome(corpora)
    held_out: dict[Split, PairKeys] = {}
    for name in reversed(SPLITS):
        joined = JoinedSplit.read(name, [*sifted.values()], [*corpora.values()], scratch)
        keep = np.ones(joined.bounds[-1], dtype=np.bool_)
        for other, other_keys in held_out.items():
            joined.strike(keep, joined.keys.shared_with(other_keys), f"also_in_{other}")
        if name == "train":
            joined.strike(keep, _mark_held_out_before(joined), "held_out_before")
        if name == "train" and near_duplicates.distance:
            outcome.near = _find_near(joined.pairs, folder, scratch, near_duplicates, workers)
            near_tests = outcome.near.counts[: outcome.kept["test"]]
            files.write_lines(folder / "test.near", map(str, near_tests.tolist()))
            if near_duplicates.remove:
                marked = np.zeros_like(keep)
                marked[outcome.near.rows] = True
                joined.strike(keep, marked, "near_duplicate")
        joined.strike(keep, mark_repeated(joined), "duplicate")
        if name != "train":
            held_out[name] = joined.keys.only(keep)
        joined.write(folder, keep)
    _check(outcome, sifted, split)
    return outcome


def _mark_held_out_before(train: JoinedSplit) -> Mask:
    """Mark pairs with a sentence that was held out of an earlier training."""
    marked = np.zeros(train.bounds[-1], dtype=np.bool_)
    for corpus in train.sifted:
        for name in SPLITS[1:] if corpus.replayed else ():
            marked |= train.keys.shared_with(StagedPairs(corpus.folder, name).keys())
    return marked


def mark_repeated(joined: JoinedSplit) -> Mask:
    """Mark pairs that an earlier one equals, but those that stay all the same."""
    marked = joined.keys.repeated()
    for corpus, (_, rows) in zip(joined.sifted, joined.ranges(), strict=True):
        given = joined.name != "train" and joined.name in corpus.readings
        if given or (joined.name == "train" and corpus.keep_duplicates):
            marked[rows] = False
    return marked


def _find_near(
    train: StagedPairs,
    folder: Path,
    scratch: Path,
    config: NearDuplicateConfig,
    workers: WorkersConfig,
) -> Nearness:
    """Compare train with test and validation, which are written."""
    held_out = {side: scratch / f"held_out.{side}" for side in SIDES}
    for side, path in held_out.items():
        path.touch()
        for name in ("test", "validation"):
            append(folder / f"{name}.{side}", path)
    sides = {side: train.files[side] for side in SIDES}
    near = find_near_pairs(sides, held_out, config, workers=workers, scratch=scratch)
    for path in held_out.values():
        path.unlink()
    return near


def _check(
    outcome: CleaningOutcome, sifted: Mapping[str, SiftedCorpus], split: SplitConfig
) -> None:
    """Refuse a split without any pair, train first, for the others may come of it."""
    rates = {"validation": split.validation_per_10000, "test": split.test_per_10000}
    kept = outcome.kept
    given = {name for corpus in outcome.corpora.values() for name in corpus.readings}
    hint = _explain_line_ends(outcome)
    for name in ("train", "test", "validation"):
        if kept[name]:
            continue
        if name not in given:
            raise CorpusError(
                f"no pair of {kept['train']} fell into {name} at {rates[name]:g} in "
                f"10,000; raise split.{name}_per_10000 or give a {name} text{hint}"
            )
        reasons = outcome.list_reasons(name)
        advice = advise_other_text(reasons) or "give more text or loosen the filter"
        raise CorpusError(f"no pair is left for {name} ({_list(reasons, outcome)}); {advice}{hint}")
    for own, corpus in outcome.corpora.items():
        if not corpus.kept["train"] and not sifted[own].replayed:
            reasons = corpus.list_reasons("train")
            raise CorpusError(
                f"no pair of the corpus {own} is left for train ({_list(reasons, outcome)}); "
                f"{advise_other_text(reasons) or 'loosen its filter'}, or take it out of "
                f"download.corpora"
            )


def advise_other_text(reasons: Counter[str]) -> str:
    """Return what helps where most was left out because it is validated or tested on, or near."""
    held_out = ("also_in_validation", "also_in_test", "near_duplicate")
    if 2 * sum(reasons[why] for why in held_out) <= reasons.total():
        return ""
    return "what is validated or tested on is never learnt, so give other text"


def _list(reasons: Counter[str], outcome: CleaningOutcome) -> str:
    others = any(outcome.kept.values())
    nothing = "none, all fell into other splits" if others else "none, the text is empty"
    told = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    return f"removed: {told or nothing}"


def _explain_line_ends(outcome: CleaningOutcome) -> str:
    readings = [each for one in outcome.corpora.values() for each in one.readings.values()]
    breaks = sum(reading.repaired["inner_line_break"] for reading in readings)
    if breaks > sum(outcome.kept.values()) or any(
        reading.dropped["line_too_long"] for reading in readings
    ):
        return r"; lines must end in \n, for which CR alone does not stand"
    return ""
