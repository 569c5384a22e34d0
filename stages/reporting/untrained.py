"""Directions that a model was not trained in: translated directly, or through a pivot language."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.parallel_text import Pair
from nmt_core.evaluation.quality import compute_length_ratio, load_word_splitter
from nmt_core.evaluation.registry import load_metric
from nmt_core.translation.directions import DirectionConfig
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import EvaluateParams
from stages.paths import Inputs
from stages.reporting.directions import measure_off_target
from stages.reporting.evaluation import ConfidenceReport, DirectionEvaluation

MAX_COMPARED = 500
"""Maximum number of validation sentences by which direct translation and pivots are compared."""

MIN_COMPARED = 50
"""Minimum number; with fewer, a pivot is used if there is one."""


def list_untrained(directions: Sequence[Languages]) -> dict[Languages, list[str]]:
    """Return the other directions between the languages of a model, with their pivots."""
    sources, targets = ({d.codes[side] for d in directions} for side in (0, 1))
    return {
        Languages(source=source, target=target): [
            pivot
            for pivot in sorted(sources & targets)
            if Languages(source=source, target=pivot) in directions
            and Languages(source=pivot, target=target) in directions
        ]
        for source, target in permutations(sorted(sources | targets), 2)
        if source in sources
        and target in targets
        and Languages(source=source, target=target) not in directions
    }


def read_pairs_by_direction(inputs: Inputs, split: str) -> dict[Languages, list[Pair]]:
    """Return the pairs of a split by direction; both directions of a corpus are included."""
    pairs: dict[Languages, list[Pair]] = {}
    sides = (files.read_lines(inputs.corpus / f"{split}.{side}") for side in paths.SIDES)
    directions = paths.list_directions(inputs, split)
    for direction, source, target in zip(directions, *sides, strict=True):
        pairs.setdefault(direction, []).append(Pair(source, target))
        pairs.setdefault(direction.reversed, []).append(Pair(target, source))
    return pairs


def join_pairs(pairs: Mapping[Languages, Sequence[Pair]], languages: Languages) -> list[Pair]:
    """Return pairs of two languages whose sentences translate the same sentence of a third."""
    joined: dict[Pair, None] = {}
    for direction, own in pairs.items():
        if direction.source != languages.source:
            continue
        onward = pairs.get(Languages(source=direction.target, target=languages.target), ())
        targets = {make_comparison_key(middle): target for middle, target in onward}
        for source, middle in own:
            if target := targets.get(make_comparison_key(middle)):
                joined[Pair(source, target)] = None
    return [*joined]


def evaluate_untrained(
    params: EvaluateParams, inputs: Inputs, trained: Translator
) -> dict[str, DirectionEvaluation]:
    """Return the results of directions that the model was not trained in.

    Validation text decides between direct translation (zero-shot; Johnson et al. 2017) and pivots.
    It consists of sentences with the same translation into a third language.
    """
    learned = [direction.languages for direction in trained.directions]
    validation, test = (read_pairs_by_direction(inputs, name) for name in ("validation", "test"))
    results = {}
    for languages, pivots in list_untrained(learned).items():
        ways = [
            DirectionConfig(languages=languages, trained=False, pivot=pivot)
            for pivot in (None, *pivots)
        ]
        compared, way = join_pairs(validation, languages)[:MAX_COMPARED], ways[-1]
        if len(compared) >= MIN_COMPARED:
            scores = [score_way(params, trained, each, compared)[0] for each in ways]
            way = ways[scores.index(max(scores))]
        results[str(languages)] = measure_way(params, trained, way, join_pairs(test, languages))
    return results


def score_way(
    params: EvaluateParams, trained: Translator, way: DirectionConfig, pairs: Sequence[Pair]
) -> tuple[float, list[str]]:
    """Return the first metric's score, higher is better, and the translations."""
    translator = replace(trained, directions=(*trained.directions, way))
    sources, references = zip(*pairs, strict=True)
    translations = translator.choose(*way.languages.codes).translate_sentences(sources)
    metric = load_metric(params.metrics[0], way.languages.target)
    value = metric.score(translations, references, sources).value
    return (value if metric.higher_is_better else -value), translations


def measure_way(
    params: EvaluateParams, trained: Translator, way: DirectionConfig, pairs: Sequence[Pair]
) -> DirectionEvaluation:
    """Return the results of a direction on test text, which may be empty."""
    languages = way.languages
    result = DirectionEvaluation(
        scores={},
        sentences=len(pairs),
        length_ratio=1.0,
        length_penalty=params.beam.length_penalty,
        off_target=0.0,
        confidence=ConfidenceReport(missing="the model was not trained in this direction"),
        trained=False,
        pivot=way.pivot,
    )
    if not pairs:
        return result
    _, translations = score_way(params, trained, way, pairs)
    sources, references = ([*column] for column in zip(*pairs, strict=True))
    metrics = {name: load_metric(name, languages.target) for name in params.metrics}
    cut = load_word_splitter(languages.target)
    codes = [code for each in trained.directions for code in each.languages.codes]
    return result.model_copy(
        update={
            "scores": {
                name: metric.score(
                    translations, references, sources, resamples=params.resamples
                ).interval
                for name, metric in metrics.items()
            },
            "length_ratio": compute_length_ratio(translations, references, cut=cut),
            "off_target": measure_off_target(translations, languages.target, codes),
        }
    )
