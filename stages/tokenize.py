"""Cut the corpus into tokens, with a tokenizer learnt from its training part.

Usage: python -m stages.tokenize
Reads:  data/corpus/{train,validation,test}.{source,target}
Writes: data/tokenizer/{source,target}/, data/tokenized/{train,validation,test}.{source,target},
        metrics/tokenize.json
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from nmt_core import files
from nmt_core.text import Subwords, Tokenizer
from nmt_core.text.normalize import normalize
from nmt_core.text.subwords import evenly
from stages import paths
from stages.entry import run_stage
from stages.params import DownloadParams, TokenizeParams, load


def run(
    params: TokenizeParams,
    *,
    languages: tuple[str, str],
    corpus: Path,
    tokenizer: Path,
    tokenized: Path,
) -> dict[str, float]:
    """Learn or build one tokenizer per side and apply it to every split."""
    tokenizers = build_tokenizers(params, languages=languages, corpus=corpus)
    with files.whole_folder(tokenizer) as part:
        for side, own in tokenizers.items():
            own.save(part / side)
    counts: dict[str, float] = {}
    with files.whole_folder(tokenized) as part:
        for side, own in tokenizers.items():
            for split in paths.SPLITS:
                name = f"{split}.{side}"
                tokens = write_tokens(own, corpus / name, part / name)
                counts[f"{split}_{side}_tokens"] = tokens
    return counts


def build_tokenizers(
    params: TokenizeParams, *, languages: tuple[str, str], corpus: Path
) -> dict[str, Tokenizer]:
    """Return the tokenizers of both sides; a joint one stands for both."""
    config = params.subwords
    if params.kind == "spacy":
        from nmt_core.text.spacy_words import SpacyWords  # noqa: PLC0415 - takes a second

        words = (SpacyWords(language, numbers=params.numbers) for language in languages)
        return dict(zip(paths.SIDES, words, strict=True))
    if config.joint:
        joint = Subwords.train(
            chain.from_iterable(
                training_lines(corpus / f"train.{side}", config.max_lines // 2)
                for side in paths.SIDES
            ),
            config,
        )
        return dict.fromkeys(paths.SIDES, joint)
    return {
        side: Subwords.train(training_lines(corpus / f"train.{side}", config.max_lines), config)
        for side in paths.SIDES
    }


def training_lines(path: Path, at_most: int) -> Iterator[str]:
    """Yield normalised lines of a file, evenly spread if there are too many."""
    total = sum(1 for _ in files.read_lines(path))
    yield from evenly((normalize(line) for line in files.read_lines(path)), total, at_most)


def write_tokens(tokenizer: Tokenizer, text: Path, tokens: Path) -> int:
    """Write the tokens of every line, separated by spaces; return how many there are."""
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for line in files.read_lines(text):
            words = tokenizer.encode(line)
            count += len(words)
            yield " ".join(words)

    files.write_lines(tokens, lines())
    return count


def main() -> None:
    """Run the stage on the project's own paths."""
    languages = load(DownloadParams, "download").languages
    metrics = run(
        load(TokenizeParams, "tokenize"),
        languages=(languages.source, languages.target),
        corpus=paths.CORPUS,
        tokenizer=paths.TOKENIZER,
        tokenized=paths.TOKENIZED,
    )
    files.write_json(paths.METRICS / "tokenize.json", metrics)


if __name__ == "__main__":
    run_stage(main)
