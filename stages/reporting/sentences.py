"""Sentences of a test set: their scores, which of them a page shows, and what differs in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from nmt_core.base.random import draw_line_numbers
from nmt_core.evaluation.metric import Reference
from nmt_core.evaluation.quality import score_chrf

SHOWN = 10
"""Number of sentences in each table of a run's report."""

MOST_WORDS = 120
"""Maximum number of words of a sentence that are shown."""


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence of the test set with its translation."""

    number: int
    """Its line, from 1."""
    source: str
    reference: str
    hypothesis: str
    score: float
    """chrF of this sentence alone (0-100)."""


def judge_sentences(
    sources: Sequence[str],
    references: Sequence[Reference],
    hypotheses: Sequence[str],
    *,
    language: str,
) -> list[JudgedSentence]:
    """Score each sentence by itself; ``language`` is the target's code."""
    scores = score_chrf(hypotheses, references, language=language).tolist()
    first = (line if isinstance(line, str) else line[0] for line in references)
    rows = zip(sources, first, hypotheses, scores, strict=True)
    return [JudgedSentence(number, *row) for number, row in enumerate(rows, start=1)]


def choose_shown(sentences: Sequence[JudgedSentence], seed: int) -> dict[str, list[JudgedSentence]]:
    """Return the sentences of each table of a run's report, by its caption.

    Of equal scores, the longest sentences come first.
    """
    by_length = sorted(sentences, key=lambda s: (-len(s.reference), s.number))
    drawn = draw_line_numbers(len(sentences), SHOWN, seed)
    return {
        "At random": [sentences[number] for number in drawn],
        "Best": sorted(by_length, key=lambda s: -s.score)[:SHOWN],
        "Worst": sorted(by_length, key=lambda s: s.score)[:SHOWN],
    }


def mark_difference(old: str, new: str) -> tuple[Markup, Markup]:
    """Return two texts as HTML; words of the first alone are ``del``, of the second alone ``ins``.

    Args:
        old: the first, such as the reference.
        new: the second, such as the translation.
    """
    before, after = (text.split()[:MOST_WORDS] for text in (old, new))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    removed, added = Markup("<del>{}</del>"), Markup("<ins>{}</ins>")
    first: list[Markup] = []
    second: list[Markup] = []
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        same = kind == "equal"
        first += [escape(w) if same else removed.format(w) for w in before[start:end]]
        second += [escape(w) if same else added.format(w) for w in after[new_start:new_end]]
    return _join(first, old), _join(second, new)


def _join(words: Sequence[Markup], whole: str) -> Markup:
    return Markup(" ").join(words) + (" …" if len(whole.split()) > MOST_WORDS else "")
