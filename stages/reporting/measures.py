"""Measures of a translated test set: scores, likelihood, failures and slices."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.evaluation import quality
from nmt_core.evaluation.metric import Mask, Score, SlicedText, SummedMetric
from nmt_core.evaluation.registry import load_metric
from nmt_core.evaluation.slices import SliceScore, find_slices, score_slices
from nmt_core.text.side import Tokenized
from nmt_core.text.translation import Translation
from nmt_core.translation.forced_decoding import score_pairs
from nmt_core.translation.translator import Translator
from stages.params import EvaluateParams
from stages.reporting.evaluation import Evaluation


@dataclass(frozen=True)
class TranslatedText:
    """A test set with its translations."""

    languages: Languages
    sources: Sequence[str]
    references: Sequence[str]
    read: Sequence[Tokenized]
    """The sources, with their tags."""
    translations: Sequence[Translation]

    @cached_property
    def hypotheses(self) -> list[str]:
        """The text of each translation."""
        return [translation.text for translation in self.translations]

    def score(self, params: EvaluateParams) -> dict[str, Score]:
        """Return the scores of all metrics, with 95 % intervals and signatures."""
        return {
            name: load_metric(name, self.languages.target).score(
                self.hypotheses, self.references, self.sources, resamples=params.resamples
            )
            for name in params.metrics
        }


def measure_translations(translator: Translator, text: TranslatedText) -> dict[str, Any]:
    """Return fields of an evaluation: perplexity, unknown words, lengths and failures."""
    cut = quality.load_word_splitter(text.languages.target)
    written = [translator.target.tokenize(line) for line in text.references]
    pairs = list(zip(text.read, written, strict=True))
    sources, references = ([line.line for line in side] for side in (text.read, written))
    likelihoods = score_pairs(translator, pairs)
    tokens = sum(pair.tokens for pair in likelihoods)
    loss = -sum(pair.log_likelihood for pair in likelihoods) / max(1, tokens)
    failures = quality.count_failures(sources, text.hypotheses, references, cut=cut)
    return {
        "sentences": len(pairs),
        "cross_entropy": loss,
        "perplexity": math.exp(min(loss, 100.0)),
        "length_ratio": quality.compute_length_ratio(text.hypotheses, references, cut=cut),
        "source_unknown_rate": quality.compute_unknown_rate(map(translator.source.ids, text.read)),
        "failures": failures,
    }


def list_corpora(corpus: Path, names: Sequence[str]) -> dict[str, slice]:
    """Return the rows of each corpus in the test set, by name, or by number without names."""
    described = corpus / "corpus.json"
    counts = files.read_json(described)["corpora"] if described.exists() else []
    if len(names) != len(counts):
        names = [f"corpus {number}" for number, _ in enumerate(counts, start=1)]
    ends = np.cumsum([0, *(each["test"] for each in counts)]).tolist()
    return {name: slice(*ends) for name, ends in zip(names, pairwise(ends), strict=True)}


def measure_slices(
    params: EvaluateParams, text: TranslatedText, corpora: Mapping[str, slice]
) -> dict[str, SliceScore]:
    """Return the scores of all slices of the test set; several corpora are slices, too.

    ``corpora`` has the rows of each corpus.
    """
    sliced = SlicedText(text.sources, text.references, text.languages.codes)
    slices: dict[str, tuple[str, Mask]] = find_slices(sliced)
    for name, rows in corpora.items() if len(corpora) > 1 else ():
        mask = np.zeros(len(text.sources), bool)
        mask[rows] = True
        slices[f"corpus {name}"] = (f"of the corpus {name}", mask)
    loaded = {name: load_metric(name, text.languages.target) for name in params.metrics}
    metrics = {
        name: (metric, metric.counts(text.hypotheses, text.references, text.sources))
        for name, metric in loaded.items()
        if isinstance(metric, SummedMetric)
    }
    return score_slices(slices, metrics, resamples=params.resamples, seed=params.seed)


def write_plots(folder: Path, evaluation: Evaluation) -> None:
    """Write tables for ``dvc plots``: the first metric by slice, and confidence."""
    first = evaluation.first_metric
    model = evaluation.confidence.model
    curve = model.reliability.curve if model and model.reliability else ()
    slices = ((n, part.scores[first][0]) for n, part in evaluation.slices.items() if part.scores)
    tables: dict[str, tuple[str, Iterable[tuple[object, float]]]] = {
        "slices": ("slice,score", slices),
        "confidence": ("confidence,good", ((bin_.confidence, bin_.good) for bin_ in curve)),
    }
    for name, (head, rows) in tables.items():
        files.write_lines(folder / f"{name}.csv", [head, *(f"{key},{n:.4f}" for key, n in rows)])
