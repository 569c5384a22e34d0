"""Write a model for faster engines, and keep those that translate as PyTorch does."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.evaluation.registered import load_metric
from nmt_core.models.settings import Seq2SeqConfig
from nmt_core.search.engine import (
    PROGRAMS,
    SCORES,
    SHORTLIST,
    Engine,
    InexpressibleError,
    Precision,
    ScoreShift,
    name_engine,
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


class ParityText(NamedTuple):
    """Text that no training has seen."""

    sources: Sequence[str]
    references: Sequence[str]
    """Their translations."""
    language: str
    """Code of the target language, such as en."""


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


@dataclass(frozen=True)
class EngineExport:
    """The engines of a model that are good enough, and reports on all."""

    translator: Translator
    """Searches by PyTorch."""
    model_config: Seq2SeqConfig
    """Settings that the model was built from."""
    folder: Path
    """The folder of the engines' folders."""
    text: ParityText
    """Translated by all for comparison."""
    threads: int
    """CPU threads."""
    engines: list[AddedEngine] = field(default_factory=list)
    reports: dict[str, Any] = field(default_factory=dict)
    """Parity of each engine as JSON, with the reason if it was left out."""

    def add(self, precision: Precision, shortlist: Shortlist | None) -> None:
        """Add an engine; if a shortlist loses too much, one without; if int8 does, float32."""
        attempts: list[tuple[Precision, Shortlist | None]] = [
            *([(precision, shortlist)] if shortlist else []),
            (precision, None),
            *([(EXACT, None)] if precision != EXACT else []),
        ]
        for attempt in attempts:
            try:
                added = self._try(*attempt)
            except InexpressibleError as error:
                name, reason = error.args
                self.reports[name] = _leave_out(name, reason)
                return
            if added:
                self.engines.append(added)
                return

    def _try(self, precision: Precision, shortlist: Shortlist | None) -> AddedEngine | None:
        """Return an engine; None if it does not translate as PyTorch does.

        Raises:
            InexpressibleError: if no program can express the model.
        """
        name = self._write(precision, shortlist)
        folder = self.folder / name
        engine = self._load(name)
        if refused := engine.explain_refusal(self.translator.config.beam, prefixes=False):
            raise InexpressibleError(name, f"it cannot search as configured ({refused})")
        parity = measure_parity(self.translator, engine, self.text)
        has_shortlist = (folder / SHORTLIST).exists()
        self.reports[name] = parity.model_dump(mode="json") | {"shortlist": has_shortlist}
        if failure := explain_disparity(precision, parity):
            self.reports[name] |= _leave_out(name, failure)
            shutil.rmtree(folder)
            return None
        if has_shortlist:
            files.write_json(folder / SCORES, ScoreShift(shift=parity.score_shift).model_dump())
            engine = self._load(name)
        return AddedEngine(name, folder, engine, parity)

    def _load(self, name: str) -> Engine:
        sides = self.translator.source.vocabulary, self.translator.target.vocabulary
        return load_engine(self.folder / name, name, sides, device="cpu", threads=self.threads)

    def _write(self, precision: Precision, shortlist: Shortlist | None) -> str:
        """Write the model for the fastest program that can express it; return the engine's name.

        Raises:
            InexpressibleError: if none can, with the name of the last, and the reasons.
        """
        config = self.translator.config
        refusals = {}
        for program in (known for known in PROGRAMS if PROGRAMS.load(known).writer):
            name = name_engine(program, precision)
            try:
                resolve_name(PROGRAMS.load(program).writer)(
                    self.folder / name,
                    precision,
                    model=self.translator.full.model,
                    config=self.model_config,
                    vocabularies=(
                        self.translator.source.vocabulary,
                        self.translator.target.vocabulary,
                    ),
                    positions=max(config.max_source_tokens + 1, config.beam.max_length),
                    shortlist=shortlist,
                )
            except InexpressibleError as error:
                refusals[name] = f"{program} cannot express it ({error})"
            else:
                return name
        raise InexpressibleError([*refusals][-1], "; ".join(refusals.values()))


def prepare_engines(
    precisions: Sequence[Precision],
    *,
    translator: Translator,
    model_config: Seq2SeqConfig,
    folder: Path,
    text: ParityText,
    threads: int,
    shortlist: Shortlist | None = None,
) -> EngineExport:
    """Write a model for faster engines; see :class:`EngineExport`.

    ``shortlist`` is for engines that support one.
    """
    prepared = EngineExport(translator, model_config, folder, text, threads)
    for precision in precisions:
        prepared.add(precision, shortlist)
    return prepared


def _leave_out(name: str, reason: str) -> dict[str, str]:
    _log.warning("%s is left out: %s", name, reason)
    return {"left_out": reason}


def measure_parity(translator: Translator, engine: Engine, text: ParityText) -> Parity:
    """Compare the translations of an engine and of a translator by PyTorch, of one model."""
    greedily = translator.config.beam.model_copy(
        update={"beam_size": 1, "n_best": 1, "stopping": "fast"}
    )
    greedy = translator.config.model_copy(update={"beam": greedily})
    both = replace(translator, engine=engine), translator
    written = [replace(each, config=greedy).search_best(text.sources) for each in both]
    beams = [each.search_best(text.sources) for each in both]
    metric = load_metric("bleu", text.language)
    bleu, bleu_torch = (
        metric.score([best.text for best in beam], text.references, text.sources).value
        for beam in beams
    )
    shifts = [
        ours.score - theirs.score
        for ours, theirs in zip(*beams, strict=True)
        if ours.ids and ours.ids == theirs.ids
    ]
    equal = sum(ours.ids == theirs.ids for ours, theirs in zip(*written, strict=True))
    return Parity(
        sentences=len(text.sources),
        equal_greedy=equal / max(1, len(text.sources)),
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
