"""Tokenize lines and count tokens in parallel jobs."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from nmt_core.base.jobs import Job, load_cached
from nmt_core.text import Subwords, load_tokenizer
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
    join = tokenizer.join_pieces if isinstance(tokenizer, Subwords) else None
    lines = map(normalize, job.spans[0].read())
    tokens = [join(line) if join else " ".join(tokenizer.encode(line)) for line in lines]
    (part / TOKENS).write_text("\n".join([*tokens, ""]), encoding="utf-8", newline="")
    return sum(line.count(" ") + bool(line) for line in tokens)


def count_tokens(job: Job, _: Path) -> Counter[str]:
    """Return the number of occurrences of each token in tokenized lines."""
    [span] = job.spans
    return Counter(chain.from_iterable(map(str.split, span.read())))
