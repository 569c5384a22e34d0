"""Translators of documents with answers of a test."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nmt_core.documents.plan import DocumentTranslator, Segmenter
from nmt_core.documents.segments import Role
from nmt_core.literals.checking import Breach


class Answer(NamedTuple):
    """A translation, and the source word of each of its words."""

    text: str
    links: Sequence[int] | None = None
    confidence: float | None = 1.0
    breaches: Sequence[Breach] = ()
    restored_words: Sequence[str] = ()
    unknown_words: Sequence[str] = ()
    origin: str = "model"


DOUBTFUL = [
    Answer("x", confidence=0.39),
    Answer("x", confidence=None),
    Answer("x", breaches=(Breach("number", "1", "1", "missing"),)),
    Answer("x", restored_words=("Haus",)),
]
"""Translations that need review."""


class Echo:
    """Translates every line by a function, and records its input."""

    def __init__(self, answer: Callable[[str], str | Answer], **segmenter):
        self.answer, self.calls = answer, []
        segments = Segmenter(**({"language": "en"} | segmenter))
        self.translator = DocumentTranslator(self, segments, review_below=0.4)

    def __call__(self, lines, /, *, links):
        self.calls.append((list(lines), links))
        return [Answer(each) if isinstance(each, str) else each for each in map(self.answer, lines)]

    def translate(self, document):
        plan, translations = self.translator.translate_passages(document.passages)
        return plan.write(document, translations, self.translator.review_below)


SIGNS = {Role.OPEN: "<", Role.CLOSE: ">", Role.EMPTY: "*"}


def show_marks(items):
    """Return a passage's text with a sign for each mark."""
    return "".join(item if isinstance(item, str) else SIGNS[item.kind] for item in items)


def show_passages(document):
    """Return the texts of one call, with a sign for each mark."""
    return [show_marks(passage.items) for passage in document.passages]


def keep(document):
    """Translate by a translator that changes nothing."""
    return Echo(lambda line: line).translate(document)


def shout(document):
    """Translate into capitals: every word keeps its position and changes."""
    return Echo(str.upper).translate(document)


def answer(document, text):
    """Translate every sentence to the same text."""
    return Echo(lambda _: text).translate(document)


def garble(document, seed):
    """Translate by a translator that shuffles, drops and doubles words, and leaves gaps."""

    def answer_line(line):
        generator = random.Random(f"{seed} {line}")
        words = [word for word in line.split() for _ in range(generator.choice((0, 1, 1, 2)))]
        generator.shuffle(words)
        return " ".join(word[generator.choice((0, 0, 0, 1)) :] for word in words)

    return Echo(answer_line).translate(document)
