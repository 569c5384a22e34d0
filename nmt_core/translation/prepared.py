"""The model written for faster programs, as far as they can express it and translate as well."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nmt_core.engines.conversion import explain_inexpressible, write_ctranslate2
from nmt_core.engines.engine import Engine
from nmt_core.engines.settings import Added, Precision, Program, name_engine
from nmt_core.engines.tracing import write_onnx
from nmt_core.models.settings import Seq2SeqConfig, TransformerConfig
from nmt_core.translation.loading import load_engine
from nmt_core.translation.parity import Parity, explain_failure, measure_parity
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

EXACT: Precision = "float32"
"""What takes the place of a precision that loses too much."""


class AddedEngine(NamedTuple):
    """An engine beside PyTorch's, which may go into a bundle."""

    name: Added
    folder: Path
    """The model as it reads it."""
    engine: Engine
    parity: Parity
    """How its translations compare with PyTorch's."""


class Prepared(NamedTuple):
    """What came of the engines that were asked for."""

    engines: list[AddedEngine]
    """Those that are good enough."""
    told: dict[str, Any]
    """What is to be told of every one, as JSON: its parity, or why it was left out."""


def prepare_engines(
    precisions: Sequence[Precision],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: tuple[Sequence[str], Sequence[str]],
    language: str,
    threads: int,
) -> Prepared:
    """Write a model for a faster program, and let that prove that it translates as PyTorch does.

    Where int8 loses too much, float32 is tried in its place.

    Args:
        precisions: of the engines to write.
        translator: searches by PyTorch.
        model_config: settings that the model was built from.
        folder: where to write.
        text: source sentences and their translations, which training has not seen.
        language: of the latter.
        threads: of the processor.
    """
    prepared = Prepared([], {})
    program = choose_program(model_config)
    waiting = list(precisions)
    for precision in waiting:
        name = name_engine(program, precision)
        _write(program, precision, translator, model_config, folder / name)
        engine = load_engine(
            folder / name,
            name,
            (translator.source.vocabulary, translator.target.vocabulary),
            device="cpu",
            threads=threads,
        )
        if refused := engine.explain_refusal(translator.config.beam, prefixes=False):
            prepared.told[name] = _leave_out(name, f"it cannot search as configured ({refused})")
            continue
        parity = measure_parity(translator, engine, *text, language=language)
        prepared.told[name] = parity.model_dump(mode="json")
        if failure := explain_failure(precision, parity):
            prepared.told[name] |= _leave_out(name, failure)
            if EXACT not in waiting:
                waiting.append(EXACT)
        else:
            prepared.engines.append(AddedEngine(name, folder / name, engine, parity))
    return prepared


def choose_program(config: Seq2SeqConfig) -> Program:
    """Return the fastest program that can express a model."""
    return "onnx" if explain_inexpressible(config) else "ctranslate2"


def _leave_out(name: Added, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def _write(
    program: Program,
    precision: Precision,
    translator: Translator,
    config: Seq2SeqConfig,
    folder: Path,
) -> None:
    model = translator.full.model
    positions = max(translator.config.max_source_tokens + 1, translator.config.beam.max_length)
    if program == "onnx":
        write_onnx(folder, precision, model=model, positions=positions)
        return
    assert isinstance(config, TransformerConfig)
    state: Mapping[str, Any] = model.state_dict()
    write_ctranslate2(
        folder,
        precision,
        config=config,
        # copies, for the specification quantises in place
        weights={key: weight.float().cpu().numpy().copy() for key, weight in state.items()},
        vocabularies=(translator.source.vocabulary, translator.target.vocabulary),
        positions=positions,
    )
