"""An exported model: one sealed folder with everything that translation needs.

::

    manifest.json           format, and the digest and size of every other file
    model.safetensors       weights, without copies of tied ones
    model.json              architecture and shape
    tokenizer/source, tokenizer/target
    tokenizer/translations.json     frequent translations of words, for word alignment
    vocabulary/source.txt, vocabulary/target.txt
    languages.json          source and target language, if known; of a multilingual model, those of
                            its glossary
    directions.json         directions of a multilingual model
    glossary.tsv            glossary, if there is one
    decoding.json           settings of the search
    confidence.json         quality estimation, if it could be fitted
    golden.json             golden sentences with their translations at the time of export
    engines/NAME/           the model converted for a faster engine
    engines/NAME.json       comparison with PyTorch, and golden sentences of the engine
    README.md               the model card
    sbom.cdx.json           packages that made the model, with versions and licences

``seal.py`` explains the manifest. Nothing in a bundle is executed, unpickled or fetched. Loading
writes nothing, and equal models give equal bytes. A forged folder cannot run code, and its files
and the limits of its settings bound the memory that it takes.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from nmt_core.base import files
from nmt_core.base.errors import BundleError
from nmt_core.base.languages import Languages
from nmt_core.base.seal import FORMAT, MANIFEST, list_contents
from nmt_core.literals.glossary import join_glossaries
from nmt_core.models.weights import untied_state_dict
from nmt_core.search.engine import FOLDER
from nmt_core.text.aligner.aligner import ALIGNER, write_aligner
from nmt_core.translation.engine_export import AddedEngine
from nmt_core.translation.loading import CONFIDENCE, DIRECTIONS, GLOSSARY, LANGUAGES
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import check_golden, translate_golden

Papers = tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]
"""Documents about a model: its card in Markdown, its packages as CycloneDX, and its training
corpora, which fine-tuning needs."""


def write_bundle(
    folder: Path,
    *,
    translator: Translator,
    model_config: Mapping[str, Any],
    papers: Papers,
    golden_sentences: Sequence[str],
    golden_directions: Sequence[str] = (),
    engines: Sequence[AddedEngine] = (),
) -> None:
    """Write a translator as a sealed folder; replaces an existing folder.

    Args:
        folder: the output folder.
        translator: the model, both sides and their settings.
        model_config: settings of the model, for ``read_model_config``.
        papers: documents about the model.
        golden_sentences: lines whose translations are stored, to detect changes later.
        golden_directions: the direction of each of these lines, for a multilingual model.
        engines: faster engines of the model.

    Raises:
        BundleError: if the written model or an engine translates golden sentences differently.
    """
    card, bill, corpora = papers
    with files.whole_folder(folder) as part:
        model = translator.full.model
        weights = {n: w.cpu().contiguous() for n, w in untied_state_dict(model).items()}
        save_file(weights, part / "model.safetensors")
        files.write_json(part / "model.json", dict(model_config))
        _write_parts(part, translator)
        files.write_json(part / "decoding.json", translator.config.model_dump(mode="json"))
        files.write_json(part / "corpora.json", [*corpora])
        golden = golden_sentences, golden_directions
        files.write_json(part / "golden.json", translate_golden(translator, *golden))
        for engine in engines:
            shutil.copytree(engine.folder, part / FOLDER / engine.name)
            own = replace(translator, engine=engine.engine)
            description = {
                "parity": engine.parity.model_dump(mode="json"),
                "golden": translate_golden(own, *golden),
            }
            files.write_json(part / FOLDER / f"{engine.name}.json", description)
        files.write_text(part / "README.md", card)
        files.write_json(part / "sbom.cdx.json", dict(bill))
        files.write_json(part / MANIFEST, {"format": FORMAT, "files": list_contents(part)})
        device = next(model.parameters()).device.type
        loaded = [Translator.load(part, engine="torch", device=device)]
        loaded += [Translator.load(part, engine=engine.name, device="cpu") for engine in engines]
        for source, before, now in chain.from_iterable(check_golden(each, part) for each in loaded):
            raise BundleError(
                f"the exported model translates {source!r} as {now!r}, but the original model as "
                f"{before!r}; model_config does not match the model, or a tokenizer changes when "
                f"it is saved and loaded"
            )


def _write_parts(part: Path, translator: Translator) -> None:
    """Write the files of a translator besides its model and its search."""
    for name, side in (("source", translator.source), ("target", translator.target)):
        side.tokenizer.save(part / "tokenizer" / name)
        side.vocabulary.save(part / "vocabulary" / f"{name}.txt")
    if translator.restorer:
        translator.restorer.save(part / "tokenizer" / "source")
    if aligner := translator.load_aligner():
        write_aligner(part / ALIGNER, aligner)
    languages = translator.languages
    if translator.directions and translator.glossaries:
        source, target = translator.glossaries[0].languages
        languages = Languages(source=source, target=target)
    if languages:
        files.write_json(part / LANGUAGES, languages.model_dump(mode="json"))
    if translator.directions:
        listed = [each.model_dump(mode="json") for each in translator.directions]
        files.write_json(part / DIRECTIONS, listed)
    if translator.glossaries:
        join_glossaries(translator.glossaries).save(part / GLOSSARY)
    if translator.confidence_model:
        judging = translator.confidence_model.model_dump(mode="json")
        files.write_json(part / CONFIDENCE, judging)
