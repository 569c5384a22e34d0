"""Convert a model for faster engines, and keep engines that translate as well as PyTorch."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.languages import Languages, group_rows
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
from nmt_core.text.translation import Translation
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

MIN_PATIENCE_GAIN = 0.1
"""Minimum gain of BLEU by patience, which takes up to a fifth more time."""


class HeldOutText(NamedTuple):
    """Validation sentences to compare engines on."""

    sources: Sequence[str]
    references: Sequence[str]
    directions: Sequence[Languages] = ()
    """The direction of each sentence; empty for a model of one direction."""


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
    report: dict[str, Any]
    """The measurements of the export."""


def prepare_engines(
    precisions: Sequence[Precision],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: HeldOutText,
    threads: int,
    shortlist: Shortlist | None = None,
) -> tuple[list[AddedEngine], dict[str, Any]]:
    """Convert a model for faster engines; return the engines that are good enough, and reports.

    If an engine loses too much, it is tried without the shortlist, then in float32. Patience that
    gains no BLEU is left out.

    Args:
        precisions: precision of each engine.
        translator: a translator that searches with PyTorch.
        model_config: settings of the model.
        folder: parent folder of the engines' folders.
        text: held-out sentences.
        threads: number of CPU threads.
        shortlist: shortlist for engines that support it.
    """
    engines: list[AddedEngine] = []
    reports: dict[str, Any] = {}
    expected = [
        search_text(translator, translator.engine, text, greedily=own) for own in (True, False)
    ]
    for precision in precisions:
        attempts: list[tuple[Precision, Shortlist | None]] = [
            *([(precision, shortlist)] if shortlist else []),
            (precision, None),
            *([(EXACT, None)] if precision != EXACT else []),
        ]
        for number, attempt in enumerate(attempts):
            try:
                name = _write(translator, model_config, folder / f"{precision}{number}", *attempt)
                path = folder / f"{precision}{number}" / name
                engine = _load(translator, path, threads)
            except InexpressibleError as error:
                name, reason = error.args
                reports[name] = _leave_out(name, reason)
                break
            parity = measure_parity(translator, engine, text, expected)
            report = parity.model_dump(mode="json") | {"shortlist": (path / SHORTLIST).exists()}
            if failure := explain_disparity(attempt[0], parity):
                reports[name] = report | _leave_out(name, failure)
                continue
            added = AddedEngine(name, path, engine, parity, report)
            engines.append(_choose_patience(translator, added, text, threads))
            reports[name] = engines[-1].report
            break
    return engines, reports


def _choose_patience(
    translator: Translator, added: AddedEngine, text: HeldOutText, threads: int
) -> AddedEngine:
    """Return an engine with patience 1, which is faster, unless that loses BLEU."""
    report, path = added.report, added.folder / SCORES
    scores = {"shift": added.parity.score_shift} if report["shortlist"] else {}
    if added.engine.patience > 1 and translator.config.beam.beam_size > 1:
        files.write_json(path, {"patience": 1.0})
        engine = _load(translator, added.folder, threads)
        gain = added.parity.bleu - score_bleu(
            translator, search_text(translator, engine, text), text
        )
        patience = 1.0 if gain < MIN_PATIENCE_GAIN else added.engine.patience
        scores |= {"patience": patience}
        report = report | {"patience": patience, "bleu_gain_of_patience": gain}
    if scores:
        files.write_json(path, scores)
    return added._replace(engine=_load(translator, added.folder, threads), report=report)


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


def search_text(
    translator: Translator, engine: Engine, text: HeldOutText, *, greedily: bool = False
) -> list[Translation]:
    """Return the translations of sentences by an engine, each in its direction."""
    changes = {"beam_size": 1, "n_best": 1, "stopping": "fast"} if greedily else {}
    beam = translator.config.beam.model_copy(update=changes)
    config = translator.config.model_copy(update={"beam": beam})
    searching = replace(translator, engine=engine, config=config)
    return searching.translate_mixed(text.sources, text.directions)


def score_bleu(translator: Translator, best: Sequence[Translation], text: HeldOutText) -> float:
    """Return the BLEU of translations; for several directions, the mean."""
    sides, scores = ([each.text for each in best], text.references, text.sources), []
    directions: Sequence[Languages | None] = text.directions or [translator.languages] * len(best)
    for languages, rows in group_rows(directions).items():
        metric = load_metric("bleu", languages.target if languages else "en")
        scores.append(metric.score(*([side[row] for row in rows] for side in sides)).value)
    return fmean(scores)


def measure_parity(
    translator: Translator, engine: Engine, text: HeldOutText, expected: Sequence[list[Translation]]
) -> Parity:
    """Return the comparison of an engine with PyTorch's greedy and configured search."""
    greedy, beam = (search_text(translator, engine, text, greedily=own) for own in (True, False))
    shifts = [
        ours.score - theirs.score
        for ours, theirs in zip(beam, expected[1], strict=True)
        if ours.ids and ours.ids == theirs.ids
    ]
    equal = sum(ours.ids == theirs.ids for ours, theirs in zip(greedy, expected[0], strict=True))
    return Parity(
        sentences=len(greedy),
        equal_greedy=equal / max(1, len(greedy)),
        bleu=score_bleu(translator, beam, text),
        bleu_torch=score_bleu(translator, expected[1], text),
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
