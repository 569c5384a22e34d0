"""An exported model: one sealed folder with all that translating needs.

::

    manifest.json           format, and the digest and size of every other file
    model.safetensors       weights, without copies of tied ones
    model.json              architecture and shape
    tokenizer/source, tokenizer/target
    tokenizer/translations.json     usual translations of words, which a glossary changes
    vocabulary/source.txt, vocabulary/target.txt
    languages.json          source and target language, if they are known
    glossary.tsv            terms to translate as a person wants, if there are any
    decoding.json           how to search
    confidence.json         how likely a translation is good, if that could be fitted
    golden.json             lines, and their translations at the time of export
    engines/NAME/           the model as a faster program reads it
    engines/NAME.json       how its translations compare with PyTorch's; its golden lines
    README.md               the model card
    sbom.cdx.json           which packages made it, of which version and licence

``seal.py`` explains the manifest. Nothing in a bundle is executed, unpickled or
fetched, nothing is written, and equal models give equal bytes. A forged folder still runs nothing,
and takes no more memory than its files and the bounds of its settings allow.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import save_file

from nmt_core.base import files
from nmt_core.base.errors import BundleError
from nmt_core.base.seal import FORMAT, MANIFEST, list_contents
from nmt_core.literals.glossary import join_glossaries
from nmt_core.models.weights import own_tensors
from nmt_core.search.engine import FOLDER
from nmt_core.text.aligner.aligner import ALIGNER, write_aligner
from nmt_core.translation.engine_export import AddedEngine
from nmt_core.translation.loading import CONFIDENCE, GLOSSARY, LANGUAGES
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import check_golden, translate_golden


class Papers(NamedTuple):
    """Documents about a model."""

    card: str
    """The model card, in Markdown."""
    bill: Mapping[str, Any]
    """The packages that made it, as CycloneDX."""
    texts: Sequence[Mapping[str, Any]] = ()
    """Its training corpora, for a training that continues it."""


def _answer(translator: Translator, lines: Sequence[str]) -> list[dict[str, Any]]:
    return [answer.model_dump(mode="json") for answer in translate_golden(translator, lines)]


def _write_engine(folder: Path, engine: AddedEngine, golden: list[dict[str, Any]]) -> None:
    shutil.copytree(engine.folder, folder / engine.name)
    description = {"parity": engine.parity.model_dump(mode="json"), "golden": golden}
    files.write_json(folder / f"{engine.name}.json", description)


def write_bundle(
    folder: Path,
    *,
    translator: Translator,
    model_config: Mapping[str, Any],
    papers: Papers,
    golden_sentences: Sequence[str],
    engines: Sequence[AddedEngine] = (),
) -> None:
    """Seal a translator into a folder, which replaces one of that name.

    Args:
        folder: the target.
        translator: the model, both sides and their settings.
        model_config: settings the model was built from, as :func:`read_model_config` reads them.
        papers: documents about the model.
        golden_sentences: lines whose translations are kept, to detect changes later.
        engines: faster engines of the model.

    Raises:
        BundleError: if the written model does not translate the golden sentences as ``translator``
            and the engines do.
    """
    with files.whole_folder(folder) as part:
        model = translator.full.model
        weights = {n: w.cpu().contiguous() for n, w in own_tensors(model).items()}
        save_file(weights, part / "model.safetensors")
        files.write_json(part / "model.json", dict(model_config))
        for name, side in (("source", translator.source), ("target", translator.target)):
            side.tokenizer.save(part / "tokenizer" / name)
            side.vocabulary.save(part / "vocabulary" / f"{name}.txt")
        if translator.restorer:
            translator.restorer.save(part / "tokenizer" / "source")
        if translator.aligner:
            write_aligner(part / ALIGNER, translator.aligner)
        if translator.languages:
            files.write_json(part / LANGUAGES, translator.languages.model_dump(mode="json"))
        if translator.glossaries:
            join_glossaries(translator.glossaries).save(part / GLOSSARY)
        if translator.confidence_model:
            judging = translator.confidence_model.model_dump(mode="json")
            files.write_json(part / CONFIDENCE, judging)
        files.write_json(part / "decoding.json", translator.config.model_dump(mode="json"))
        files.write_json(part / "corpora.json", [*papers.texts])
        files.write_json(part / "golden.json", _answer(translator, golden_sentences))
        for engine in engines:
            golden = _answer(replace(translator, engine=engine.engine), golden_sentences)
            _write_engine(part / FOLDER, engine, golden)
        files.write_text(part / "README.md", papers.card)
        files.write_json(part / "sbom.cdx.json", dict(papers.bill))
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})
        device = next(model.parameters()).device.type
        loaded = [Translator.load(part, engine="torch", device=device)]
        loaded += [Translator.load(part, engine=engine.name, device="cpu") for engine in engines]
        for mismatch in chain.from_iterable(check_golden(copy, part) for copy in loaded):
            raise BundleError(
                f"the exported model translates {mismatch.source!r} as {mismatch.got!r}, but the "
                f"model it came from as {mismatch.expected!r}; model_config is not what it was "
                f"built from, or a tokenizer does not come back as it was saved"
            )
