"""Translate the test set, and score the translations with confidence intervals.

Usage: python -m stages.evaluate
Reads:  models/trained/, data/corpus/, data/tags.json, data/tokenizer/,
        data/vocabulary/, reports/download.json
Writes: metrics/evaluate.json, reports/evaluate.json, reports/translations.tsv,
        reports/examples.json, reports/attention/*.png, reports/learning_curve.png,
        reports/scores/*.csv, reports/index.html
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.evaluation.pictures import Look, draw_learning_curve, draw_looks
from nmt_core.evaluation.quality import count_kept_literals
from nmt_core.evaluation.registry import find_label, load_metric
from nmt_core.translation.fitting import set_length_penalty, try_length_penalties
from nmt_core.translation.forced_decoding import trace_attention
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import DownloadParams, EvaluateParams, load
from stages.paths import Inputs, list_directions
from stages.reporting import measures
from stages.reporting.directions import combine_evaluations, measure_off_target
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import Evaluation
from stages.reporting.measures import TranslatedText
from stages.reporting.pages import JudgedSentence, judge_sentences, render_run_page
from stages.reporting.untrained import evaluate_untrained
from stages.reporting.verdict import judge_run
from stages.runtime.entry import run_stage
from stages.runtime.trained import (
    CONFIDENCE_SENTENCES,
    check_trained,
    judge_confidence,
    list_rows,
    list_tags,
    load_trained,
    read_tags,
    read_validation,
    tag_lines,
)
from stages.tracking.run_metadata import list_numbers, open_evaluation, show_scores

PICTURE_TOKENS = 30
"""Maximum number of tokens per side in a picture of attention; more would be unreadable."""

SEARCH_SENTENCES = 500
"""Maximum number of validation sentences for choosing a length penalty."""

MIN_POINTS = 4
"""Minimum number of logged points of a curve; with fewer, the validations are drawn."""

ValidationText = tuple[Sequence[str], Sequence[str], Sequence[tuple[str, ...]]]
"""Source sentences, their references and their tags."""


def run(
    params: EvaluateParams,
    inputs: Inputs,
    *,
    languages: Languages,
    reports: Path,
    download: DownloadReport | None = None,
    timed: Callable[[float], None] = lambda _: None,
) -> Evaluation:
    """Score the model, and write translations, examples, pictures and the report of the run.

    Lines of a corpus with a tag are translated with that tag. ``timed`` receives the sentences
    translated per second, which differ from run to run. Returns all results.
    """
    trained = load_trained(params, inputs, languages)
    record = files.read_json(inputs.trained / "training.json")
    corpora = measures.list_corpora(inputs.corpus, [*(download.corpora if download else ())])
    parts = {
        direction: evaluate_direction(
            params, inputs, trained, direction, record=record, corpora=corpora
        )
        for direction in dict.fromkeys(inputs.directions or [languages])
    }
    timed(sum(len(p.rows) for p in parts.values()) / sum(p.seconds for p in parts.values()))
    text = join_texts(parts.values(), languages)
    write_translations(reports / "translations.tsv", text)
    write_examples(reports / "examples.json", text, params)
    translators = [trained.choose(*each.codes) for each in list_directions(inputs, "test")]
    draw_pictures(params, translators or [trained] * len(text.read), text, reports / "attention")
    draw_training(reports / "learning_curve.png", record)
    evaluations = {direction: part.evaluation for direction, part in parts.items()}
    if inputs.directions:
        evaluation = combine_evaluations(evaluations)
        further = evaluate_untrained(params, inputs, trained)
        evaluation = evaluation.model_copy(update={"directions": evaluation.directions | further})
    else:
        evaluation = evaluations[languages]
    sentences = sorted((s for p in parts.values() for s in p.sentences), key=attrgetter("number"))
    page = render_run_page(
        evaluation,
        record,
        download,
        sentences,
        languages=languages,
        seed=params.seed,
        learning_curve=(reports / "learning_curve.png").read_bytes(),
    )
    files.write_text(reports / "index.html", page)
    return evaluation


@dataclass(frozen=True)
class EvaluatedDirection:
    """The test set of one direction with its translations and results."""

    rows: Sequence[int]
    """The rows of the test set."""
    text: TranslatedText
    seconds: float
    """Seconds of translation."""
    evaluation: Evaluation
    sentences: Sequence[JudgedSentence]


def evaluate_direction(
    params: EvaluateParams,
    inputs: Inputs,
    trained: Translator,
    languages: Languages,
    *,
    record: dict[str, Any],
    corpora: dict[str, slice],
) -> EvaluatedDirection:
    """Return the results of one direction; ``corpora`` has the rows of each corpus."""
    only = languages if inputs.directions else None
    validation = read_validation(inputs, CONFIDENCE_SENTENCES, params.seed, only)
    translator = choose_length_penalty(
        params,
        trained.choose(*languages.codes) if only else trained,
        validation,
        language=languages.target,
    )
    rows = list_rows(inputs, "test", only)
    start = time.monotonic()
    text = translate_test_set(inputs, translator, languages, rows)
    seconds = max(time.monotonic() - start, 1e-9)
    evaluation = measure(params, translator, text, validation, {} if only else corpora)
    scored = judge_sentences(
        text.sources, text.references, text.hypotheses, language=languages.target
    )
    sentences = [
        replace(sentence, number=row + 1) for row, sentence in zip(rows, scored, strict=True)
    ]
    good = sum(sentence.score >= params.good_chrf for sentence in sentences)
    changes: dict[str, Any] = {"verdict": judge_run(evaluation, record, params, good=good)}
    if only:
        others = [code for each in trained.directions for code in each.languages.codes]
        changes["off_target"] = measure_off_target(text.hypotheses, languages.target, others)
    evaluation = evaluation.model_copy(update=changes)
    return EvaluatedDirection(rows, text, seconds, evaluation, sentences)


def translate_test_set(
    inputs: Inputs, translator: Translator, languages: Languages, rows: Sequence[int]
) -> TranslatedText:
    """Return these rows of the test set with their translations."""
    sides = [list(files.read_lines(inputs.corpus / f"test.{side}")) for side in paths.SIDES]
    sources, references = ([side[row] for row in rows] for side in sides)
    tags = list_tags(inputs, "test")
    read = tag_lines(translator.source, sources, [tags[row] for row in rows] if tags else [])
    translations = [best for best, *_ in translator.search(read, n_best=1)]
    return TranslatedText(languages, sources, references, read, translations)


def join_texts(parts: Collection[EvaluatedDirection], languages: Languages) -> TranslatedText:
    """Return the whole test set with its translations, in order."""
    placed = [(row, part.text, at) for part in parts for at, row in enumerate(part.rows)]
    order = [(text, at) for _, text, at in sorted(placed, key=itemgetter(0))]
    return TranslatedText(
        languages,
        [text.sources[at] for text, at in order],
        [text.references[at] for text, at in order],
        [text.read[at] for text, at in order],
        [text.translations[at] for text, at in order],
    )


def measure(
    params: EvaluateParams,
    translator: Translator,
    text: TranslatedText,
    validation: ValidationText,
    corpora: dict[str, slice],
) -> Evaluation:
    """Return the results of a translated test set; ``corpora`` has the rows of each corpus."""
    language = text.languages.target
    held_out = tag_lines(translator.source, validation[0], validation[2])
    confidence = judge_confidence(
        params,
        (*validation[:2], translator.search_best(held_out)),
        (text.sources, text.references, text.translations),
        language=language,
    )
    return Evaluation(
        scores=text.score(params),
        **measures.measure_translations(translator, text),
        literals=count_kept_literals(
            text.sources, text.hypotheses, text.references, text.languages.codes
        ),
        confidence=confidence,
        length_penalty=translator.config.beam.length_penalty,
        slices=measures.measure_slices(params, text, corpora),
    )


def choose_length_penalty(
    params: EvaluateParams, translator: Translator, validation: ValidationText, *, language: str
) -> Translator:
    """Return the translator with the length penalty that has the best score on validation text.

    Greedy search has no length penalty, so its translator is returned unchanged.
    """
    if not params.choose_length_penalty or params.beam.beam_size == 1 or not validation[0]:
        return translator
    metric = load_metric(params.metrics[0], language)
    sign = 1 if metric.higher_is_better else -1
    sources, references, tags = ([*part[:SEARCH_SENTENCES]] for part in validation)
    read = tag_lines(translator.source, sources, tags) if any(tags) else sources
    trials = try_length_penalties(
        translator,
        read,
        references,
        lambda texts: sign * metric.score(texts, references, sources).value,
    )
    best = max(trials, key=lambda trial: trial.score)
    return set_length_penalty(translator, best.length_penalty)


def draw_training(path: Path, record: dict[str, Any]) -> None:
    """Draw losses, scores and learning rates of a training; ``record`` is ``training.json``."""
    history, logged = record["history"], record["curve"]
    if len(logged) < MIN_POINTS:
        logged = [point | {"loss": point["train_loss"]} for point in history]
    metric = next(reversed(history[0]["validation_scores"]))
    steps, updates = ([point["step"] for point in points] for points in (history, logged))
    draw_learning_curve(
        path,
        {
            "validation": (steps, [point["validation_loss"] for point in history]),
            "training": (updates, [point["loss"] for point in logged]),
        },
        (steps, [point["validation_scores"][metric] for point in history]),
        (updates, [point["learning_rate"] for point in logged]),
        metric=find_label(metric),
    )


def write_translations(path: Path, text: TranslatedText) -> None:
    """Write every test sentence with its translation as TSV, to compute all scores from."""
    rows = zip(text.sources, text.references, text.translations, strict=True)
    lines = (
        "\t".join([f"{t.score:.4f}", *(cell.replace("\t", " ") for cell in (s, r, t.text))])
        for s, r, t in rows
    )
    files.write_lines(path, ["score\tsource\treference\thypothesis", *lines])


def write_examples(path: Path, text: TranslatedText, params: EvaluateParams) -> None:
    """Write some test sentences, drawn by the seed, with their translations."""
    columns = {"source": text.sources, "reference": text.references, "hypothesis": text.hypotheses}
    rows = draw_line_numbers(len(text.sources), params.examples, params.seed)
    files.write_json(path, [{name: lines[n] for name, lines in columns.items()} for n in rows])


def draw_pictures(
    params: EvaluateParams, translators: Sequence[Translator], text: TranslatedText, folder: Path
) -> None:
    """Draw the attention of a few sentences short enough to be read; each has a translator."""
    looks: dict[int, Look] = {}
    for number in draw_line_numbers(len(text.read), len(text.read), params.seed):
        source, translation = text.read[number], text.translations[number]
        if len(looks) == params.pictures:
            break
        if not 0 < max(len(source.tokens), len(translation.tokens)) <= PICTURE_TOKENS:
            continue
        look = trace_attention(translators[number], source, translation)
        if look is None:
            break
        looks[len(looks) + 1] = look
    draw_looks(folder, looks)


def main() -> None:
    """Run the stage on the project's own paths."""
    check_trained()
    training = files.read_json(paths.TRAINED / "training.json")
    report = paths.REPORTS / "download.json"
    with open_evaluation(training["fingerprint"]) as tracker:
        evaluation = run(
            load(EvaluateParams, "evaluate"),
            Inputs(tags=read_tags(), directions=paths.read_directions(paths.CORPUS)),
            languages=load(DownloadParams, "download").languages,
            reports=paths.REPORTS,
            download=DownloadReport.read(report) if report.exists() else None,
            timed=lambda speed: tracker.metrics({"test_sentences_per_second": speed}, step=0),
        )
        numbers = list_numbers(evaluation) | {"model_parameters": training["parameters"]}
        tracker.metrics(numbers, step=0)
        tracker.params(
            {f"test_{name}_signature": score.signature for name, score in evaluation.scores.items()}
        )
        for name in ("attention", "learning_curve.png"):
            tracker.artifact(paths.REPORTS / name, under="plots")
        tracker.artifact(paths.REPORTS / "index.html")
    show_scores(training["fingerprint"], numbers)
    files.write_json(paths.REPORTS / "evaluate.json", evaluation.dump())
    measures.write_plots(paths.REPORTS / "scores", evaluation)
    files.write_json(paths.METRICS / "evaluate.json", evaluation.summarize())


if __name__ == "__main__":
    run_stage(main)
