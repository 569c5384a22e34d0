"""Write a model for faster engines, and keep those that translate as PyTorch does."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.evaluation.registry import load_metric
from nmt_core.models.settings import Seq2SeqConfig
from nmt_core.search.engine import (
    PROGRAMS,
    SCORES,
    SHORTLIST,
    Engine,
    InexpressibleError,
    Precision,
)
from nmt_core.text.aligner.learning import Shortlist
from nmt_core.translation.loading import load_engine
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

EXACT: Precision = "float32"
"""The precision that replaces one that loses too much."""

LEAST_EQUAL = 0.995
"""Share of sentences that an engine in float32 must translate greedily as PyTorch does, token by
token; of the others, ties, rounding decides."""

MOST_LOST = 0.3
"""BLEU that an engine may be behind PyTorch, each with its own search."""


class Parity(Config):
    """An engine's translations of the validation set compared with those of PyTorch."""

    sentences: int
    equal_greedy: float
    """Share of sentences that both translate token by token alike, greedily."""
    bleu: float
    bleu_torch: float
    score_shift: float = 0.0
    """Mean difference of the scores of sentences that both translate alike."""


class AddedEngine(NamedTuple):
    """An engine beside PyTorch's, which may go into a bundle."""

    name: str
    folder: Path
    """The model in its format."""
    engine: Engine
    parity: Parity


def prepare_engines(
    precisions: Sequence[Precision],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: tuple[Sequence[str], Sequence[str]],
    threads: int,
    shortlist: Shortlist | None = None,
) -> tuple[list[AddedEngine], dict[str, Any]]:
    """Write a model for faster engines; return those that are good enough, and a report on each.

    If a shortlist loses too much, an engine has none; if int8 does, it is in float32.

    Args:
        precisions: those of the engines.
        translator: searches by PyTorch.
        model_config: settings that the model was built from.
        folder: the folder of the engines' folders.
        text: sentences that no training has seen and their translations, for comparison.
        threads: CPU threads.
        shortlist: for engines that support one.
    """
    engines: list[AddedEngine] = []
    reports: dict[str, Any] = {}
    for precision in precisions:
        attempts: list[tuple[Precision, Shortlist | None]] = [
            *([(precision, shortlist)] if shortlist else []),
            (precision, None),
            *([(EXACT, None)] if precision != EXACT else []),
        ]
        for attempt in attempts:
            try:
                name = _write(translator, model_config, folder, *attempt)
                engine = _load(translator, folder / name, threads)
            except InexpressibleError as error:
                name, reason = error.args
                reports[name] = _leave_out(name, reason)
                break
            parity = measure_parity(translator, engine, *text)
            has_shortlist = (folder / name / SHORTLIST).exists()
            reports[name] = parity.model_dump(mode="json") | {"shortlist": has_shortlist}
            if failure := explain_disparity(attempt[0], parity):
                reports[name] |= _leave_out(name, failure)
                shutil.rmtree(folder / name)
                continue
            if has_shortlist:
                files.write_json(folder / name / SCORES, {"shift": parity.score_shift})
                engine = _load(translator, folder / name, threads)
            engines.append(AddedEngine(name, folder / name, engine, parity))
            break
    return engines, reports


def _load(translator: Translator, folder: Path, threads: int) -> Engine:
    """Load an engine that was written.

    Raises:
        InexpressibleError: if it cannot search as the translator does.
    """
    sides = translator.source.vocabulary, translator.target.vocabulary
    engine = load_engine(folder, folder.name, sides, device="cpu", threads=threads)
    if refused := engine.explain_refusal(translator.config.beam, prefixes=False):
        raise InexpressibleError(folder.name, f"it cannot search as configured ({refused})")
    return engine


def _write(
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    precision: Precision,
    shortlist: Shortlist | None,
) -> str:
    """Write the model for the fastest program that can express it; return the engine's name.

    Raises:
        InexpressibleError: if none can, with the name of the last, and the reasons.
    """
    config = translator.config
    refusals = {}
    for program in (known for known in PROGRAMS if PROGRAMS.load(known).writer):
        name = f"{program}_{precision}"
        try:
            resolve_name(PROGRAMS.load(program).writer)(
                folder / name,
                precision,
                model=translator.full.model,
                config=model_config,
                vocabularies=(translator.source.vocabulary, translator.target.vocabulary),
                positions=max(config.max_source_tokens + 1, config.beam.max_length),
                shortlist=shortlist,
            )
        except InexpressibleError as error:
            refusals[name] = f"{program} cannot express it ({error})"
        else:
            return name
    raise InexpressibleError([*refusals][-1], "; ".join(refusals.values()))


def _leave_out(name: str, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def measure_parity(
    translator: Translator, engine: Engine, sources: Sequence[str], references: Sequence[str]
) -> Parity:
    """Compare the translations of an engine and of a translator by PyTorch, of one model."""
    greedily = translator.config.beam.model_copy(
        update={"beam_size": 1, "n_best": 1, "stopping": "fast"}
    )
    greedy = translator.config.model_copy(update={"beam": greedily})
    both = replace(translator, engine=engine), translator
    written = [replace(each, config=greedy).search_best(sources) for each in both]
    beams = [each.search_best(sources) for each in both]
    metric = load_metric("bleu", translator.languages.target if translator.languages else "en")
    bleu, bleu_torch = (
        metric.score([best.text for best in beam], references, sources).value for beam in beams
    )
    shifts = [
        ours.score - theirs.score
        for ours, theirs in zip(*beams, strict=True)
        if ours.ids and ours.ids == theirs.ids
    ]
    equal = sum(ours.ids == theirs.ids for ours, theirs in zip(*written, strict=True))
    return Parity(
        sentences=len(sources),
        equal_greedy=equal / max(1, len(sources)),
        bleu=bleu,
        bleu_torch=bleu_torch,
        score_shift=float(np.mean(shifts)) if shifts else 0.0,
    )


def explain_disparity(precision: Precision, parity: Parity) -> str | None:
    """Return the reason why an engine is not good enough; None if it is."""
    if precision == "float32" and parity.equal_greedy < LEAST_EQUAL:
        return (
            f"it translates {parity.equal_greedy:.1%} of {parity.sentences} sentences greedily as "
            f"PyTorch does, not {LEAST_EQUAL:.1%}"
        )
    lost = parity.bleu_torch - parity.bleu
    if lost >= MOST_LOST:
        return f"its BLEU is {lost:.2f} below PyTorch's {parity.bleu_torch:.1f}, not {MOST_LOST}"
    return None
