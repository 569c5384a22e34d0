"""Write the vocabulary of each language.

Usage: python -m stages.vocabulary
Reads:  data/tokenizer/, data/tokenized/train.{source,target}, data/vectors/, data/tags.json,
        data/initial_model/vocabulary/
Writes: data/vocabulary/{source,target}.txt and digests.json, reports/vocabulary.json
"""

from collections import Counter
from collections.abc import Collection
from itertools import chain
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.jobs import Job, WorkersConfig, run_in_order, split_file
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.data.vectors import read_downloaded_vectors
from nmt_core.text import Characters, Subwords, load_tokenizer
from nmt_core.text.tokenizing import count_tokens
from nmt_core.text.vocabulary import Vocabulary
from stages import paths
from stages.params import VocabularyParams, load
from stages.runtime.entry import run_stage
from stages.runtime.fingerprint import write_digests

BYTE = "<0x00>"  # a piece of subwords that encode unknown characters as bytes


def run(  # noqa: PLR0913 - one argument per input
    params: VocabularyParams,
    *,
    tokenizer: Path,
    tokenized: Path,
    vectors: Path,
    vocabulary: Path,
    workers: WorkersConfig,
    tags: Collection[str] = (),
    initial_model: Path = paths.INITIAL_MODEL,
) -> dict[str, float]:
    """Write one vocabulary per side; return the sizes and the rates of unknown tokens.

    A subword tokenizer's own vocabulary is used unchanged. Characters of both sides are counted
    together, because tied embeddings require one vocabulary; so both sides have the tags.
    """
    tokenizers = {side: load_tokenizer(tokenizer / side) for side in paths.SIDES}
    sides = [s for s, own in tokenizers.items() if BYTE not in getattr(own, "vocabulary", ())]
    counted = count(tokenized, sides, vocabulary, workers)
    metrics: dict[str, float] = {}
    with files.whole_folder(vocabulary) as part:
        for side, counts in counted.items():
            if isinstance(own := tokenizers[side], Subwords):
                tokens = own.vocabulary
            elif params.words == "initial_model":
                tokens = Vocabulary.load(initial_model / "vocabulary" / f"{side}.txt")
            elif params.words == "vectors":
                # frequent words come first
                _, rows = read_downloaded_vectors(vectors / f"{side}.vec")
                words = [word for word, _ in rows]
                tokens = Vocabulary.most_frequent(
                    {word: len(words) - rank for rank, word in enumerate(words)},
                    max_size=params.max_size,
                    symbols=ALL_SYMBOLS,
                )
            else:
                tokens = Vocabulary.most_frequent(
                    sum(counted.values(), Counter()) if isinstance(own, Characters) else counts,
                    max_size=params.max_size,
                    min_count=params.min_count,
                    symbols=ALL_SYMBOLS,
                )
            tokens = tokens.with_tags(tags)
            tokens.save(part / f"{side}.txt")
            unknown = sum(count for token, count in counts.items() if token not in tokens)
            metrics[f"{side}_size"] = len(tokens)
            metrics[f"{side}_unknown_rate"] = unknown / max(1, counts.total())
        write_digests(part)
    return metrics


def count(
    tokenized: Path, sides: Collection[str], vocabulary: Path, workers: WorkersConfig
) -> dict[str, Counter[str]]:
    """Return the counts of tokens in the training text of these sides, and none of others."""
    counted: dict[str, Counter[str]] = {side: Counter() for side in paths.SIDES}
    jobs = [
        Job((span,))
        for side in sides
        for span in split_file(tokenized / f"train.{side}", workers.chunk_lines)
    ]
    with run_in_order(count_tokens, jobs, workers, output=vocabulary, title="counting") as done:
        for job, (_, counts) in zip(jobs, done, strict=True):
            counted[job.spans[0].path.suffix.removeprefix(".")].update(counts)
    return counted


def list_known_tags(tags: Path, initial_model: Path) -> set[str]:
    """Return the tags of the corpora and of the initial model's vocabulary."""
    vocabulary = initial_model / "vocabulary" / "source.txt"
    initial_tags = Vocabulary.load(vocabulary).tags if vocabulary.exists() else {}
    return {*initial_tags, *chain.from_iterable(files.read_json(tags))}


def main() -> None:
    """Run the stage on the project's own paths."""
    metrics = run(
        load(VocabularyParams, "vocabulary"),
        tokenizer=paths.TOKENIZER,
        tokenized=paths.TOKENIZED,
        vectors=paths.VECTORS,
        vocabulary=paths.VOCABULARY,
        workers=load(WorkersConfig, "workers"),
        tags=list_known_tags(paths.TAGS, paths.INITIAL_MODEL),
    )
    files.write_json(paths.REPORTS / "vocabulary.json", metrics)


if __name__ == "__main__":
    run_stage(main)
