"""Translate the test set, and score the translations with confidence intervals.

Usage: python -m stages.evaluate
Reads:  models/trained/, data/corpus/, data/tags.json, data/tokenizer/,
        data/vocabulary/, reports/download.json
Writes: metrics/evaluate.json, reports/evaluate.json, reports/translations.tsv,
        reports/examples.json, reports/attention/*.png, reports/learning_curve.png,
        reports/scores/*.csv, reports/index.html
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.evaluation import quality
from nmt_core.evaluation.attention import Look, draw_looks
from nmt_core.evaluation.kept_literals import count_kept_literals
from nmt_core.evaluation.pictures import Curve, draw_learning_curve
from nmt_core.evaluation.registered import check_references, find_label, load_metric
from nmt_core.evaluation.slice import SlicedText
from nmt_core.text.side import Tokenized
from nmt_core.translation.attention import trace_attention
from nmt_core.translation.behaviour import PROBES, probe_translator, search_best
from nmt_core.translation.length_penalty import (
    LengthPenaltyTrial,
    set_length_penalty,
    try_length_penalties,
)
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import DownloadParams, EvaluateParams, load
from stages.reporting.learning_rate import trace_learning_rate, trace_losses
from stages.reporting.run_page import render_run_page
from stages.reporting.run_report import (
    count_training_words,
    dump_slices,
    judge_sentences,
    link_shown,
    list_corpora,
    measure_slices,
    share_errors,
)
from stages.reporting.scores import (
    measure_translations,
    score_novel,
    score_translations,
    score_untagged,
    summarize_scores,
    write_plots,
)
from stages.reporting.verdict import judge_run
from stages.runtime.drawn_lines import choose
from stages.runtime.entry import run_stage
from stages.runtime.reliability import CONFIDENCE_SENTENCES, judge_confidence
from stages.runtime.trained import (
    TrainedInputs,
    check_trained,
    list_tags,
    load_trained,
    read_references,
    read_validation,
    tag_lines,
)
from stages.tracking import run_metadata
from stages.tracking.evaluation import list_numbers, open_evaluation, show_scores

PICTURE_TOKENS = 30
"""Longer sentences make unreadable pictures."""

SEARCH_SENTENCES = 500
"""Validation sentences by which the length penalty is chosen, and beam sizes are compared."""

ValidationText = tuple[Sequence[str], Sequence[str], Sequence[str | None]]
"""Source sentences, their references and their tags."""


def run(
    params: EvaluateParams,
    inputs: TrainedInputs,
    *,
    languages: Languages,
    reports: Path,
    download: Mapping[str, Any] | None = None,
    timed: Callable[[float], None] = lambda _: None,
) -> dict[str, Any]:
    """Score the model, and write translations, examples, pictures and the report of the run.

    A line of a corpus with a tag is translated with that tag, as by a person who knows where it is
    from; ``untagged`` has the scores without. Behaviour is measured without.

    Args:
        params: settings.
        inputs: what earlier stages made.
        languages: of the two sides.
        reports: folder of what is written.
        download: metrics of the download stage, if they are at hand.
        timed: takes the sentences translated per second, which differ from run to run.
    """
    language = languages.target
    validation = read_validation(inputs, CONFIDENCE_SENTENCES, params.seed)
    translator, trials = choose_length_penalty(
        params, load_trained(params, inputs, languages), validation, language=language
    )
    sources = list(files.read_lines(inputs.corpus / "test.source"))
    scored = read_references(inputs.corpus)
    check_references(params.metrics, scored)
    references = [one if isinstance(one, str) else one[0] for one in scored]
    written = [translator.target.tokenize(line) for line in references]
    began = time.monotonic()
    read = tag_lines(translator.source, sources, list_tags(inputs, "test"))
    translations = [best for best, *_ in translator.search(read, n_best=1)]
    timed(len(sources) / max(time.monotonic() - began, 1e-9))
    hypotheses = [translation.text for translation in translations]
    quality.warn_of_tokenized(hypotheses, references)
    write_translations(reports / "translations.tsv", sources, references, translations)
    chosen = choose(len(sources), params.examples, params.seed)
    examples = [
        {"source": sources[n], "reference": references[n], "hypothesis": hypotheses[n]}
        for n in chosen
    ]
    files.write_json(reports / "examples.json", examples)
    draw_pictures(params, translator, read, translations, reports / "attention")
    record = files.read_json(inputs.trained / "training.json")
    draw_training(reports / "learning_curve.png", record)
    near = inputs.corpus / "test.near"
    counts = [int(count) for count in files.read_lines(near)] if near.exists() else []
    held_out = tag_lines(translator.source, validation[0], validation[2])
    confidence, confidences = judge_confidence(
        params,
        (*validation[:2], search_best(translator, held_out)),
        (sources, references, translations),
        language=language,
    )
    corpora = list_corpora(inputs.corpus, [*(download or {}).get("corpora", ())])
    text = SlicedText(
        sources,
        references,
        languages.codes,
        confidences=confidences,
        word_counts=count_training_words(inputs.corpus, sources),
    )
    measured = {
        **score_translations(params, hypotheses, scored, sources, language=language),
        "novel": score_novel(params, counts, hypotheses, scored, sources, language=language),
        "untagged": score_untagged(params, translator, read, hypotheses, scored, language=language),
        **measure_translations(translator, read, written, hypotheses, cut=quality.cutter(language)),
        "literals": count_kept_literals(
            sources, hypotheses, references, languages.codes
        ).model_dump(),
        "behaviour": measure_behaviour(
            params, translator, sources, None if any(inputs.tags) else translations
        ),
        "confidence": confidence,
        "length_penalty": translator.config.beam.length_penalty,
        "length_penalty_trials": [trial.model_dump() for trial in trials],
        "beam_sizes": score_beam_sizes(params, translator, validation, language=language),
        "slices": dump_slices(measure_slices(params, text, scored, hypotheses, corpora)),
    }
    sentences = judge_sentences(sources, scored, hypotheses, language=language)
    verdict = judge_run(
        measured,
        record,
        good=sum(one.score >= params.good_chrf for one in sentences),
        good_chrf=params.good_chrf,
        good_share=params.good_share,
        errors=share_errors(sentences, corpora),
        greedy=translator.config.beam.beam_size == 1,
    )
    measured["verdict"] = verdict.model_dump(mode="json")
    shown = link_shown(sentences, translator.aligner, params.seed)
    page = render_run_page(
        measured, record, download or {}, shown, languages=languages, seed=params.seed
    )
    files.write_text(reports / "index.html", page)
    return measured


def take_first(text: ValidationText, most: int) -> ValidationText:
    """Return the first sentences of a text, at most so many."""
    return text[0][:most], text[1][:most], text[2][:most]


def choose_length_penalty(
    params: EvaluateParams,
    translator: Translator,
    validation: ValidationText,
    *,
    language: str,
) -> tuple[Translator, list[LengthPenaltyTrial]]:
    """Return the translator with the length penalty that validation text has the best score with.

    Nothing is tried for greedy search, which has none, and where it is not to be chosen.

    Args:
        params: whether to choose; the first metric decides.
        translator: translates validation text.
        validation: source sentences, their references and their tags.
        language: code of the target language.
    """
    if not params.choose_length_penalty or params.beam.beam_size == 1 or not validation[0]:
        return translator, []
    metric = load_metric(params.metrics[0], language)
    sign = 1 if metric.higher_is_better else -1
    sources, references, tags = take_first(validation, SEARCH_SENTENCES)
    read = tag_lines(translator.source, sources, tags) if any(tags) else sources
    trials = try_length_penalties(
        translator,
        read,
        references,
        lambda texts: sign * metric.score(texts, references, sources).value,
    )
    best = max(trials, key=lambda trial: trial.score)
    return set_length_penalty(translator, best.length_penalty), trials


def score_beam_sizes(
    params: EvaluateParams, translator: Translator, validation: ValidationText, *, language: str
) -> dict[str, float]:
    """Return the first score of validation text by beam size: 1, 2, 4 ... and the configured one.

    Args:
        params: the metric.
        translator: translates validation text.
        validation: source sentences, their references and their tags.
        language: code of the target language.
    """
    metric = load_metric(params.metrics[0], language)
    sources, references, tags = take_first(validation, SEARCH_SENTENCES)
    read = tag_lines(translator.source, sources, tags)
    configured = translator.config.beam.beam_size
    sizes = [*takewhile(lambda size: size < configured, (2**n for n in count())), configured]
    texts = {size: translator.translate_sentences(read, beam_size=size) for size in sizes if read}
    return {
        str(size): metric.score(lines, references, sources).value for size, lines in texts.items()
    }


def measure_behaviour(
    params: EvaluateParams,
    translator: Translator,
    sources: Sequence[str],
    translations: Sequence[Translation] | None,
) -> dict[str, Any]:
    """Return what comes through when test sentences change, by kind of change."""
    if not params.behaviour.lines:
        return {}
    found = probe_translator(
        translator,
        sources,
        seed=params.seed,
        plain=translations,
        most=max(1, params.behaviour.lines // len(PROBES)),
    )
    return {name: behaviour.model_dump() for name, behaviour in found.items()}


def draw_training(path: Path, record: dict[str, Any]) -> None:
    """Draw how a training went, from its ``training.json``."""
    history = record["history"]
    metric = next(reversed(history[0]["validation_scores"]))
    steps = [point["step"] for point in history]
    scores = Curve(find_label(metric), steps, [p["validation_scores"][metric] for p in history])
    draw_learning_curve(path, trace_losses(record), scores, trace_learning_rate(record))


def write_translations(
    path: Path, sources: list[str], references: list[str], translations: list[Translation]
) -> None:
    """Write every test sentence with its translation, so that all scores can be computed again."""
    rows = zip(sources, references, translations, strict=True)
    lines = (
        "\t".join([f"{t.score:.4f}", *(cell.replace("\t", " ") for cell in (s, r, t.text))])
        for s, r, t in rows
    )
    files.write_lines(path, ["score\tsource\treference\thypothesis", *lines])


def draw_pictures(
    params: EvaluateParams,
    translator: Translator,
    sources: Sequence[Tokenized],
    translations: list[Translation],
    folder: Path,
) -> None:
    """Draw the attention of a few sentences short enough to be read."""
    looks: dict[int, Look] = {}
    for number in choose(len(sources), len(sources), params.seed):
        if len(looks) == params.pictures:
            break
        longest = max(len(sources[number].tokens), len(translations[number].tokens))
        if not 0 < longest <= PICTURE_TOKENS:
            continue
        look = trace_attention(translator, sources[number], translations[number])
        if look is None:
            break
        looks[len(looks) + 1] = look
    draw_looks(folder, looks)


def read_download(path: Path) -> dict[str, Any]:
    """Return the metrics of the download stage; empty in a plan, which runs no such stage."""
    found: dict[str, Any] = files.read_json(path) if path.exists() else {}
    return found


def main() -> None:
    """Run the stage on the project's own paths."""
    check_trained()
    training = files.read_json(paths.TRAINED / "training.json")
    with open_evaluation(training["fingerprint"]) as tracker:
        tracker.dataset(run_metadata.describe_dataset("test"))
        measured = run(
            load(EvaluateParams, "evaluate"),
            TrainedInputs(tags=tuple(files.read_json(paths.TAGS))),
            languages=load(DownloadParams, "download").languages,
            reports=paths.REPORTS,
            download=read_download(paths.REPORTS / "download.json"),
            timed=lambda speed: tracker.metrics({"test_sentences_per_second": speed}, step=0),
        )
        numbers = list_numbers(measured) | {"model_parameters": training["parameters"]}
        tracker.metrics(numbers, step=0)
        tracker.params({f"test_{n}": v for n, v in measured.items() if n.endswith("_signature")})
        tracker.table("examples.json", files.read_json(paths.REPORTS / "examples.json"))
        for name in ("attention", "learning_curve.png"):
            tracker.artifact(paths.REPORTS / name, under="plots")
        tracker.artifact(paths.REPORTS / "index.html")
    show_scores(training["fingerprint"], numbers)
    files.write_json(paths.REPORTS / "evaluate.json", measured)
    write_plots(paths.REPORTS / "scores", measured)
    files.write_json(paths.METRICS / "evaluate.json", summarize_scores(measured))


if __name__ == "__main__":
    run_stage(main)
