"""Join filtered corpora into train, validation and test sets that share no sentence.

Digests identify duplicates and leaks; each corpus has its own range of lines.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.jobs import WorkersConfig, append_file
from nmt_core.corpora.filtering import FilteredCorpus
from nmt_core.corpora.near_duplicates import Nearness, find_near_pairs
from nmt_core.corpora.splitting import (
    SPLITS,
    Digests,
    Mask,
    NearDuplicateConfig,
    Split,
    SplitConfig,
    digest,
)
from nmt_core.corpora.staging import SIDES, StagedPairs, mark_repeated, mark_shared

HELD_OUT: tuple[Split, ...] = ("test", "validation")


def count_kept(corpora: Mapping[str, FilteredCorpus]) -> dict[Split, int]:
    """Return the number of remaining pairs of each split, over all corpora."""
    return {split: sum(each.kept.get(split, 0) for each in corpora.values()) for split in SPLITS}


def count_removed(corpora: Mapping[str, FilteredCorpus], split: Split) -> Counter[str]:
    """Return the number of removed pairs of a split, by reason."""
    return sum((corpus.list_reasons(split) for corpus in corpora.values()), Counter())


@dataclass(frozen=True)
class _JoinedSplit:
    """The pairs of a split of all corpora, in the order of the corpora."""

    name: Split
    pairs: StagedPairs
    digests: Digests
    corpora: Sequence[FilteredCorpus]
    bounds: tuple[int, ...]
    """Index of the first pair of each corpus, and the end of the last corpus."""
    keep: Mask
    """Pairs that were not removed."""

    @classmethod
    def read(cls, name: Split, corpora: Iterable[FilteredCorpus], scratch: Path) -> "_JoinedSplit":
        """Return a split, whose pairs are joined in a folder for temporary files."""
        pairs, ends, corpora = StagedPairs(scratch, name), [0], [*corpora]
        for corpus in corpora:
            if name == "train" or corpus.measured:
                pairs.take(corpus.folder, swap=corpus.swapped)
            ends.append(len(pairs))
        keep = np.ones(ends[-1], dtype=np.bool_)
        return cls(name, pairs, pairs.digests(), corpora, tuple(ends), keep)

    def ranges(self) -> Iterator[tuple[FilteredCorpus, slice]]:
        """Yield the range of pairs of each corpus."""
        for corpus, (begin, end) in zip(self.corpora, pairwise(self.bounds), strict=True):
            yield corpus, slice(begin, end)

    def remove(self, marked: Mask, reason: str) -> None:
        """Remove and count marked pairs."""
        for corpus, rows in self.ranges():
            if removed := int((self.keep[rows] & marked[rows]).sum()):
                corpus.removed[self.name][reason] += removed
        self.keep[marked] = False

    def remove_repeated(self) -> None:
        """Remove pairs that equal an earlier one, unless their corpus keeps them."""
        marked = mark_repeated(self.digests)
        for corpus, rows in self.ranges():
            is_given = self.name != "train" and self.name in corpus.readings
            if is_given or (self.name == "train" and corpus.keep_duplicates):
                marked[rows] = False
        self.remove(marked, "duplicate")

    def remove_near(
        self,
        sides: Mapping[str, Path],
        folder: Path,
        scratch: Path,
        distance: float,
        workers: WorkersConfig,
        *,
        across: bool,
    ) -> Nearness:
        """Remove and return near duplicates of the test and validation sets in a folder.

        ``across`` compares each side with both sides of these sets.
        """
        held_out = {side: scratch / f"held_out.{side}" for side in sides}
        for side, path in held_out.items():
            path.touch()
            for other in SIDES if across else (side,):
                for name in HELD_OUT:
                    append_file(folder / f"{name}.{other}", path)
        near = find_near_pairs(sides, held_out, distance, workers=workers, scratch=scratch)
        if across:  # a row per side of each held-out pair
            near = near._replace(counts=near.counts.reshape(len(SIDES), -1).sum(axis=0))
        for path in held_out.values():
            path.unlink()
        marked = np.zeros_like(self.keep)
        marked[near.rows] = True
        self.remove(marked, "near_duplicate")
        return near

    def write(self, folder: Path) -> None:
        """Write the remaining pairs."""
        self.pairs.write(folder, self.keep)
        for corpus, rows in self.ranges():
            corpus.kept[self.name] = int(self.keep[rows].sum())


def join_corpora(
    filtered: Mapping[str, FilteredCorpus],
    folder: Path,
    *,
    scratch: Path,
    split: SplitConfig,
    near_duplicates: NearDuplicateConfig,
    workers: WorkersConfig,
    across: bool = False,
) -> Nearness | None:
    """Write ``{train,validation,test}.{source,target}`` into ``folder``, without leaks.

    Across all corpora and on either side, sentences of test are removed from validation and train,
    sentences of validation from train; ``make_comparison_key`` compares sentences. Near duplicates
    of test and validation are removed from train. The first of equal pairs is kept; validation and
    test sets of the user keep their repetitions.

    The caller replaces the folder atomically; corpora are written in their order. ``across``
    compares sentences of all languages, on either side: several directions may share them.

    Returns:
        Training pairs that are near duplicates of test or validation; None without a search.

    Raises:
        CorpusError: if a split, or the training text of a corpus, has no pairs left.
    """
    near: Nearness | None = None
    held_out: dict[Split, Digests] = {}
    for name in reversed(SPLITS):
        joined = _JoinedSplit.read(name, filtered.values(), scratch)
        for other, digests in held_out.items():
            marked = mark_shared(joined.digests, digests, across=across)
            joined.remove(marked, f"also_in_{other}")
        if name == "train":
            joined.remove(_mark_held_out_before(joined, across=across), "held_out_before")
        if name == "train" and near_duplicates.distance:
            sides = {side: joined.pairs.files[side] for side in SIDES}
            near = joined.remove_near(
                sides, folder, scratch, near_duplicates.distance, workers, across=across
            )
        joined.remove_repeated()
        if name != "train":
            held_out[name] = joined.digests[joined.keep]
        joined.write(folder)
    _check_splits(filtered, split)
    _check_corpora(filtered, "pair")
    return near


def join_monolingual(
    filtered: Mapping[str, FilteredCorpus],
    path: Path,
    *,
    corpus: Path,
    sides: Sequence[str],
    scratch: Path,
    near_duplicates: NearDuplicateConfig,
    workers: WorkersConfig,
) -> None:
    """Write the monolingual text of a language, one sentence per line.

    Removes sentences of validation and test, their near duplicates, and repetitions.

    ``corpus`` is the folder of the parallel text; ``sides`` are those of the language in it.
    """
    joined = _JoinedSplit.read("train", filtered.values(), scratch)
    for split in HELD_OUT:
        lines = chain.from_iterable(files.read_lines(corpus / f"{split}.{side}") for side in sides)
        digests = b"".join(map(digest, lines))
        column = np.frombuffer(digests, dtype="<u8")
        pairs = np.stack([column, column], axis=1)  # each line is a pair with itself
        joined.remove(mark_shared(joined.digests, pairs), f"also_in_{split}")
    if near_duplicates.distance:
        text = {sides[0]: joined.pairs.files["source"]}
        across, distance = len(sides) > 1, near_duplicates.distance
        joined.remove_near(text, corpus, scratch, distance, workers, across=across)
    joined.remove_repeated()
    written = scratch / "monolingual"
    written.mkdir()
    joined.write(written)
    (written / "train.source").replace(path)
    (written / "train.target").unlink()
    written.rmdir()
    _check_corpora(filtered, "line")


def _mark_held_out_before(train: _JoinedSplit, *, across: bool) -> Mask:
    """Mark pairs with a sentence that was held out from an earlier training."""
    marked = np.zeros_like(train.keep)
    for corpus in train.corpora:
        for name in HELD_OUT if corpus.replayed else ():
            held_out = StagedPairs(corpus.folder, name).digests()
            held_out = held_out[:, ::-1] if corpus.swapped else held_out
            marked |= mark_shared(train.digests, held_out, across=across)
    return marked


def _check_splits(corpora: Mapping[str, FilteredCorpus], split: SplitConfig) -> None:
    """Raise a CorpusError if a split has no pairs; train first, which others are split off."""
    kept = count_kept(corpora)
    provided = {name for corpus in corpora.values() for name in corpus.readings}
    for name in ("train", "test", "validation"):
        if not kept[name] and name in provided:
            reasons = _explain(count_removed(corpora, name))
            raise CorpusError(f"no pair is left for {name} ({reasons}")
        if not kept[name]:
            raise CorpusError(
                f"{name} is empty: none of {kept['train']} pairs was selected at "
                f"{split.rate(name):g} in 10,000; raise split.{name}_per_10000 or set a {name} text"
            )


def _check_corpora(corpora: Mapping[str, FilteredCorpus], unit: str) -> None:
    """Raise a CorpusError if a corpus has no training pairs left."""
    for name, corpus in corpora.items():
        if not corpus.kept["train"] and not corpus.replayed:
            raise CorpusError(
                f"no {unit} of the corpus {name} is left for train "
                f"({_explain(corpus.list_reasons('train'))}, or remove it from download.corpora"
            )


def _explain(reasons: Counter[str]) -> str:
    """Return the reasons for removed pairs, and the remedy."""
    listed = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    held_out = ("also_in_validation", "also_in_test", "near_duplicate")
    if 2 * sum(reasons[reason] for reason in held_out) > reasons.total():
        advice = "text of validation and test is never trained on, so use other text"
    else:
        advice = "use more text or relax the filter"
    return f"removed: {listed or 'none, the text is empty or in other splits'}); {advice}"
