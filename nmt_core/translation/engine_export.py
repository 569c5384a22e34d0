"""Convert a model for faster engines, and keep engines that translate as well as PyTorch."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.languages import group_rows, read_languages
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
"""The precision that is used if another precision loses too much."""

MIN_EQUAL_SHARE = 0.995
"""Minimum share of sentences with the same tokens as PyTorch's in greedy search with float32; the
others differ by rounding."""

MAX_BLEU_LOSS = 0.3
"""Maximum BLEU that an engine may lose compared with PyTorch, each with its own search."""


class Parity(Config):
    """Comparison of an engine's validation translations with PyTorch's."""

    sentences: int
    equal_greedy: float
    """Share of sentences with the same tokens in greedy search."""
    bleu: float
    bleu_torch: float
    score_shift: float = 0.0
    """Mean difference between the scores of equal translations."""


class AddedEngine(NamedTuple):
    """An engine other than PyTorch, for a bundle."""

    name: str
    folder: Path
    """The converted model."""
    engine: Engine
    parity: Parity


def prepare_engines(
    precisions: Sequence[Precision],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: tuple[Sequence[str], ...],
    threads: int,
    shortlist: Shortlist | None = None,
) -> tuple[list[AddedEngine], dict[str, Any]]:
    """Convert a model for faster engines; return the engines that are good enough, and reports.

    If an engine loses too much, it is tried without the shortlist, then in float32.

    Args:
        precisions: precision of each engine.
        translator: a translator that searches with PyTorch.
        model_config: settings of the model.
        folder: parent folder of the engines' folders.
        text: held-out sentences, their references, and their directions in a multilingual model.
        threads: number of CPU threads.
        shortlist: shortlist for engines that support it.
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
    """Load a converted engine.

    Raises:
        InexpressibleError: if the engine does not support the translator's search.
    """
    sides = translator.source.vocabulary, translator.target.vocabulary
    engine = load_engine(folder, folder.name, sides, device="cpu", threads=threads)
    if refused := engine.explain_refusal(translator.config.beam, prefixes=False):
        raise InexpressibleError(folder.name, f"it does not support {refused}")
    return engine


def _write(
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    precision: Precision,
    shortlist: Shortlist | None,
) -> str:
    """Convert the model for the fastest program that supports it; return the engine's name.

    Raises:
        InexpressibleError: if no program supports the model, with the last name and the reasons.
    """
    config = translator.config
    refusals = {}
    for program in (name for name in PROGRAMS if PROGRAMS.load(name).writer):
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
            refusals[name] = f"{program} does not support it ({error})"
        else:
            return name
    raise InexpressibleError([*refusals][-1], "; ".join(refusals.values()))


def _leave_out(name: str, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def measure_parity(
    translator: Translator,
    engine: Engine,
    sources: Sequence[str],
    references: Sequence[str],
    directions: Sequence[str] = (),
) -> Parity:
    """Return the comparison of an engine with a PyTorch translator of the same model.

    ``directions`` has the direction of each sentence for a multilingual model; their BLEU scores
    are averaged.
    """
    if not directions:
        return compare_engine(translator, engine, sources, references)
    parts = [
        compare_engine(
            translator.choose(*read_languages(direction).codes),
            engine,
            [sources[row] for row in rows],
            [references[row] for row in rows],
        )
        for direction, rows in group_rows(directions).items()
    ]
    return Parity(
        sentences=len(sources),
        equal_greedy=sum(p.equal_greedy * p.sentences for p in parts) / len(sources),
        bleu=fmean(part.bleu for part in parts),
        bleu_torch=fmean(part.bleu_torch for part in parts),
        score_shift=fmean(part.score_shift for part in parts),
    )


def compare_engine(
    translator: Translator, engine: Engine, sources: Sequence[str], references: Sequence[str]
) -> Parity:
    """Return the comparison of an engine with PyTorch in one direction."""
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
    """Return why an engine is not good enough, or None if it is."""
    if precision == "float32" and parity.equal_greedy < MIN_EQUAL_SHARE:
        return (
            f"greedy search gives PyTorch's translation for {parity.equal_greedy:.1%} of "
            f"{parity.sentences} sentences, below {MIN_EQUAL_SHARE:.1%}"
        )
    lost = parity.bleu_torch - parity.bleu
    if lost >= MAX_BLEU_LOSS:
        return (
            f"its BLEU is {lost:.2f} below PyTorch's {parity.bleu_torch:.1f}, more than "
            f"{MAX_BLEU_LOSS}"
        )
    return None
