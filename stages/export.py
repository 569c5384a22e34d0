"""Export the trained model as one sealed folder that translates raw text.

Usage: python -m stages.export
Reads:  models/trained/, data/tokenizer/, data/vocabulary/, data/corpus/,
        reports/, and the user's glossary, if params.yaml names one
Writes: models/export/, reports/export.json
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from nmt_core.base import files
from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.base.languages import Languages, read_languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.corpora.reading import TrainedText, read_texts
from nmt_core.literals.glossary import Glossary
from nmt_core.models.settings import read_model_config
from nmt_core.text.aligner.learning import Shortlist, learn_shortlist
from nmt_core.text.aligner.pieces import ShortlistConfig
from nmt_core.translation.bundle import Papers, write_bundle
from nmt_core.translation.directions import DirectionConfig
from nmt_core.translation.engine_export import HeldOutText, prepare_engines
from nmt_core.translation.loading import count_cores
from nmt_core.translation.translator import Translator
from stages import paths
from stages.params import DownloadParams, EvaluateParams, ExportParams, load
from stages.paths import Inputs
from stages.registry.exported import model_name, read_exported
from stages.reporting.card import list_materials, render_card
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import Evaluation
from stages.runtime.entry import run_stage
from stages.runtime.git import describe_checkout, git
from stages.runtime.trained import check_trained, load_trained, read_validation
from stages.tracking.run_metadata import (
    is_experiment,
    list_numbers,
    open_evaluation,
    read_public_params,
)
from stages.tracking.tracker import open_tracker


def run(
    params: ExportParams,
    evaluation: EvaluateParams,
    inputs: Inputs,
    *,
    languages: Languages,
    write_papers: Callable[[dict[str, Any]], Papers],
    evaluated: Evaluation | None,
    export: Path,
) -> dict[str, Any]:
    """Write the folder, load it again, and check that it translates like the trained model.

    ``write_papers`` returns the documents about a model from the reports of its engines and the
    number of its terms; ``evaluated`` has the confidence that the evaluation fitted. Returns counts
    and reports.
    """
    trained = load_trained(evaluation, inputs, languages)
    glossaries = read_glossary(params, languages)
    translator = replace(trained, glossaries=glossaries)
    if evaluated:
        confidence, directions = evaluated.confidence.model, list_fitted(evaluated)
        translator = replace(translator, confidence_model=confidence, directions=directions)
    sources = list(files.read_lines(inputs.corpus / "test.source"))
    lines = paths.list_directions(inputs, "test")
    chosen = draw_line_numbers(len(sources), params.golden_sentences, evaluation.seed)
    shortlist = params.shortlist if params.engines else None  # only engines read it
    model_config = files.read_json(inputs.trained / "model.json")
    with tempfile.TemporaryDirectory() as scratch:
        engines, reports = prepare_engines(
            params.engines,
            translator=translator,
            model_config=read_model_config(model_config),
            folder=Path(scratch),
            text=read_compared(inputs, params.engine_sentences, evaluation.seed),
            threads=evaluation.threads or count_cores(),
            shortlist=learn_from_training(shortlist, inputs, translator),
        )
        terms = sum(len(glossary.translations) for glossary in glossaries)
        contents = {"glossary_terms": terms, "engines": reports}
        write_bundle(
            export,
            translator=translator,
            model_config=model_config,
            papers=write_papers(contents),
            golden_sentences=[sources[number] for number in chosen],
            golden_directions=[str(lines[number]) for number in chosen] if lines else (),
            engines=engines,
        )
    exported_files = [path for path in export.rglob("*") if path.is_file()]
    return {
        "files": len(exported_files),
        "bytes": sum(path.stat().st_size for path in exported_files),
        "golden_sentences": len(chosen),
        **contents,
    }


def read_compared(inputs: Inputs, count: int, seed: int) -> HeldOutText:
    """Return validation sentences to compare engines on, equally many of each direction."""
    directions = [*dict.fromkeys(inputs.directions)]
    if not directions:
        return HeldOutText(*read_validation(inputs, count, seed)[:2])
    each = -(-count // len(directions))
    parts = [(d, read_validation(inputs, each, seed, d)) for d in directions]
    return HeldOutText(
        [line for _, part in parts for line in part[0]],
        [line for _, part in parts for line in part[1]],
        [direction for direction, part in parts for _ in part[0]],
    )


def list_fitted(evaluation: Evaluation) -> tuple[DirectionConfig, ...]:
    """Return the directions of a multilingual model as the evaluation fitted them."""
    return tuple(
        DirectionConfig(
            languages=read_languages(name),
            trained=part.trained,
            pivot=part.pivot,
            length_penalty=part.length_penalty,
            confidence=part.confidence.model,
        )
        for name, part in evaluation.directions.items()
    )


def learn_from_training(
    settings: ShortlistConfig | None, inputs: Inputs, translator: Translator
) -> Shortlist | None:
    """Return the shortlist of a model, learnt from evenly spread training pairs; None if off."""
    source, target = translator.source, translator.target
    if settings is None or len(target.vocabulary) < settings.min_tokens:
        return None
    sides = [inputs.corpus / f"train.{side}" for side in paths.SIDES]
    count = sum(1 for _ in files.read_lines(sides[0]))
    lines = zip(*map(files.read_lines, sides), strict=True)
    chosen = islice(lines, 0, None, max(1, -(-count // settings.pairs)))
    pairs = [(np.array(source.ids(a)), np.array(target.ids(b))) for a, b in chosen]
    tokens = source.vocabulary.tokens, target.vocabulary.tokens
    return learn_shortlist(pairs, tokens, settings)


def read_glossary(params: ExportParams, languages: Languages) -> tuple[Glossary, ...]:
    """Return the glossary to export; empty if params.yaml names no glossary.

    Raises:
        ConfigError: if it cannot be read, a line of it is wrong, or its digest has changed.
    """
    if params.glossary is None:
        return ()
    glossary = Glossary.load(params.glossary, languages.codes)
    if params.glossary_sha256 not in ("", files.sha256(params.glossary)):
        raise ConfigError(
            f"the glossary {params.glossary} changed since params.yaml was written; run: make repro"
        )
    return (glossary,)


def take_length_penalty(params: EvaluateParams, evaluation: Evaluation) -> EvaluateParams:
    """Return settings with the length penalty that the evaluation chose."""
    beam = params.beam.model_copy(update={"length_penalty": evaluation.length_penalty})
    return params.model_copy(update={"beam": beam})


def list_extras(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the extras of the package that serving requires, by the reports of the engines."""
    sealed = any("left_out" not in report for report in reports.values())
    return "serve" if sealed else "serve,torch"


