"""Turn tokens into numbers in parallel jobs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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


def write_numbers(job: NumberJob, part: Path) -> Counter[str]:
    """Write the pairs as numbers; return how many were left out, by reason."""
    vocabularies = [load_cached(Vocabulary.load, path) for path in job.vocabularies]
    left_out: Counter[str] = Counter()

    def pairs() -> Iterator[IdPair]:
        for lines in zip(*(span.read() for span in job.spans), strict=True):
            words = [line.split() for line in lines]
            if job.max_length is not None and not all(words):
                left_out["empty"] += 1
            elif job.max_length is not None and max(map(len, words)) > job.max_length:
                left_out["too long"] += 1
            else:
                yield IdPair(*(v.encode(w) for v, w in zip(vocabularies, words, strict=True)))

    Block.of(pairs()).save(part, NUMBERED)
    return left_out
