"""Answers to requests to translate, as the API gives them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from nmt_core.server.detect import LanguageGuess
from nmt_core.server.schemas import (
    Alternative,
    Check,
    Detected,
    Match,
    SentenceDetails,
    TextDetails,
    TranslateAnswer,
    TranslateRequest,
)
from nmt_core.server.texts import Place
from nmt_core.text.alignment import list_words
from nmt_core.translation.confidence import is_unlike_training
from nmt_core.translation.translation import Translation

AUTO = "auto"


class TranslatedText(NamedTuple):
    """A text with its translations."""

    text: str
    detected: LanguageGuess | None
    alternatives: list[str]
    details: Sequence[bytes]
    """JSON of ``TextDetails`` in pieces; it may be a hundred times as long as the text."""
    checks: list[Check]
    confidence: float | None = None
    """The lowest of its sentences; None where the model cannot tell."""
    memory: bool = False
    """Whether the memory translated a sentence of it."""
    matches: Sequence[Match] = ()
    """Approved translations of sentences like its own."""


class TranslatedFile(NamedTuple):
    """A file with its translation."""

    key: str
    """By which it is fetched."""
    memory: int | None
    """Sentences that the memory translated; None without a memory."""
    left: int
    """Messages that stay as they are, for the choices in them are not read."""
    review: str = ""
    """The segments that need review; empty without any."""


def gather_answer(
    asked: TranslateRequest, done: Sequence[TranslatedText], *, remembers: bool = False
) -> bytes:
    """Return the JSON of the answer in the shape of the question: lists for a list.

    Args:
        asked: the question.
        done: its texts, translated.
        remembers: whether there is a memory.
    """
    several = isinstance(asked.q, list)

    def shape(values: list[Any]) -> Any:
        return values if several else values[0]

    answer: dict[str, Any] = {"translatedText": shape([text.text for text in done])}
    if asked.source == AUTO:
        guesses = [text.detected or LanguageGuess(asked.target, 0.0) for text in done]
        answer["detectedLanguage"] = shape([Detected(**guess._asdict()) for guess in guesses])
    wanted = {
        "alternatives": asked.alternatives,
        "checks": asked.checks,
        "confidence": asked.confidence,
        "memory": remembers,
        "matches": asked.matches,
    }
    for name in filter(wanted.get, wanted):
        answer[name] = shape([getattr(text, name) for text in done])
    head = TranslateAnswer(**answer).model_dump_json(exclude_none=True).encode()
    if not asked.details:
        return head
    pieces = [head[:-1], b',"details":', b"[" if several else b""]
    for number, text in enumerate(done):
        pieces += [b"," if number else b"", *text.details]
    return b"".join([*pieces, b"]}" if several else b"}"])


def list_details(sentences: Sequence[bytes], *, after: str) -> list[bytes]:
    """Return the JSON of ``TextDetails`` in pieces.

    Args:
        sentences: JSON of each.
        after: what stands after the last.
    """
    begin, end = TextDetails(sentences=[], after=after).model_dump_json().encode().split(b"]", 1)
    commas = [piece for sentence in sentences for piece in (b",", sentence)][1:]
    return [begin, *commas, b"]" + end]


def describe_sentence(
    places: list[Place],
    translations: Sequence[Translation],
    matches: list[Match],
) -> SentenceDetails:
    """Return the details of a translated sentence.

    Args:
        places: of the sentence in the text, and of its translation in the translated text.
        translations: best first.
        matches: approved translations of sentences like it.
    """
    source, target = places
    best, *others = translations
    return SentenceDetails(
        source_before=source.before,
        source=source.text,
        before=target.before,
        text=target.text,
        score=best.score,
        confidence=round_confidence(best.confidence),
        tokens=list(best.tokens),
        probabilities=[round(share, 4) for share in best.token_probabilities],
        source_words=list_words(source.text),
        words=list_words(target.text),
        links=best.links,
        alternatives=[Alternative(text=other.text, score=other.score) for other in others],
        checks=list_checks(best),
        restored_words=list(best.restored_words),
        unknown_words=list(best.unknown_words),
        origin=best.origin,
        matches=matches,
    )


def list_checks(translation: Translation) -> list[Check]:
    """Return what did not come through a translation."""
    return [Check(**breach._asdict()) for breach in translation.breaches]


def find_confidence(translations: Sequence[Sequence[Translation]]) -> float | None:
    """Return the lowest confidence of sentences, of each its best translation.

    None without any, or where one of them is unlike what confidence was fitted on.
    """
    best = [first for first, *_ in translations]
    if any(map(is_unlike_training, best)):
        return None
    told = (one.confidence for one in best if one.confidence is not None)
    return round_confidence(min(told, default=None))


def round_confidence(confidence: float | None) -> float | None:
    """Return a confidence as it is told."""
    return None if confidence is None else round(confidence, 4)
