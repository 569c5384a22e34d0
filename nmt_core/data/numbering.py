"""Turn tokens into numbers in parallel jobs."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nmt_core.base.parallel.jobs import Job, load_cached
from nmt_core.data.shards import Block, IdPair
from nmt_core.text.vocabulary import Vocabulary

NUMBERED = "numbered"
"""The name under which :func:`number` writes its block."""


@dataclass(frozen=True)
class NumberJob(Job):
    """Tokens of source and target to be numbered."""

    vocabularies: tuple[Path, ...]
    """Absolute path of each side's."""
    max_length: int | None
    """Tokens on either side above which a pair is left out, as one with an empty side is; None
    leaves none out, so that the pairs still match the lines of the corpus."""
    ends: tuple[int, ...]
    """Last line of each corpus, from 1, in order."""


@dataclass(frozen=True)
class Numbered:
    """Counts of a job: pairs left out by reason, and kept by place of the corpus."""

    left_out: Counter[str] = field(default_factory=Counter)
    kept: Counter[int] = field(default_factory=Counter)


def write_numbers(job: NumberJob, part: Path) -> Numbered:
    """Write the pairs as numbers; return the counts."""
    vocabularies = [load_cached(Vocabulary.load, path) for path in job.vocabularies]
    numbered = Numbered()

    def pairs() -> Iterator[IdPair]:
        rows = zip(*(span.read() for span in job.spans), strict=True)
        for line, row in enumerate(rows, start=job.spans[0].first):
            words = [side.split() for side in row]
            if job.max_length is not None and not all(words):
                numbered.left_out["empty"] += 1
            elif job.max_length is not None and max(map(len, words)) > job.max_length:
                numbered.left_out["too long"] += 1
            else:
                numbered.kept[bisect_left(job.ends, line)] += 1
                yield IdPair(*(v.encode(w) for v, w in zip(vocabularies, words, strict=True)))

    Block.of(pairs()).save(part, NUMBERED)
    return numbered
