"""Pages of reports, written by Jinja2 from ``templates/``: one file each, which asks nobody.

Text is escaped, no page runs a script, and its policy forbids to fetch anything.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from nmt_core.base.languages import Languages
from nmt_core.evaluation.metric import ScoreInterval
from nmt_core.evaluation.registered import find_label
from nmt_core.translation.confidence import Reliability
from stages import paths
from stages.reporting.charts import draw_curves
from stages.reporting.download_report import DownloadReport, Removed
from stages.reporting.evaluation import Evaluation
from stages.reporting.markdown import quote_text
from stages.reporting.sentences import (
    JudgedSentence,
    choose_shown,
    mark_difference,
    mark_source,
)

TEMPLATES = Path(__file__).with_name("templates")

MOST_CHARACTERS = 400
"""Characters of an example that are shown."""

_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that no page may hold."""


def render_template(name: str, **values: Any) -> str:
    """Return a file of ``templates/`` with its values filled in."""
    text = ENVIRONMENT.get_template(name).render(**values)
    return _CONTROLS.sub("\ufffd", text)


def render_run_page(
    evaluation: Evaluation,
    record: Mapping[str, Any],
    download: DownloadReport | None,
    sentences: Sequence[JudgedSentence],
    *,
    languages: Languages,
    seed: int,
) -> str:
    """Return the report of a run: its verdict, then the evidence.

    Args:
        evaluation: with its verdict.
        record: ``training.json``.
        download: result of the download stage, if it is at hand.
        sentences: the test set, in order; those that are shown have links.
        languages: of the two sides.
        seed: draws the sentences that are shown at random.
    """
    history = record["history"]
    metric = next(reversed(history[0]["validation_scores"]))
    label = find_label(metric)
    best = next(point for point in history if point["step"] == record["best_step"])
    losses = {
        kind: [(point["step"], point[f"{kind}_loss"]) for point in history]
        for kind in ("validation", "train")
    }
    scores = {metric: [(point["step"], point["validation_scores"][metric]) for point in history]}
    best_score = best["validation_scores"][metric]
    best_loss = f"validation loss {best['validation_loss']:.3f} at the best update"
    return render_template(
        "run.html",
        title=f"Report of a run, {languages.source} to {languages.target}",
        evaluation=evaluation,
        verdict=evaluation.verdict,
        record=record,
        download=download,
        languages=languages,
        shown=choose_shown(sentences, seed),
        measures={
            "perplexity": f"{evaluation.perplexity:.2f}",
            "length ratio": f"{evaluation.length_ratio:.3f}",
            "unknown source words": f"{evaluation.source_unknown_rate:.2%}",
            "literals kept": f"{evaluation.literals.kept:,} of {evaluation.literals.lines:,}",
            **{write_words(kind): count for kind, count in evaluation.failures.items()},
        },
        slices=_tabulate_slices(evaluation),
        training={
            "updates": record["steps"],
            "best at": record["best_step"],
            "passes": record["epochs"],
            "target tokens": record["target_tokens"],
            "parameters": record["parameters"],
        },
        label=label,
        losses=draw_curves(losses, label=f"Losses by update: {best_loss}"),
        scores=draw_curves(scores, label=f"{label} by update: {best_score:.1f} at the best"),
    )


def render_contest_page(
    outcome: str,
    reason: str,
    lines: Sequence[str],
    sentences: Sequence[JudgedSentence],
    languages: Languages,
) -> str:
    """Return a page that compares a challenger with the champion.

    Args:
        outcome: of the gate.
        reason: of that outcome.
        lines: what was measured of both, a sentence each.
        sentences: those that changed most.
        languages: of the two sides.
    """
    return render_template(
        "contest.html",
        title=f"Champion and challenger, {languages.source} to {languages.target}",
        outcome=outcome,
        reason=reason,
        lines=lines,
        changes={
            "Losses": [sentence for sentence in sentences if sentence.gain < 0],
            "Gains": [sentence for sentence in sentences if sentence.gain > 0],
        },
        languages=languages,
    )


def write_words(key: str) -> str:
    """Return a key of a result in words."""
    return key.replace("_", " ").lower()


def write_scores(scores: Mapping[str, ScoreInterval]) -> str:
    """Return scores in words, such as ``BLEU 26.3, chrF 54.0``."""
    return ", ".join(f"{find_label(name)} {score.value:.1f}" for name, score in scores.items())


def describe_reliability(reliability: Reliability) -> str:
    """Return an area under the curve and an error of calibration, with their intervals."""
    return (
        f"an area under the ROC curve of {reliability.area:.2f} (95 % interval: "
        f"{reliability.area_low:.2f} to {reliability.area_high:.2f}) and an expected calibration "
        f"error of {reliability.error:.3f} ({reliability.error_low:.3f} to "
        f"{reliability.error_high:.3f})"
    )


def quote_code(text: str) -> str:
    """Return text as code in Markdown, whatever backticks it has."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}"


def _tabulate_slices(evaluation: Evaluation) -> dict[str, Any]:
    """Return head, rows and last row of the table of slices."""
    slices = evaluation.slices.values()
    scored = {name for part in slices for name in part.scores}
    names = [name for name in evaluation.scores if name in scored]
    rows = [
        [
            part.label,
            part.sentences,
            *(
                "{:.1f} ({:.1f} to {:.1f})".format(*part.scores[name])
                if name in part.scores
                else "none"
                for name in names
            ),
        ]
        for part in slices
    ]
    whole = [evaluation.scores[name] for name in names]
    total = [f"{score.value:.1f} ({_write_interval(score)})" for score in whole]
    return {
        "head": ["Sentences", "number", *map(find_label, names)],
        "rows": rows,
        "total": ["all", evaluation.sentences, *total],
    }


def _write_cell(value: Any) -> Any:
    """Write a number with commas; leave text as it is."""
    return f"{value:,.12g}" if isinstance(value, int | float) else value


def _write_interval(score: ScoreInterval) -> str:
    return f"{score.low:.1f} to {score.high:.1f}"


def _tabulate_reasons(removed: Removed) -> list[list[str | int]]:
    """Return a row for each reason to leave pairs out."""
    reasons = sorted({why for split in paths.SPLITS for why in removed[split]})
    return [
        [write_words(why), *(removed[split].get(why, 0) for split in paths.SPLITS)]
        for why in reasons
    ] or [["nothing", 0, 0, 0]]


def _write_count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} …"


def _make_environment() -> Environment:
    environment = Environment(
        autoescape=select_autoescape(["html"]),
        extensions=["jinja2.ext.do"],
        loader=FileSystemLoader(TEMPLATES),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "cell": _write_cell,
        "count": _write_count,
        "interval": _write_interval,
        "pipe": lambda text: text.replace("|", "\\|"),
        "quote_code": quote_code,
        "quote_text": quote_text,
        "reasons": _tabulate_reasons,
        "scores": write_scores,
        "shorten": _shorten,
        "words": write_words,
    }
    environment.globals |= {
        "describe_reliability": describe_reliability,
        "find_label": find_label,
        "mark_difference": mark_difference,
        "mark_source": mark_source,
        "splits": [*paths.SPLITS],
    }
    return environment


ENVIRONMENT = _make_environment()
