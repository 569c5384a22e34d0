"""Sentences of a test set: their scores, which of them a page shows, and what differs in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain

from markupsafe import Markup, escape

from nmt_core.base.random import draw_line_numbers
from nmt_core.evaluation.metric import Reference
from nmt_core.evaluation.sentence_scores import score_chrf
from nmt_core.text.aligner.aligner import Aligner

SHOWN = 10
"""Sentences of each table of a run's report."""

MOST_CHANGED = 50
"""Losses against the champion that are shown, and gains."""

MOST_WORDS = 120
"""Words of a sentence that are shown."""


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
    links: tuple[int, ...] = ()
    """For each word of the translation, the number of its source word, or below 0 for none."""
    before: str | None = None
    """The champion's translation, where it is compared."""
    gain: float = 0.0
    """chrF less that of the champion."""


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


def compare_sentences(
    sources: Sequence[str],
    references: Sequence[str],
    champion: Sequence[str],
    challenger: Sequence[str],
    *,
    language: str,
) -> tuple[JudgedSentence, ...]:
    """Return the sentences that changed most, losses first; ``language`` is the target's code."""
    before = judge_sentences(sources, references, champion, language=language)
    after = judge_sentences(sources, references, challenger, language=language)
    sentences = [
        replace(new, before=old.hypothesis, gain=new.score - old.score)
        for old, new in zip(before, after, strict=True)
    ]
    losses, gains = (choose_changed(sentences, MOST_CHANGED, gained=way) for way in (False, True))
    return (*losses, *gains)


def choose_worst(sentences: Sequence[JudgedSentence], most: int) -> list[JudgedSentence]:
    """Return the sentences of the lowest scores, the longest of equal ones first."""
    return sorted(sentences, key=lambda s: (s.score, -len(s.reference), s.number))[:most]


def choose_best(sentences: Sequence[JudgedSentence], most: int) -> list[JudgedSentence]:
    """Return the sentences of the highest scores, the longest of equal ones first."""
    return sorted(sentences, key=lambda s: (-s.score, -len(s.reference), s.number))[:most]


def choose_random(
    sentences: Sequence[JudgedSentence], most: int, seed: int
) -> list[JudgedSentence]:
    """Return sentences drawn by a seed, in order."""
    return [sentences[number] for number in draw_line_numbers(len(sentences), most, seed)]


def choose_changed(
    sentences: Sequence[JudgedSentence], most: int, *, gained: bool
) -> list[JudgedSentence]:
    """Return the largest gains, or losses, against the champion."""
    sign = 1 if gained else -1
    changed = [sentence for sentence in sentences if sentence.gain * sign > 0]
    return sorted(changed, key=lambda s: (-s.gain * sign, s.number))[:most]


def choose_shown(sentences: Sequence[JudgedSentence], seed: int) -> dict[str, list[JudgedSentence]]:
    """Return the sentences of each table of a run's report, by its caption."""
    return {
        "At random": choose_random(sentences, SHOWN, seed),
        "Best": choose_best(sentences, SHOWN),
        "Worst": choose_worst(sentences, SHOWN),
    }


def link_shown(
    sentences: Sequence[JudgedSentence], aligner: Aligner | None, seed: int
) -> list[JudgedSentence]:
    """Return all sentences, those that a report shows with the links of their words.

    Without an aligner they stay as they are.
    """
    linked = [*sentences]
    shown = chain(*choose_shown(sentences, seed).values()) if aligner else ()
    for sentence in shown:
        assert aligner is not None
        [links] = aligner.trace([(sentence.source.split(), sentence.hypothesis.split())])
        linked[sentence.number - 1] = replace(sentence, links=tuple(links))
    return linked


def mark_source(source: str) -> Markup:
    """Return a source as HTML; each word has the class of those that are linked to it."""
    words = source.split()[:MOST_WORDS]
    return _join([_mark(word, "", number) for number, word in enumerate(words)], source)


def mark_difference(old: str, new: str, links: Sequence[int] = ()) -> tuple[Markup, Markup]:
    """Return two texts as HTML; words of the first alone are ``del``, of the second alone ``ins``.

    Args:
        old: the first, such as the reference.
        new: the second, such as the translation.
        links: for each word of the second, the number of its source word, or below 0 for none.
    """
    sides = [text.split()[:MOST_WORDS] for text in (old, new)]
    blocks = SequenceMatcher(None, sides[0], sides[1], autojunk=False).get_matching_blocks()
    same = [
        {block[side] + step for block in blocks for step in range(block.size)} for side in (0, 1)
    ]
    links = [*links, *[-1] * len(sides[1])]
    first = [_mark(word, "" if n in same[0] else "del") for n, word in enumerate(sides[0])]
    second = [
        _mark(word, "" if n in same[1] else "ins", links[n]) for n, word in enumerate(sides[1])
    ]
    return _join(first, old), _join(second, new)


def _mark(word: str, tag: str, link: int = -1) -> Markup:
    if not tag and link < 0:
        return escape(word)
    attribute = Markup(' class="w{}"').format(link) if link >= 0 else ""
    return Markup("<{0}{1}>{2}</{0}>").format(tag or "span", attribute, word)


def _join(words: Sequence[Markup], whole: str) -> Markup:
    return Markup(" ").join(words) + (" …" if len(whole.split()) > MOST_WORDS else "")
