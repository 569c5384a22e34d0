"""Answers to requests to translate, as the API gives them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nmt_core.server.schemas import (
    Check,
    Detected,
    Match,
    SentenceDetails,
    TextDetails,
    TranslateAnswer,
    TranslateRequest,
)
from nmt_core.text.words import list_words
from nmt_core.translation.confidence import is_unlike_training
from nmt_core.translation.translation import Translation


class TranslatedText(NamedTuple):
    """A text with its translations."""

    source: str
    texts: Sequence[str]
    """Whole translations, the best first."""
    lines: Sequence[str] = ()
    """Sentences of the source."""
    translations: Sequence[Sequence[Translation]] = ()
    """Of each sentence, best first."""
    matches: Mapping[str, list[Match]] = {}
    """Approved translations of similar sentences, by sentence."""


def write_answer(
    request: TranslateRequest,
    texts: Sequence[TranslatedText],
    detected: Detected | None,
    *,
    has_memory: bool,
) -> bytes:
    """Return the JSON of the answer in the shape of the request: lists for a list.

    Args:
        request: the request.
        texts: its texts, translated.
        detected: the language of the texts, if it was detected.
        has_memory: whether there is a memory.
    """
    answers = [_describe_text(request, text, has_memory=has_memory) for text in texts]
    if detected:
        answers = [answer | {"detectedLanguage": detected} for answer in answers]
    fields = answers[0]
    if isinstance(request.q, list):
        fields = {name: [answer[name] for answer in answers] for name in fields}
    return TranslateAnswer(**fields).model_dump_json(exclude_none=True).encode()


def _describe_text(
    request: TranslateRequest, text: TranslatedText, *, has_memory: bool
) -> dict[str, Any]:
    """Return the fields of ``TranslateAnswer`` that are wanted of a text."""
    best = [best_first[0] for best_first in text.translations]
    fields: dict[str, Any] = {"translatedText": text.texts[0]}
    if request.alternatives:
        others = [other for other in text.texts if other != text.texts[0]]
        fields["alternatives"] = [*dict.fromkeys(others)]
    if request.checks:
        fields["checks"] = [check for translation in best for check in list_checks(translation)]
    if request.confidence:
        fields["confidence"] = find_confidence(best)
    if has_memory:
        fields["memory"] = any(translation.origin == "memory" for translation in best)
    if request.matches:
        lines = dict.fromkeys(text.lines)
        fields["matches"] = [match for line in lines for match in text.matches.get(line, [])]
    if request.details:
        fields["details"] = describe_sentences(text)
    return fields


def describe_sentences(text: TranslatedText) -> TextDetails:
    """Return the sentences of a text with what is known of each."""
    pairs = [*zip(text.lines, text.translations, strict=True)]
    sources, _ = find_places(text.source, text.lines)
    places, after = find_places(text.texts[0], [best.text or line for line, (best, *_) in pairs])
    sentences = [
        SentenceDetails(
            source_before=source_before,
            source=source,
            before=before,
            text=translated,
            score=best.score,
            confidence=_round(best.confidence),
            tokens=list(best.tokens),
            probabilities=[round(share, 4) for share in best.token_probabilities],
            source_words=list_words(source),
            words=list_words(translated),
            links=best.links,
            alternatives=[{"text": other.text, "score": other.score} for other in others],
            checks=list_checks(best),
            restored_words=list(best.restored_words),
            unknown_words=list(best.unknown_words),
            origin=best.origin,
            matches=text.matches.get(line, []),
        )
        for (line, (best, *others)), (source_before, source), (before, translated) in zip(
            pairs, sources, places, strict=True
        )
    ]
    return TextDetails(sentences=sentences, after=after)


def list_checks(translation: Translation) -> list[Check]:
    """Return the breaches of a translation."""
    return [Check(**breach._asdict()) for breach in translation.breaches]


def find_confidence(translations: Sequence[Translation]) -> float | None:
    """Return the lowest confidence of sentences.

    None without any, or if one of them is unlike the text that confidence was fitted on.
    """
    if any(map(is_unlike_training, translations)):
        return None
    known = [each.confidence for each in translations if each.confidence is not None]
    return _round(min(known, default=None))


def _round(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)


def find_places(text: str, pieces: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Return what stands before each piece in a text and the piece there, and what is after all.

    White space may differ from that of the pieces: a line may have been wrapped. The place of a
    piece that is not found is empty.
    """
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    visible = "".join(text.split())
    places, at, seen = [], 0, 0
    for piece in pieces:
        wanted = "".join(piece.split())
        first = visible.find(wanted, seen) if wanted else -1
        if first < 0:
            places.append(("", ""))
            continue
        seen = first + len(wanted)
        start, end = offsets[first], offsets[seen - 1] + 1
        places.append((text[at:start], text[start:end]))
        at = end
    return places, text[at:]
