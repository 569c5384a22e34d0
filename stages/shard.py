"""Write the training and validation pairs as token numbers in memory-mapped shards.

Usage: python -m stages.shard
Reads:  data/tokenized/{train,validation}.{source,target}, data/vocabulary/
Writes: data/shards/{train,validation}/, metrics/shard.json
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nmt_core import files
from nmt_core.data.shards import IdPair, write_shards
from nmt_core.errors import CorpusError
from nmt_core.vocabulary import Vocabulary
from stages import paths
from stages.entry import run_stage
from stages.params import ShardParams, load


def run(
    params: ShardParams, *, tokenized: Path, vocabulary: Path, shards: Path
) -> dict[str, float]:
    """Number the tokens; leave training pairs out that are too long or have an empty side."""
    vocabularies = [Vocabulary.load(vocabulary / f"{side}.txt") for side in paths.SIDES]
    metrics: dict[str, float] = {}
    with files.whole_folder(shards) as part:
        for split in ("train", "validation"):
            left_out: Counter[str] = Counter()
            limit = params.max_tokens if split == "train" else None
            pairs = numbered(tokenized, split, vocabularies, limit, left_out)
            written = write_shards(pairs, part / split, pairs_per_shard=params.pairs_per_shard)
            if not written.pairs:
                raise CorpusError(
                    f"no {split} pair is left to train on ({dict(left_out)} left out); raise "
                    f"shard.max_tokens or give more text"
                )
            metrics |= {
                f"{split}_shards": written.shards,
                f"{split}_pairs": written.pairs,
                f"{split}_source_tokens": written.source_tokens,
                f"{split}_target_tokens": written.target_tokens,
            }
            if limit is not None:
                metrics |= {"too_long": left_out["too long"], "empty": left_out["empty"]}
    return metrics


def numbered(
    tokenized: Path,
    split: str,
    vocabularies: list[Vocabulary],
    limit: int | None,
    left_out: Counter[str],
) -> Iterator[IdPair]:
    """Yield the pairs of a split as numbers; count those left out, by reason.

    Without a limit none is left out, so that the pairs still match the lines of the corpus.
    """
    sides = [files.read_lines(tokenized / f"{split}.{side}") for side in paths.SIDES]
    for lines in zip(*sides, strict=True):
        words = [line.split() for line in lines]
        if limit is not None and not all(words):
            left_out["empty"] += 1
        elif limit is not None and max(map(len, words)) > limit:
            left_out["too long"] += 1
        else:
            yield IdPair(*(v.encode(w) for v, w in zip(vocabularies, words, strict=True)))


def main() -> None:
    """Run the stage on the project's own paths."""
    metrics = run(
        load(ShardParams, "shard"),
        tokenized=paths.TOKENIZED,
        vocabulary=paths.VOCABULARY,
        shards=paths.SHARDS,
    )
    files.write_json(paths.METRICS / "shard.json", metrics)


if __name__ == "__main__":
    run_stage(main)
