"""The trained model with its tokenizers and vocabularies, for evaluation and export."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from nmt_core.base import files
from nmt_core.base.compute import prepare_compute
from nmt_core.base.languages import Languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import build_model, read_model_config
from nmt_core.models.weights import load_own_tensors
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.text.aligner.aligner import ALIGNER, find_aligner
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.translation.text_search import TranslatorConfig
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import EvaluateParams
from stages.runtime.fingerprint import check_digests


@dataclass(frozen=True)
class TrainedInputs:
    """Outputs of earlier stages."""

    trained: Path = paths.TRAINED
    corpus: Path = paths.CORPUS
    tokenizer: Path = paths.TOKENIZER
    vocabulary: Path = paths.VOCABULARY
    tags: tuple[str, ...] = ()
    """Of the corpora, empty for one without; none at all if no corpus has any."""


def check_trained() -> None:
    """Make sure that the project's trained model and its vocabulary are as they were written.

    Raises:
        NmtError: naming the file that is not, and the stage that makes it.
    """
    check_digests(paths.VOCABULARY, stage="vocabulary")
    check_digests(paths.TRAINED, stage="train")


def load_trained(
    params: EvaluateParams, inputs: TrainedInputs, languages: Languages | None = None
) -> Translator:
    """Return the trained model with its tokenizers and vocabularies."""
    compute = prepare_compute(params.device, precision="float32", threads=params.threads)
    source, target = (
        Side.load(inputs.tokenizer / side, inputs.vocabulary / f"{side}.txt")
        for side in paths.SIDES
    )
    model = load_model(inputs.trained, len(source.vocabulary), len(target.vocabulary))
    return Translator(
        engine=PyTorchEngine(
            model.to(compute.device),
            len(target.vocabulary),
            never=tuple(target.vocabulary.tags.values()),
        ),
        source=source,
        target=target,
        config=TranslatorConfig(beam=params.beam, batch_tokens=params.batch_tokens),
        languages=languages,
        restorer=Restorer.load(inputs.tokenizer / "source"),
        aligner=find_aligner(inputs.tokenizer / ALIGNER),
    )


def load_model(trained: Path, source_size: int, target_size: int) -> Seq2Seq[Any, Any]:
    """Return the trained model."""
    config = read_model_config(files.read_json(trained / "model.json"))
    model = build_model(config, source_size=source_size, target_size=target_size)
    load_own_tensors(model, load_file(trained / "model.safetensors"))
    return model


def read_validation(
    inputs: TrainedInputs, count: int, seed: int
) -> tuple[list[str], list[str], list[str | None]]:
    """Return ``count`` pairs of the validation set, drawn by ``seed``, and the tags of each."""
    sides = [list(files.read_lines(inputs.corpus / f"validation.{side}")) for side in paths.SIDES]
    chosen = draw_line_numbers(len(sides[0]), count, seed)
    source, target = ([side[number] for number in chosen] for side in sides)
    tags = list_tags(inputs, "validation")
    return source, target, [tags[number] if tags else None for number in chosen]


def list_tags(inputs: TrainedInputs, split: str) -> list[str | None]:
    """Return the tag of each line of a split, that of its corpus; empty if no corpus has any."""
    if not any(inputs.tags):
        return []
    corpora = files.read_json(inputs.corpus / "corpus.json")["corpora"]
    return [
        tag or None
        for tag, pairs in zip(inputs.tags, corpora, strict=True)
        for _ in range(pairs[split])
    ]


def tag_lines(side: Side, lines: Sequence[str], tags: Sequence[str | None]) -> list[Tokenized]:
    """Return lines with their tags; without any if there are none."""
    read = [side.tokenize(line) for line in lines]
    return [replace(text, tag=tag) for text, tag in zip(read, tags, strict=True)] if tags else read
