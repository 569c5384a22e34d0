"""Tokenize the corpus, with tokenizers learnt from its training text.

Usage: python -m stages.tokenize
Reads:  data/corpus/{train,validation,test}.{source,target},
        data/initial_model/tokenizer/
Writes: data/tokenizer/{source,target}/, data/tokenized/{train,validation,test}.{source,target},
        reports/tokenize.json
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, compress, cycle, islice, product
from pathlib import Path

import numpy as np

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.jobs import WorkersConfig, append_file, run_in_order, split_file
from nmt_core.base.languages import MULTIPLE, Languages
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text import Characters, Subwords, Tokenizer, load_tokenizer
from nmt_core.text.aligner.aligner import ALIGNER, Aligner, write_aligner
from nmt_core.text.aligner.learning import choose_pairs, learn_aligner
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import Restorer
from nmt_core.text.subwords import SubwordConfig, balance_lines, sample_evenly
from nmt_core.text.tokenizing import TOKENS, TokenizeJob
from nmt_core.text.tokenizing import tokenize as tokenize_lines
from nmt_core.text.words import list_words
from stages import paths
from stages.params import DownloadParams, TokenizeParams, load
from stages.runtime.entry import run_stage

RESTORER_LINES = 300_000
"""Maximum number of lines for learning case and accents; more lines improve little."""

FERTILITY_LINES = 5_000
"""Maximum number of lines by which the tokens per word of a language are measured."""

EXTENSION_LINES = 1_000_000
"""Maximum number of lines per side for learning pieces to add to a tokenizer."""


def run(
    params: TokenizeParams,
    *,
    languages: tuple[str, str],
    corpus: Path,
    tokenizer: Path,
    tokenized: Path,
    workers: WorkersConfig,
    initial_model: Path = paths.INITIAL_MODEL,
) -> dict[str, float]:
    """Write one tokenizer per side, apply it to every split, and return the token counts."""
    if params.kind == "initial_model":
        initial = initial_model / "tokenizer"
        tokenizers = {side: load_tokenizer(initial / side) for side in paths.SIDES}
        if params.added_pieces:
            tokenizers = extend_tokenizers(tokenizers, params, languages=languages, corpus=corpus)
    else:
        tokenizers = build_tokenizers(params, languages=languages, corpus=corpus)
    source = read_training_lines(corpus / "train.source", RESTORER_LINES)
    with files.whole_folder(tokenizer) as folder:
        for side, own in tokenizers.items():
            own.save(folder / side)
        jobs = [
            TokenizeJob((span,), folder / side)
            for side, split in product(paths.SIDES, paths.SPLITS)
            for span in split_file(corpus / f"{split}.{side}", workers.chunk_lines)
        ]
        work = run_in_order(tokenize_lines, jobs, workers, output=tokenized, title="tokenizing")
        with ThreadPoolExecutor(1) as thread, files.whole_folder(tokenized) as part, work as done:
            restorer = thread.submit(Restorer.learn, source)  # while other processes tokenize
            aligner = thread.submit(train_aligner, corpus)
            metrics = write_tokens(jobs, done, part)
        restorer.result().save(folder / "source")
        with suppress(CorpusError):  # all lines are too long to align their words
            write_aligner(folder / ALIGNER, aligner.result())
    if MULTIPLE in languages:
        metrics |= measure_fertility(tokenizers["source"], read_languages(corpus))
    return metrics


def build_tokenizers(
    params: TokenizeParams, *, languages: tuple[str, str], corpus: Path
) -> dict[str, Tokenizer]:
    """Return the tokenizer of each side; a joint tokenizer serves both sides."""
    if params.kind == "characters":
        return dict.fromkeys(paths.SIDES, Characters())
    if params.kind == "spacy":
        from nmt_core.text.spacy_words import SpacyWords  # takes a second

        # spaCy has rules per language, without region and script
        bases = (language.partition("-")[0] for language in languages)
        words = (SpacyWords(base, numbers=params.numbers) for base in bases)
        return dict(zip(paths.SIDES, words, strict=True))
    config = params.subwords
    max_lines = max(1, config.max_lines // 2) if config.joint else config.max_lines
    texts = {side: read_training_lines(corpus / f"train.{side}", max_lines) for side in paths.SIDES}
    lines: Iterator[str] = chain.from_iterable(texts.values())
    if MULTIPLE in languages:
        lines = read_balanced_lines(config, corpus)
    if MULTIPLE in languages or config.joint:
        return dict.fromkeys(paths.SIDES, Subwords.train(lines, config, symbols=ALL_SYMBOLS))
    return {side: Subwords.train(text, config, symbols=ALL_SYMBOLS) for side, text in texts.items()}


def extend_tokenizers(
    tokenizers: Mapping[str, Tokenizer],
    params: TokenizeParams,
    *,
    languages: tuple[str, str],
    corpus: Path,
) -> dict[str, Tokenizer]:
    """Return the joint tokenizer of the initial model with pieces of the present text.

    Raises:
        ConfigError: if it has no subwords, or each side has its own.
    """
    source, target = tokenizers["source"], tokenizers["target"]
    if not (
        isinstance(source, Subwords)
        and isinstance(target, Subwords)
        and source.vocabulary.tokens == target.vocabulary.tokens
    ):
        raise ConfigError(
            "the initial model has no joint subwords to add to; set tokenize.added_pieces to 0"
        )
    if MULTIPLE in languages:
        lines = read_balanced_lines(params.subwords, corpus)
    else:
        sides = (read_training_lines(corpus / f"train.{s}", EXTENSION_LINES) for s in paths.SIDES)
        lines = chain.from_iterable(sides)
    return dict.fromkeys(paths.SIDES, source.extend(lines, params.added_pieces))


def read_balanced_lines(config: SubwordConfig, corpus: Path) -> Iterator[str]:
    """Return normalized training lines of several directions, balanced over languages."""
    own = read_languages(corpus)
    counts = {code: len(lines) for code, lines in own.items()}
    wanted = balance_lines(counts, config.max_lines, config.temperature)
    lines = chain.from_iterable(
        islice(cycle(sample_evenly(own[code], counts[code], count)), count)
        for code, count in wanted.items()
    )
    return map(normalize, lines)


def read_languages(corpus: Path) -> dict[str, list[str]]:
    """Return the training lines of each language of several directions.

    Both directions of two languages have the same text, so that only the first one is read;
    synthetic pairs of the other direction are left out.
    """
    texts: dict[str, list[str]] = {}
    first: dict[frozenset[str], Languages] = {}
    sides = [list(files.read_lines(corpus / f"train.{side}")) for side in paths.SIDES]
    start = 0
    counts = files.read_json(corpus / "corpus.json")["corpora"]
    for direction, pairs in zip(paths.read_directions(corpus), counts, strict=True):
        rows = slice(start, start := start + pairs["train"])
        if first.setdefault(frozenset(direction.codes), direction) == direction:
            for code, lines in zip(direction.codes, sides, strict=True):
                texts.setdefault(code, []).extend(lines[rows])
    return texts


def measure_fertility(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the tokens per word of each language, measured on some of its lines."""
    fertility = {}
    for code, lines in texts.items():
        sampled = [*map(normalize, sample_evenly(lines, len(lines), FERTILITY_LINES))]
        words = sum(len(list_words(line)) for line in sampled)
        tokens = sum(len(tokenizer.encode(line)) for line in sampled)
        fertility[f"{code}_tokens_per_word"] = tokens / max(1, words)
    return fertility


