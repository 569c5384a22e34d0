"""The model written for faster programs, as far as they can express it and translate as well."""

import logging
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from nmt_core.base import files
from nmt_core.models.settings import Seq2SeqConfig
from nmt_core.search.engine import Engine, InexpressibleError
from nmt_core.search.registered import (
    PROGRAMS,
    SCORES,
    SHORTLIST,
    Precision,
    ScoreShift,
    name_engine,
)
from nmt_core.text.aligner.shortlist import Shortlist
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.loading import load_engine
from nmt_core.translation.parity import Parity, ParityText, explain_disparity, measure_parity
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

EXACT: Precision = "float32"
"""The precision that replaces one that loses too much."""


class AddedEngine(NamedTuple):
    """An engine beside PyTorch's, which may go into a bundle."""

    name: str
    folder: Path
    """The model in its format."""
    engine: Engine
    parity: Parity
    confidence: ConfidenceModel | None = None
    """Fitted on its translations; None takes that of PyTorch's."""


class Prepared(NamedTuple):
    """The engines that are good enough, and reports about all."""

    engines: list[AddedEngine]
    reports: dict[str, Any]
    """By engine, as JSON: its parity, and the reason if it was left out."""


def prepare_engines(
    precisions: Sequence[Precision],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: ParityText,
    threads: int,
    shortlist: Shortlist | None = None,
) -> Prepared:
    """Write a model for faster engines, and keep those that translate as PyTorch does.

    Where a shortlist loses too much, none is tried in its place; where int8 does, float32.

    Args:
        precisions: of the engines to write.
        translator: searches by PyTorch.
        model_config: settings that the model was built from.
        folder: the folder of the engines' folders.
        text: translated by all for comparison.
        threads: CPU threads.
        shortlist: for engines that support one.
    """
    prepared = Prepared([], {})
    waiting = [(precision, shortlist) for precision in precisions]
    for precision, restriction in waiting:
        try:
            name = _write(precision, translator, model_config, folder, restriction)
        except InexpressibleError as error:
            name, reason = error.args
            prepared.reports[name] = _leave_out(name, reason)
            continue
        load = partial(
            load_engine,
            folder / name,
            name,
            (translator.source.vocabulary, translator.target.vocabulary),
            device="cpu",
            threads=threads,
        )
        engine = load()
        if refused := engine.explain_refusal(translator.config.beam, prefixes=False):
            prepared.reports[name] = _leave_out(name, f"it cannot search as configured ({refused})")
            continue
        parity = measure_parity(translator, engine, text)
        short = (folder / name / SHORTLIST).exists()
        prepared.reports[name] = parity.model_dump(mode="json") | {"shortlist": short}
        failure = explain_disparity(precision, parity)
        if failure and short:
            _log.warning("%s has no shortlist, for with one %s", name, failure)
            shutil.rmtree(folder / name)
            waiting.append((precision, None))
        elif failure:
            prepared.reports[name] |= _leave_out(name, failure)
            if all(precision != EXACT for precision, _ in waiting):
                waiting.append((EXACT, shortlist))
        else:
            if short:
                shift = ScoreShift(shift=parity.score_shift)
                files.write_json(folder / name / SCORES, shift.model_dump())
                engine = load()
            prepared.engines.append(AddedEngine(name, folder / name, engine, parity))
    return prepared


def _leave_out(name: str, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def _write(
    precision: Precision,
    translator: Translator,
    config: Seq2SeqConfig,
    folder: Path,
    shortlist: Shortlist | None,
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
                shortlist=shortlist,
            )
        except InexpressibleError as error:
            refusals[name] = f"{program} cannot express it ({error})"
        else:
            return name
    raise InexpressibleError([*refusals][-1], "; ".join(refusals.values()))
