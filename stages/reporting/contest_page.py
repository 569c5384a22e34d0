"""What changes if a challenger takes the champion's place: the largest losses and gains."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from nmt_core.base.languages import Languages
from nmt_core.evaluation.sentence_scores import score_chrf
from stages.reporting.hypertext import make, write_page
from stages.reporting.judged import JudgedSentence, choose_changed
from stages.reporting.page_style import STYLE
from stages.reporting.sentence_tables import SENTENCE_STYLE, tabulate_changes

MOST_CHANGED = 50
"""Losses that are shown, and gains."""


def compare_sentences(
    sources: Sequence[str],
    references: Sequence[str],
    champion: Sequence[str],
    challenger: Sequence[str],
    *,
    language: str,
) -> tuple[JudgedSentence, ...]:
    """Return the sentences that changed most, losses first; ``language`` is the target's code."""
    old, new = (
        score_chrf(lines, references, language=language).tolist()
        for lines in (champion, challenger)
    )
    rows = zip(sources, references, challenger, new, champion, old, strict=True)
    sentences = [
        JudgedSentence(
            number, source, reference, written, score, before=before, gain=score - score_before
        )
        for number, (source, reference, written, score, before, score_before) in enumerate(
            rows, start=1
        )
    ]
    losses, gains = (choose_changed(sentences, MOST_CHANGED, gained=way) for way in (False, True))
    return (*losses, *gains)


def render_contest_page(
    outcome: Mapping[str, Any], sentences: Sequence[JudgedSentence], languages: Languages
) -> str:
    """Return a page about a contest that needs nothing but itself.

    Args:
        outcome: ``outcome``, ``reason``, and ``lines``, what was demanded and came of it.
        sentences: those that changed most.
        languages: of the two sides.
    """
    title = f"Champion and challenger, {languages.source} to {languages.target}"
    lost = [one for one in sentences if one.gain < 0]
    won = [one for one in sentences if one.gain > 0]
    header = make(
        "header",
        make("h1", f"{outcome['outcome']}: {outcome['reason']}", class_="verdict"),
        make("p", title),
    )
    told = make("ul", *(make("li", line) for line in outcome["lines"]))
    sections = [
        make("section", make("h2", "What was measured"), told),
        _show("Losses", lost, languages),
        _show("Gains", won, languages),
    ]
    return write_page(title, STYLE + SENTENCE_STYLE, [header, make("main", *sections)])


def _show(name: str, sentences: Sequence[JudgedSentence], languages: Languages) -> Element:
    section = make("section", make("h2", name))
    if not sentences:
        section.append(make("p", "There are none."))
        return section
    caption = f"The {len(sentences)} largest, by chrF of the sentence"
    section.append(tabulate_changes(caption, sentences, languages))
    section.append(make("p", "Computed again by: ", make("code", "make retrain"), class_="soft"))
    return section
