"""All sections of params.yaml, and checks between them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, suggest
from nmt_core.base.packages import format_install_command, is_installed
from nmt_core.corpora.uses import list_targets
from nmt_core.data.settings import TrainedVectors
from nmt_core.evaluation.registry import check_tokenizer
from nmt_core.text.subword_sampling import SAMPLED_MODEL_TYPES, SubwordSampling
from stages import paths
from stages.params import (
    SECTIONS,
    DownloadParams,
    EmbeddingsParams,
    Sections,
    TokenizeParams,
    TrainParams,
    VocabularyParams,
    build_section,
)
from stages.runtime.params_file import read


def check_all(*, path: Path = paths.PARAMS) -> Sections:
    """Return all sections of params.yaml by name, checked before anything is trained.

    Raises:
        ConfigError: naming every wrong key of the whole file.
    """
    return build_all(read(path), source=str(path))


def read_settings(*, path: Path = paths.PARAMS) -> dict[str, Any]:
    """Return all settings, including defaults, as values of JSON.

    Raises:
        ConfigError: naming every wrong key of the whole file.
    """
    return dump_sections(check_all(path=path))


def dump_sections(sections: Sections) -> dict[str, Any]:
    """Return all settings as values of JSON."""
    found = cast("dict[str, Config]", sections)
    return {name: section.model_dump(mode="json") for name, section in found.items()}


def build_all(document: dict[str, Any], *, source: str) -> Sections:
    """Return the sections of a document by name.

    Raises:
        ConfigError: naming ``source`` and every wrong key.
    """
    problems = [
        f"{source}: {name} is not a section; {suggest(str(name), SECTIONS)}"
        for name in document
        if name not in SECTIONS
    ]
    found: dict[str, Config] = {}
    for name, kind in SECTIONS.items():
        try:
            found[name] = build_section(kind, document, name, source=source)
        except ConfigError as error:
            problems.append(str(error))
    sections = cast("Sections", found)
    problems = problems or [f"{source}: {line}" for line in find_disagreements(sections)]
    if problems:
        raise ConfigError("\n".join(problems))
    return sections


def find_disagreements(sections: Sections) -> Iterator[str]:
    """Yield a message for each setting that contradicts another section."""
    download, tokenize = sections["download"], sections["tokenize"]
    embeddings, train = sections["embeddings"], sections["train"]
    vocabulary = sections["vocabulary"]
    if train.model.tie == "all" and not tokenize.joint:
        yield "train.model.tie 'all' needs one vocabulary for both languages; tie 'output'"
    vectors = embeddings.vectors
    if vectors.kind != "none" and train.model.tie != "none":
        yield f"train.model.tie must be 'none' with embeddings.vectors.kind {vectors.kind!r}"
    if isinstance(vectors, TrainedVectors) and vectors.dimensions != train.model.width:
        yield (
            f"embeddings.vectors.dimensions is {vectors.dimensions} but train.model.width is "
            f"{train.model.width}; make them equal"
        )
    if tokenize.kind == "spacy" and not is_installed("spacy"):
        yield f"tokenize.kind 'spacy' needs spaCy; run: {format_install_command('spacy')}"
    yield from check_sampling(train.subword_sampling, tokenize, embeddings)
    yield from check_languages(download, tokenize)
    yield from check_initial(download, tokenize, vocabulary, train)
    if vocabulary.words == "vectors" and tokenize.kind == "characters":
        yield (
            "vocabulary.words 'vectors' takes words, but tokenize.kind is 'characters'; choose "
            "'corpus'"
        )
    has_vectors = download.vectors.kind != "none"
    if not has_vectors and "vectors" in (vectors.kind, vocabulary.words):
        yield (
            "download.vectors.kind is 'none' but embeddings.vectors.kind or vocabulary.words "
            "requires vectors; choose 'download' or 'file'"
        )


def check_languages(download: DownloadParams, tokenize: TokenizeParams) -> Iterator[str]:
    """Yield a message for each language that cannot be tokenized or scored."""
    if download.directions and not tokenize.joint:
        yield (
            "several directions need one vocabulary; set tokenize.kind=sentencepiece and "
            "tokenize.subwords.joint=true"
        )
    for target in list_targets(download.learned):
        try:
            check_tokenizer(target)
        except ConfigError as error:
            name = "directions" if download.directions else "languages.target"
            yield f"download.{name}: {error}"


def check_initial(
    download: DownloadParams,
    tokenize: TokenizeParams,
    vocabulary: VocabularyParams,
    train: TrainParams,
) -> Iterator[str]:
    """Yield a message for each setting that requires an initial model if there is none."""
    required = {
        "tokenize.kind": tokenize.kind == "initial_model",
        "tokenize.added_pieces": tokenize.added_pieces > 0,
        "vocabulary.words": vocabulary.words == "initial_model",
        "train.initial_share": train.initial_share != 0,
    }
    if download.initial_model.kind == "none":
        for name in (name for name, is_required in required.items() if is_required):
            yield (
                f"{name} requires an initial model, but download.initial_model.kind is 'none'; "
                f"choose 'bundle' or 'champion'"
            )


def check_sampling(
    sampling: SubwordSampling, tokenize: TokenizeParams, embeddings: EmbeddingsParams
) -> Iterator[str]:
    """Yield a message for each setting that contradicts subword sampling."""
    if sampling.kind == "none":
        return
    required = SAMPLED_MODEL_TYPES[sampling.kind]
    name = f"train.subword_sampling.kind {sampling.kind!r}"
    if tokenize.kind in ("characters", "spacy"):
        yield f"{name} draws subwords, but tokenize.kind is {tokenize.kind!r}; use sentencepiece"
    elif tokenize.kind == "sentencepiece" and tokenize.subwords.model_type != required:
        yield (
            f"{name} needs tokenize.subwords.model_type {required!r}, got "
            f"{tokenize.subwords.model_type!r}"
        )
    if embeddings.vectors.kind != "none":
        yield (
            f"{name} draws subwords, but embeddings.vectors.kind {embeddings.vectors.kind!r} has "
            f"no vectors for them; choose vectors 'none', or sampling 'none'"
        )
