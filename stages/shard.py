"""Write the training and validation pairs as token ids in memory-mapped shards.

Usage: python -m stages.shard
Reads:  data/tokenized/{train,validation}.{source,target}, data/vocabulary/,
        data/corpus/corpus.json
Writes: data/shards/{train,validation}/, reports/shard.json
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import CorpusError
from nmt_core.base.jobs import WorkersConfig, run_in_order, split_file
from nmt_core.data.shards import NUMBERED, Block, NumberJob, write_numbers, write_shards
from stages import paths
from stages.params import ShardParams, load
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import check_digests


def run(
    params: ShardParams,
    *,
    tokenized: Path,
    vocabulary: Path,
    shards: Path,
    corpora: Mapping[str, Sequence[int]],
    workers: WorkersConfig,
) -> dict[str, float]:
    """Write token ids without training pairs that are too long or empty; return the counts.

    ``corpora`` has the number of pairs of each corpus by split, in order.
    """
    metrics: dict[str, float] = {}
    words = tuple(vocabulary.absolute() / f"{side}.txt" for side in paths.SIDES)
    with files.whole_folder(shards) as part:
        for split in ("train", "validation"):
            left_out: Counter[str] = Counter()
            limit = params.max_length if split == "train" else None
            kept, ends = [0] * len(corpora[split]), tuple(accumulate(corpora[split]))
            texts = (tokenized / f"{split}.{side}" for side in paths.SIDES)
            sides = [split_file(text, workers.chunk_lines) for text in texts]
            jobs = [NumberJob(spans, words, limit, ends) for spans in zip(*sides, strict=True)]
            with run_in_order(
                write_numbers, jobs, workers, output=shards, title="numbering"
            ) as done:
                written = write_shards(
                    read_numbered(done, left_out, kept),
                    part / split,
                    pairs_per_shard=params.pairs_per_shard,
                    corpora=kept,
                )
            if not written["pairs"]:
                raise CorpusError(
                    f"no {split} pair is left ({dict(left_out)} left out); raise "
                    f"shard.max_length, or provide more text"
                )
            metrics |= {f"{split}_{name}": count for name, count in written.items()}
            if limit is not None:
                metrics |= {"too_long": left_out["too long"], "empty": left_out["empty"]}
    return metrics


def read_numbered(
    done: Iterator[tuple[Path, tuple[Counter[str], Counter[int]]]],
    left_out: Counter[str],
    kept: list[int],
) -> Iterator[Block]:
    """Yield blocks of numbered pairs; count left-out and kept pairs in place."""
    for part, (omitted, numbered) in done:
        left_out.update(omitted)
        for place, pairs in numbered.items():
            kept[place] += pairs
        yield Block.load(part, NUMBERED)


def read_corpora(corpus: Path) -> dict[str, list[int]]:
    """Return the number of pairs of each corpus by split, in order."""
    corpora = files.read_json(corpus / "corpus.json")["corpora"]
    return {split: [pairs[split] for pairs in corpora] for split in paths.SPLITS}


def main() -> None:
    """Run the stage on the project's own paths."""
    check_digests(paths.VOCABULARY, stage="vocabulary")
    metrics = run(
        load(ShardParams, "shard"),
        tokenized=paths.TOKENIZED,
        vocabulary=paths.VOCABULARY,
        shards=paths.SHARDS,
        corpora=read_corpora(paths.CORPUS),
        workers=load(WorkersConfig, "workers"),
    )
    files.write_json(paths.REPORTS / "shard.json", metrics)


if __name__ == "__main__":
    run_stage(main)
