"""The model written for faster programs, as far as they can express it and translate as well."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt_core.engines.conversion import explain_inexpressible, write_ctranslate2
from nmt_core.engines.ctranslate2 import CTranslate2Engine, load_ctranslate2
from nmt_core.engines.settings import Added
from nmt_core.models.settings import Seq2SeqConfig, TransformerConfig
from nmt_core.statistics.parity import Parity, explain_failure, measure_parity
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

EXACT: Added = "ctranslate2_float32"
"""What takes the place of an engine in int8 that loses too much."""


class AddedEngine(NamedTuple):
    """An engine beside PyTorch's, which may go into a bundle."""

    name: Added
    folder: Path
    """The model as it reads it."""
    engine: CTranslate2Engine
    parity: Parity
    """How its translations compare with PyTorch's."""


class Prepared(NamedTuple):
    """What came of the engines that were asked for."""

    engines: list[AddedEngine]
    """Those that are good enough."""
    told: dict[str, Any]
    """What is to be told of every one, as JSON: its parity, or why it was left out."""


def prepare_engines(
    names: Sequence[Added],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: tuple[Sequence[str], Sequence[str]],
    language: str,
    threads: int,
) -> Prepared:
    """Write a model for faster engines, and let each prove that it translates as PyTorch does.

    Where int8 loses too much, float32 is tried in its place.

    Args:
        names: which engines.
        translator: searches by PyTorch.
        model_config: settings that the model was built from.
        folder: where to write.
        text: source sentences and their translations, which training has not seen.
        language: of the latter.
        threads: of the processor.
    """
    prepared = Prepared([], {})
    inexpressible = explain_inexpressible(model_config)
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if inexpressible:
            prepared.told[name] = _leave_out(name, f"CTranslate2 cannot express {inexpressible}")
            continue
        assert isinstance(model_config, TransformerConfig)
        engine = _write(name, translator, model_config, folder / name, threads)
        parity = measure_parity(translator, engine, *text, language=language)
        prepared.told[name] = parity.model_dump(mode="json")
        if failure := explain_failure(name, parity):
            prepared.told[name] |= _leave_out(name, failure)
            if name == "ctranslate2_int8" and EXACT not in names:
                waiting.append(EXACT)
        else:
            prepared.engines.append(AddedEngine(name, folder / name, engine, parity))
    return prepared


def _leave_out(name: Added, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def _write(
    name: Added, translator: Translator, config: TransformerConfig, folder: Path, threads: int
) -> CTranslate2Engine:
    vocabularies = translator.source.vocabulary, translator.target.vocabulary
    state: Mapping[str, Any] = translator.full.model.state_dict()
    write_ctranslate2(
        folder,
        name,
        config=config,
        # copies, for the specification quantises in place
        weights={key: weight.float().cpu().numpy().copy() for key, weight in state.items()},
        vocabularies=vocabularies,
        positions=max(translator.config.max_source_tokens + 1, translator.config.beam.max_length),
    )
    return load_ctranslate2(folder, *vocabularies, name=name, device="cpu", threads=threads)