def read_training_lines(path: Path, limit: int) -> Iterator[str]:
    """Yield at most ``limit`` normalized lines of a file, evenly spread."""
    total = sum(span.lines for span in split_file(path, limit))
    yield from map(normalize, sample_evenly(files.read_lines(path), total, limit))


def train_aligner(corpus: Path) -> Aligner:
    """Return a word aligner of the normalized training pairs."""
    texts = [corpus / f"train.{side}" for side in paths.SIDES]
    words = [
        np.fromiter((line.count(" ") + 1 for line in files.read_lines(text)), np.int64)
        for text in texts
    ]
    chosen, config = choose_pairs(*words)
    is_chosen = np.isin(np.arange(len(words[0])), chosen)
    lines = (map(normalize, compress(files.read_lines(text), is_chosen)) for text in texts)
    return learn_aligner(zip(*lines, strict=True), config)


def write_tokens(
    jobs: list[TokenizeJob], done: Iterator[tuple[Path, int]], tokenized: Path
) -> dict[str, float]:
    """Join the tokenized parts to a file per text; return the number of tokens of each."""
    counts = {f"{split}.{side}": 0 for side in paths.SIDES for split in paths.SPLITS}
    for name in counts:
        (tokenized / name).touch()
    for job, (part, tokens) in zip(jobs, done, strict=True):
        append_file(part / TOKENS, tokenized / (name := job.spans[0].path.name))
        counts[name] += tokens
    return {f"{name.replace('.', '_')}_tokens": tokens for name, tokens in counts.items()}


def main() -> None:
    """Run the stage on the project's own paths."""
    metrics = run(
        load(TokenizeParams, "tokenize"),
        languages=load(DownloadParams, "download").languages.codes,
        corpus=paths.CORPUS,
        tokenizer=paths.TOKENIZER,
        tokenized=paths.TOKENIZED,
        workers=load(WorkersConfig, "workers"),
    )
    files.write_json(paths.REPORTS / "tokenize.json", metrics)


if __name__ == "__main__":
    run_stage(main)
