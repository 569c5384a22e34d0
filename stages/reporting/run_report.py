"""What the report of a run is made of: sentences judged one by one, slices, errors by corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nmt_core.base import files
from nmt_core.evaluation.metric import Reference, SummedMetric
from nmt_core.evaluation.registered import load_metric
from nmt_core.evaluation.sentence_scores import score_chrf
from nmt_core.evaluation.slice import Mask, SlicedText
from nmt_core.evaluation.slices import SliceScore, count_word_lines, find_slices, score_slices
from nmt_core.text.aligner.aligner import Aligner
from stages.params import EvaluateParams
from stages.reporting.judged import (
    JudgedSentence,
    choose_best,
    choose_random,
    choose_worst,
)
from stages.reporting.run_page import SHOWN

MOST_COUNTED = 200_000
"""Lines of training text in which words are counted, evenly spread."""


def judge_sentences(
    sources: Sequence[str],
    references: Sequence[Reference],
    hypotheses: Sequence[str],
    *,
    language: str,
) -> list[JudgedSentence]:
    """Score each sentence by itself; ``language`` is the target's code."""
    scores = score_chrf(hypotheses, references, language=language)
    shown = (one if isinstance(one, str) else one[0] for one in references)
    rows = zip(sources, shown, hypotheses, scores.tolist(), strict=True)
    return [JudgedSentence(number, *row) for number, row in enumerate(rows, start=1)]


def link_shown(
    sentences: Sequence[JudgedSentence], aligner: Aligner | None, seed: int
) -> list[JudgedSentence]:
    """Return all sentences, those that a report shows with the links of their words.

    Without an aligner they stay as they are.
    """
    if aligner is None:
        return [*sentences]
    shown = chain(
        choose_worst(sentences, SHOWN),
        choose_best(sentences, SHOWN),
        choose_random(sentences, SHOWN, seed),
    )
    linked = [*sentences]
    for one in {one.number: one for one in shown}.values():
        [links] = aligner.trace([(one.source.split(), one.hypothesis.split())])
        linked[one.number - 1] = replace(one, links=tuple(links))
    return linked


def list_corpora(corpus: Path, names: Sequence[str]) -> dict[str, slice]:
    """Return which test sentences are of which corpus, by its name or else its number."""
    described = corpus / "corpus.json"
    kept = files.read_json(described)["corpora"] if described.exists() else []
    if len(names) != len(kept):
        names = [f"corpus {number}" for number, _ in enumerate(kept, start=1)]
    ends = np.cumsum([0, *(one["test"] for one in kept)]).tolist()
    return {name: slice(*ends) for name, ends in zip(names, pairwise(ends), strict=True)}


def measure_slices(
    params: EvaluateParams,
    text: SlicedText,
    references: Sequence[Reference],
    hypotheses: Sequence[str],
    corpora: Mapping[str, slice],
) -> dict[str, SliceScore]:
    """Score all slices that can be told of a test set, corpora among them where there are several.

    Args:
        params: metrics, resamples and seed.
        text: the test set.
        references: all that its sentences have.
        hypotheses: its translations.
        corpora: the sentences of each corpus.
    """
    slices: dict[str, tuple[str, Mask]] = find_slices(text)
    for name, rows in corpora.items() if len(corpora) > 1 else ():
        mask = np.zeros(len(hypotheses), bool)
        mask[rows] = True
        slices[f"corpus {name}"] = (f"of the corpus {name}", mask)
    loaded = {name: load_metric(name, text.languages[1]) for name in params.metrics}
    metrics = {
        name: (metric, metric.counts(hypotheses, references, text.sources))
        for name, metric in loaded.items()
        if isinstance(metric, SummedMetric)
    }
    return score_slices(slices, metrics, resamples=params.resamples, seed=params.seed)


def count_training_words(corpus: Path, sources: Sequence[str]) -> dict[str, int]:
    """Count the training lines, of some thousands, that each word of some sources stands in."""
    path = corpus / "train.source"
    if not path.exists():
        return {}
    total = sum(1 for _ in files.read_lines(path))
    step = -(-total // MOST_COUNTED) or 1
    lines = islice(files.read_lines(path), 0, None, step)
    return count_word_lines(lines, sources)


def share_errors(
    sentences: Sequence[JudgedSentence], corpora: Mapping[str, slice]
) -> dict[str, tuple[int, float]]:
    """Return the test sentences of each corpus, and its share of what all lack of a chrF of 100."""
    lacking = {name: [100 - one.score for one in sentences[rows]] for name, rows in corpora.items()}
    total = sum(map(sum, lacking.values())) or 1.0
    return {name: (len(each), sum(each) / total) for name, each in lacking.items()}


def dump_slices(slices: Mapping[str, SliceScore]) -> dict[str, Any]:
    """Return slices as they stand in metrics."""
    return {name: one.model_dump(mode="json") for name, one in slices.items()}
