"""Load the trained model with its tokenizers and vocabularies, and fit its confidence."""

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file

from nmt_core.base import files
from nmt_core.base.compute import prepare_compute
from nmt_core.base.languages import Languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.evaluation.quality import score_chrf
from nmt_core.models.settings import build_model, read_model_config
from nmt_core.models.weights import load_untied_state_dict
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.text.aligner.aligner import ALIGNER, find_aligner
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.translation import Translation
from nmt_core.translation.confidence import was_searched
from nmt_core.translation.directions import DirectionConfig
from nmt_core.translation.fitting import explain_unfit, fit_confidence, measure_reliability
from nmt_core.translation.text_search import TranslatorConfig
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import EvaluateParams
from stages.paths import Inputs
from stages.reporting.evaluation import ConfidenceReport
from stages.runtime.fingerprint import check_digests


def check_trained() -> None:
    """Raise a ``NmtError`` if trained model or vocabulary were altered; see ``check_digests``."""
    check_digests(paths.VOCABULARY, stage="vocabulary")
    check_digests(paths.TRAINED, stage="train")


def load_trained(
    params: EvaluateParams, inputs: Inputs, languages: Languages | None = None
) -> Translator:
    """Return a translator of the trained model, with its tokenizers and vocabularies."""
    compute = prepare_compute(params.device, precision="float32", threads=params.threads)
    source, target = (
        Side.load(inputs.tokenizer / side, inputs.vocabulary / f"{side}.txt")
        for side in paths.SIDES
    )
    config = read_model_config(files.read_json(inputs.trained / "model.json"))
    model = build_model(
        config, source_size=len(source.vocabulary), target_size=len(target.vocabulary)
    )
    load_untied_state_dict(model, load_file(inputs.trained / "model.safetensors"))
    return Translator(
        engine=PyTorchEngine(
            model.to(compute.device),
            len(target.vocabulary),
            never=tuple(target.vocabulary.tags.values()),
        ),
        source=source,
        target=target,
        config=TranslatorConfig(beam=params.beam, batch_tokens=params.batch_tokens),
        languages=None if inputs.directions else languages,
        directions=tuple(
            DirectionConfig(languages=direction) for direction in dict.fromkeys(inputs.directions)
        ),
        restorer=Restorer.load(inputs.tokenizer / "source"),
        load_aligner=cache(partial(find_aligner, inputs.tokenizer / ALIGNER)),
    )


def read_validation(
    inputs: Inputs, count: int, seed: int, direction: Languages | None = None
) -> tuple[list[str], list[str], list[tuple[str, ...]]]:
    """Return sources, references and tags of at most ``count`` random validation pairs.

    ``direction`` is one of several directions.
    """
    sides = [list(files.read_lines(inputs.corpus / f"validation.{side}")) for side in paths.SIDES]
    rows = list_rows(inputs, "validation", direction)
    chosen = [rows[number] for number in draw_line_numbers(len(rows), count, seed)]
    source, target = ([side[number] for number in chosen] for side in sides)
    tags = list_tags(inputs, "validation")
    return source, target, [tags[number] if tags else () for number in chosen]


def list_rows(inputs: Inputs, split: str, direction: Languages | None) -> list[int]:
    """Return the rows of a split that are in a direction; None stands for all."""
    if direction is None:
        return [row for row, _ in enumerate(files.read_lines(inputs.corpus / f"{split}.source"))]
    return [row for row, own in enumerate(paths.list_directions(inputs, split)) if own == direction]


def read_tags() -> tuple[tuple[str, ...], ...]:
    """Return the tags of each corpus of the project."""
    return tuple(map(tuple, files.read_json(paths.TAGS)))


def list_tags(inputs: Inputs, split: str) -> list[tuple[str, ...]]:
    """Return the tags of each line of a split, those of its corpus; empty without any tag."""
    if not any(inputs.tags):
        return []
    corpora = files.read_json(inputs.corpus / "corpus.json")["corpora"]
    return [
        tags for tags, pairs in zip(inputs.tags, corpora, strict=True) for _ in range(pairs[split])
    ]


def tag_lines(side: Side, lines: Sequence[str], tags: Sequence[tuple[str, ...]]) -> list[Tokenized]:
    """Return tokenized lines with their tags; ``tags`` may be empty."""
    read = [side.tokenize(line) for line in lines]
    return [text._replace(tags=own) for text, own in zip(read, tags, strict=True)] if tags else read


CONFIDENCE_SENTENCES = 2000
"""Maximum number of validation sentences that are translated to fit confidence."""

TranslatedText = tuple[Sequence[str], Sequence[str], Sequence[Translation]]
"""Source sentences, their references and their translations."""


def select_searched(
    params: EvaluateParams, text: TranslatedText, *, language: str
) -> tuple[tuple[list[str], list[Translation]], NDArray[np.bool_]]:
    """Return non-empty sentences with their translations, and a mask of good translations."""
    sources, references, translations = text
    rows = [row for row, each in enumerate(translations) if was_searched(each)]
    searched = [translations[row] for row in rows]
    hypotheses, expected = [each.text for each in searched], [references[row] for row in rows]
    good = score_chrf(hypotheses, expected, language=language) >= params.good_chrf
    return ([sources[row] for row in rows], searched), good


def judge_confidence(
    params: EvaluateParams, validation: TranslatedText, test: TranslatedText, *, language: str
) -> ConfidenceReport:
    """Return a confidence model fitted on validation text, with its reliability on test text.

    The same model and engine must have translated both. Without a model, it returns the reason.
    """
    fitted_on, good = select_searched(params, validation, language=language)
    if missing := explain_unfit(good):
        return ConfidenceReport(missing=missing)
    fitted = fit_confidence(*fitted_on, good, good_chrf=params.good_chrf)
    tested, good_tested = select_searched(params, test, language=language)
    estimated = np.array(fitted.estimate(*tested))
    judged = np.array([fitted.can_judge(each) for each in tested[1]], dtype=bool)
    reliability = measure_reliability(estimated[judged], good_tested[judged])
    model = fitted.model_copy(update={"reliability": reliability})
    return ConfidenceReport(model=model)
