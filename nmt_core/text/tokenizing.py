"""Tokenize lines in parallel jobs."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nmt_core.base.jobs import Job, load_cached
from nmt_core.text import load_tokenizer
from nmt_core.text.normalize import normalize

TOKENS = "tokens"
"""The file that ``tokenize`` writes."""


@dataclass(frozen=True)
class TokenizeJob(Job):
    """Lines to be cut into tokens."""

    tokenizer: Path
    """Absolute path of its folder."""


def tokenize(job: TokenizeJob, part: Path) -> int:
    """Write the tokens of every line, as models see it, with spaces between; return how many."""
    tokenizer = load_cached(load_tokenizer, job.tokenizer)
    [span] = job.spans
    count = 0
    with (part / TOKENS).open("w", encoding="utf-8", newline="") as file:
        for line in span.read():
            tokens = tokenizer.encode(normalize(line))
            count += len(tokens)
            file.write(" ".join(tokens) + "\n")
    return count


def count_tokens(job: Job, _: Path) -> Counter[str]:
    """Count the tokens of lines that are cut already."""
    [span] = job.spans
    counts: Counter[str] = Counter()
    for line in span.read():
        counts.update(line.split())
    return counts
