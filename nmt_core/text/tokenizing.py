"""Tokenize lines and count tokens in parallel jobs."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nmt_core.base.jobs import Job, load_cached
from nmt_core.text import load_tokenizer
from nmt_core.text.normalize import normalize

TOKENS = "tokens"
"""Name of the file that ``tokenize`` writes."""


@dataclass(frozen=True)
class TokenizeJob(Job):
    """Lines to tokenize."""

    tokenizer: Path
    """Absolute path of the tokenizer's folder."""


def tokenize(job: TokenizeJob, part: Path) -> int:
    """Write the tokens of each line, separated by spaces, to a folder; return their number."""
    tokenizer = load_cached(load_tokenizer, job.tokenizer)
    [span] = job.spans
    count = 0
    with (part / TOKENS).open("w", encoding="utf-8", newline="") as file:
        for line in map(normalize, span.read()):
            tokens = tokenizer.encode(line)
            count += len(tokens)
            file.write(" ".join(tokens) + "\n")
    return count


def count_tokens(job: Job, _: Path) -> Counter[str]:
    """Return the number of occurrences of each token in tokenized lines."""
    [span] = job.spans
    counts: Counter[str] = Counter()
    for line in span.read():
        counts.update(line.split())
    return counts