def list_texts() -> list[dict[str, Any]]:
    """Return the settings of the model's training text and of its initial models', without secrets.

    Paths of files are as in params.yaml.
    """
    download = yaml.safe_load(read_public_params())["download"]
    own = {name: download[name] for name in TrainedText.model_fields}
    earlier = read_texts(paths.INITIAL_MODEL)
    return [own, *(text.model_dump(mode="json") for text in earlier)]


def find_provenance() -> dict[str, str]:
    """Return the commit of the checkout and its date; "unknown" without git."""
    try:
        return {
            "commit": describe_checkout(),
            "date": git("show", "--no-patch", "--format=%cs", "HEAD"),
        }
    except NmtError:
        return {"commit": "unknown", "date": "unknown"}


def main() -> None:
    """Run the stage on the project's own paths."""
    check_trained()
    record = files.read_json(paths.TRAINED / "training.json")
    report = DownloadReport.read(paths.REPORTS / "download.json")
    shards = files.read_json(paths.REPORTS / "shard.json")
    evaluation = Evaluation.read(paths.REPORTS / "evaluate.json")
    download = load(DownloadParams, "download")
    bill = list_materials(model=model_name(download.languages), version=record["fingerprint"])
    params = load(ExportParams, "export")
    origin = find_provenance()

    def write_papers(written: dict[str, Any]) -> Papers:
        card = render_card(
            download,
            report,
            record,
            evaluation,
            shards=shards,
            made={
                **origin,
                "glossary_terms": written["glossary_terms"],
                "extras": list_extras(written["engines"]),
            },
        )
        return card, bill, list_texts()

    with open_evaluation(record["fingerprint"]) as tracker:
        exported = run(
            params,
            take_length_penalty(load(EvaluateParams, "evaluate"), evaluation),
            Inputs(directions=paths.read_directions(paths.CORPUS)),
            languages=download.languages,
            write_papers=write_papers,
            evaluated=evaluation,
            export=paths.EXPORT,
        )
        numbers = {f"export_{n}": v for n, v in exported.items() if isinstance(v, int | float)}
        tracker.metrics(list_numbers(evaluation) | numbers, step=0)
    files.write_json(paths.REPORTS / "export.json", exported)
    if not is_experiment():
        sealed = read_exported(download)
        with open_tracker(record["fingerprint"]) as tracker:
            tracker.model(sealed.folder, name=sealed.name, tags=sealed.tags)


if __name__ == "__main__":
    run_stage(main)
