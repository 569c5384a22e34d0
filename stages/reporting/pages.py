"""Pages of reports, rendered by Jinja2 from ``templates/``; each is one self-contained file.

Text is escaped, and a content security policy forbids scripts and requests.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from nmt_core.base.languages import Languages
from nmt_core.base.random import draw_line_numbers
from nmt_core.evaluation.quality import score_chrf
from nmt_core.evaluation.registry import find_label
from nmt_core.translation.confidence import Reliability
from stages import paths
from stages.reporting.download_report import DownloadReport, Removed
from stages.reporting.evaluation import Evaluation

TEMPLATES = Path(__file__).parent / "templates"

MAX_CHARACTERS = 400
"""Maximum number of characters of an example on a page."""

_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that are not allowed on a page."""


def render_template(name: str, **values: Any) -> str:
    """Return the text of a template in ``templates/``, rendered with values."""
    text = ENVIRONMENT.get_template(name).render(**values)
    return _CONTROLS.sub("\ufffd", text)


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence of the test set with its translation."""

    number: int
    """Line number, from 1."""
    source: str
    reference: str
    hypothesis: str
    score: float
    """chrF of this sentence alone (0-100)."""


def render_run_page(
    evaluation: Evaluation,
    record: Mapping[str, Any],
    download: DownloadReport | None,
    sentences: Sequence[JudgedSentence],
    *,
    languages: Languages,
    seed: int,
    learning_curve: bytes,
) -> str:
    """Return the report of a run as HTML: its verdict, then the evidence.

    ``record`` is ``training.json``, ``seed`` draws the random sentences, and ``learning_curve`` is
    a PNG file.
    """
    return render_template(
        "run.html",
        title=f"Report of a run, {', '.join(evaluation.directions) or name_pair(languages)}",
        evaluation=evaluation,
        verdict=evaluation.verdict,
        record=record,
        best=next(each for each in record["history"] if each["step"] == record["best_step"]),
        download=download,
        languages=languages,
        shown=choose_shown(sentences, seed),
        metrics=[
            name
            for name in evaluation.scores
            if any(name in part.scores for part in evaluation.slices.values())
        ],
        learning_curve=b64encode(learning_curve).decode(),
    )


def name_pair(languages: Languages) -> str:
    """Return two languages in words."""
    return f"{languages.source} to {languages.target}"


def write_words(key: str) -> str:
    """Return the key of a result as words."""
    return key.replace("_", " ").lower()


def describe_reliability(reliability: Reliability) -> str:
    """Return the area under the ROC curve and the calibration error, in words."""
    return (
        f"an area under the ROC curve of {reliability.area:.2f} and an expected calibration error "
        f"of {reliability.error:.3f}"
    )


def render_pipe_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown, all columns but the first aligned as numbers."""
    rule = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *body)]


def quote_code(text: str) -> str:
    """Return text as inline code in Markdown; the text may contain backticks."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}"


def _tabulate_reasons(removed: Removed) -> list[list[str | int]]:
    """Return a table row for each reason of left-out pairs."""
    reasons = sorted({why for split in paths.SPLITS for why in removed[split]})
    return [
        [write_words(why), *(removed[split].get(why, 0) for split in paths.SPLITS)]
        for why in reasons
    ] or [["nothing", 0, 0, 0]]


def _write_count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _shorten(text: str, limit: int = MAX_CHARACTERS) -> str:
    return text if len(text) <= limit else f"{text[:limit]} …"


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
        "cell": lambda cell: f"{cell:,.12g}" if isinstance(cell, int | float) else cell,
        "count": _write_count,
        "epochs": lambda n: _write_count(n, "epoch", "epochs") if n else "less than an epoch",
        "interval": lambda score: f"{score.low:.1f} to {score.high:.1f}",
        "label": find_label,
        "pipe": lambda text: text.replace("|", "\\|"),
        "quote_code": quote_code,
        "reasons": _tabulate_reasons,
        "shorten": _shorten,
        "words": write_words,
    }
    environment.globals |= {
        "describe_reliability": describe_reliability,
        "find_label": find_label,
        "splits": [*paths.SPLITS],
    }
    return environment


SHOWN_SENTENCES = 10
"""Maximum number of sentences in each table of a run's report."""


def judge_sentences(
    sources: Sequence[str], references: Sequence[str], hypotheses: Sequence[str], *, language: str
) -> list[JudgedSentence]:
    """Return each sentence with its own chrF; ``language`` is the target's code."""
    scores = score_chrf(hypotheses, references, language=language).tolist()
    rows = zip(sources, references, hypotheses, scores, strict=True)
    return [JudgedSentence(number, *row) for number, row in enumerate(rows, start=1)]


def choose_shown(sentences: Sequence[JudgedSentence], seed: int) -> dict[str, list[JudgedSentence]]:
    """Return the sentences of each table of a run's report, by its caption.

    Among equal scores, longer sentences come first.
    """
    by_length = sorted(sentences, key=lambda s: (-len(s.reference), s.number))
    drawn = draw_line_numbers(len(sentences), SHOWN_SENTENCES, seed)
    return {
        "At random": [sentences[number] for number in drawn],
        "Best": sorted(by_length, key=lambda s: -s.score)[:SHOWN_SENTENCES],
        "Worst": sorted(by_length, key=lambda s: s.score)[:SHOWN_SENTENCES],
    }


ENVIRONMENT = _make_environment()
