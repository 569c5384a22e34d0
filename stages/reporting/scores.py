"""Scores of a test set, of parts of it, and what else is measured of its translations."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nmt_core.base import files
from nmt_core.evaluation import quality
from nmt_core.evaluation.metric import Reference
from nmt_core.evaluation.registered import find_metric_names, load_metric
from nmt_core.text.side import Tokenized
from nmt_core.translation.likelihood import score_pairs
from nmt_core.translation.translator import Translator
from stages.params import EvaluateParams
from stages.reporting.confidence import read_confidence

MOST_SCORES = 11
"""Maximum number of scores in a metrics file, which holds at most 15 numbers."""


def score_translations(
    params: EvaluateParams,
    hypotheses: Sequence[str],
    references: Sequence[Reference],
    sources: Sequence[str],
    *,
    language: str,
) -> dict[str, Any]:
    """Return the scores of all metrics, with 95 % intervals and signatures."""
    scores: dict[str, Any] = {}
    for name in params.metrics:
        metric = load_metric(name, language)
        score = metric.score(hypotheses, references, sources, resamples=params.resamples)
        scores[name] = score.value
        scores[f"{name}_low"] = score.low
        scores[f"{name}_high"] = score.high
        scores[f"{name}_signature"] = score.signature
        scores[f"{name}_details"] = score.details
    return scores


def score_novel(
    params: EvaluateParams,
    near: Sequence[int],
    hypotheses: Sequence[str],
    references: Sequence[Reference],
    sources: Sequence[str],
    *,
    language: str,
) -> dict[str, Any]:
    """Return scores of the test sentences that are near no sentence of the corpus.

    Empty if near pairs were not searched for, or if no sentence has any.

    Args:
        params: the metrics.
        near: number of near pairs in the corpus for each test sentence.
        hypotheses: translations.
        references: reference translations.
        sources: source sentences.
        language: code of the target language.
    """
    novel = [row for row, count in enumerate(near) if not count]
    if not 0 < len(novel) < len(near):
        return {}
    written, read = ([text[row] for row in novel] for text in (hypotheses, sources))
    expected = [references[row] for row in novel]
    scores = score_translations(params, written, expected, read, language=language)
    return {"sentences": len(novel)} | {
        name: value for name, value in scores.items() if isinstance(value, float)
    }


def score_untagged(
    params: EvaluateParams,
    translator: Translator,
    read: Sequence[Tokenized],
    hypotheses: Sequence[str],
    references: Sequence[Reference],
    *,
    language: str,
) -> dict[str, Any]:
    """Return the scores of the test set without tags, and how many lines have each tag.

    Empty if none has one.

    Args:
        params: the metrics.
        translator: translates the lines once more.
        read: the source lines with their tags.
        hypotheses: translations of these.
        references: reference translations.
        language: code of the target language.
    """
    rows = [row for row, text in enumerate(read) if text.tag is not None]
    if not rows:
        return {}
    plain = [replace(read[row], tag=None) for row in rows]
    written = [*hypotheses]
    for row, [best] in zip(
        rows, translator.search(plain, n_best=1, probabilities=False), strict=True
    ):
        written[row] = best.text
    sources = [text.line for text in read]
    scores = score_translations(params, written, references, sources, language=language)
    return {"tags": dict(sorted(Counter(read[row].tag for row in rows).items()))} | {
        name: value for name, value in scores.items() if isinstance(value, float)
    }


def measure_translations(
    translator: Translator,
    sources: Sequence[str | Tokenized],
    references: Sequence[str | Tokenized],
    hypotheses: Sequence[str],
    *,
    cut: quality.Cut,
) -> dict[str, Any]:
    """Measure perplexity, unknown words, lengths and failures."""
    read = [translator.source.tokenize(line) for line in sources]
    written = [translator.target.tokenize(line) for line in references]
    lines = [[tokenized.line for tokenized in side] for side in (read, written)]
    longest = translator.config.max_source_tokens
    pairs = list(zip(read, written, strict=True))
    likelihoods = score_pairs(translator, pairs)
    loss = -sum(pair.log_likelihood for pair in likelihoods) / max(
        1, sum(pair.tokens for pair in likelihoods)
    )
    return {
        "sentences": len(pairs),
        "cross_entropy": loss,
        "perplexity": math.exp(min(loss, 100.0)),
        "pairs_cut": sum(
            max(len(tokenized.tokens) for tokenized in pair) > longest for pair in pairs
        ),
        "length_ratio": quality.compute_length_ratio(hypotheses, lines[1], cut=cut),
        "source_unknown_rate": quality.compute_unknown_rate(map(translator.source.ids, read)),
        "reference_unknown_rate": quality.compute_unknown_rate(map(translator.target.ids, written)),
        "failures": quality.count_failures(lines[0], hypotheses, lines[1], cut=cut).model_dump(),
    }


def summarize_scores(measured: Mapping[str, Any]) -> dict[str, float]:
    """Return the few numbers of an evaluation that ``dvc metrics`` compares."""
    return {
        **{name: measured[name] for name in find_metric_names(measured)[:MOST_SCORES]},
        "loss": measured["cross_entropy"],
        "perplexity": measured["perplexity"],
        "length_ratio": measured["length_ratio"],
        "failures": sum(measured["failures"].values()),
    }


def write_plots(folder: Path, measured: Mapping[str, Any]) -> None:
    """Write what ``dvc plots`` shows: the first score by beam size and slice, and confidence."""
    [first, *_] = find_metric_names(measured)
    judged = read_confidence(measured)
    curve = judged.reliability.curve if judged and judged.reliability else ()
    slices = measured["slices"].items()
    tables: dict[str, tuple[str, Iterable[tuple[object, float]]]] = {
        "beam_sizes": ("beam_size", measured["beam_sizes"].items()),
        "slices": ("slice", ((n, one["scores"][first][0]) for n, one in slices if one["scores"])),
        "confidence": ("confidence", ((one.confidence, one.good) for one in curve)),
    }
    for name, (column, rows) in tables.items():
        value = "good" if name == "confidence" else "score"
        files.write_lines(
            folder / f"{name}.csv", [f"{column},{value}", *(f"{key},{n:.4f}" for key, n in rows)]
        )
