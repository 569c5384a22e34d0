"""The model written for faster programs, as far as they can express it and translate as well."""

import logging
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from nmt_core.engines.engine import Engine, InexpressibleError
from nmt_core.engines.registered import PROGRAMS, name_engine
from nmt_core.engines.settings import Precision
from nmt_core.models.settings import Seq2SeqConfig
from nmt_core.translation.loading import load_engine
from nmt_core.translation.parity import Parity, explain_disparity, measure_parity
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

EXACT: Precision = "float32"
"""The precision that replaces one that loses too much."""


class AddedEngine(NamedTuple):
    """An engine beside PyTorch's, which may go into a bundle."""

    name: str
    folder: Path
    """The model as it reads it."""
    engine: Engine
    parity: Parity
    """Its translations compared with PyTorch's."""


class Prepared(NamedTuple):
    """The engines that were written, and the reasons for those left out."""

    engines: list[AddedEngine]
    """Those that are good enough."""
    reports: dict[str, Any]
    """The report of every engine, as JSON: its parity, or the reason why it was left out."""


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
    """Write a model for a faster engine, and check that it translates as PyTorch does.

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
    waiting = list(precisions)
    for precision in waiting:
        try:
            name = _write(precision, translator, model_config, folder)
        except InexpressibleError as error:
            name, reason = error.args
            prepared.reports[name] = _leave_out(name, reason)
            continue
        engine = load_engine(
            folder / name,
            name,
            (translator.source.vocabulary, translator.target.vocabulary),
            device="cpu",
            threads=threads,
        )
        if refused := engine.explain_refusal(translator.config.beam, prefixes=False):
            prepared.reports[name] = _leave_out(name, f"it cannot search as configured ({refused})")
            continue
        parity = measure_parity(translator, engine, *text, language=language)
        prepared.reports[name] = parity.model_dump(mode="json")
        if failure := explain_disparity(precision, parity):
            prepared.reports[name] |= _leave_out(name, failure)
            if EXACT not in waiting:
                waiting.append(EXACT)
        else:
            prepared.engines.append(AddedEngine(name, folder / name, engine, parity))
    return prepared


def _leave_out(name: str, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def _write(
    precision: Precision, translator: Translator, config: Seq2SeqConfig, folder: Path
) -> str:
    """Write a model for the fastest program that can express it; return the names of the engines.

    Raises:
        InexpressibleError: if none can, with the name of the last, and the reasons.
    """
    beam = translator.config.beam
    refusals = {}
    for program in (known for known in PROGRAMS if PROGRAMS.load(known).writer):
        name = name_engine(program, precision)
        try:
            resolve_name(PROGRAMS.load(program).writer)(
                folder / name,
                precision,
                model=translator.full.model,
                config=config,
                vocabularies=(translator.source.vocabulary, translator.target.vocabulary),
                positions=max(translator.config.max_source_tokens + 1, beam.max_length),
            )
        except InexpressibleError as error:
            refusals[name] = f"{program}: {error}"
        else:
            return name
    raise InexpressibleError(
        [*refusals][-1], f"nothing can express it ({'; '.join(refusals.values())})"
    )
