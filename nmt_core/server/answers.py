"""Answers to requests to translate, as the API gives them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nmt_core.server.schemas import (
    Detected,
    Match,
    SentenceDetails,
    TranslateAnswer,
    TranslateRequest,
)
from nmt_core.text.words import list_words
from nmt_core.translation.confidence import is_unlike_training
from nmt_core.translation.translation import Translation


class TranslatedText(NamedTuple):
    """A text or file with its translations."""

    source: Any
    texts: Sequence[Any]
    """Whole translations, the best first."""
    sentences: Sequence[tuple[str, Sequence[Translation]]] = ()
    """Sentences of the source, each with its translations, best first."""
    untranslated: int = 0
    """Texts of a document that stay as they are."""


def write_answer(
    request: TranslateRequest,
    texts: Sequence[TranslatedText],
    detected: Detected | None,
    matches: Mapping[str, list[Match]] | None,
) -> bytes:
    """Return the JSON of the answer in the shape of the request: lists for a list.

    ``matches`` are units of the memory by the sentences like them; None without a memory.
    """
    answers = [_describe_text(request, text, matches) for text in texts]
    if detected:
        answers = [answer | {"detectedLanguage": detected} for answer in answers]
    fields = answers[0]
    if isinstance(request.q, list):
        fields = {name: [answer[name] for answer in answers] for name in fields}
    return TranslateAnswer(**fields).model_dump_json(exclude_none=True).encode()


def _describe_text(
    request: TranslateRequest, text: TranslatedText, matches: Mapping[str, list[Match]] | None
) -> dict[str, Any]:
    """Return the fields of ``TranslateAnswer`` that are wanted of a text."""
    best = [best for _, (best, *_) in text.sentences]
    fields: dict[str, Any] = {"translatedText": text.texts[0]}
    if request.alternatives:
        others = [other for other in text.texts if other != text.texts[0]]
        fields["alternatives"] = [*dict.fromkeys(others)]
    if request.checks:
        fields["checks"] = [check for translation in best for check in list_checks(translation)]
    if request.confidence:
        fields["confidence"] = find_confidence(best)
    if matches is not None:
        fields["memory"] = any(translation.origin == "memory" for translation in best)
    if request.matches:
        lines = dict.fromkeys(line for line, _ in text.sentences)
        fields["matches"] = [match for line in lines for match in (matches or {}).get(line, [])]
    if request.details:
        fields["details"] = describe_sentences(text, matches or {})
    return fields


def describe_sentences(text: TranslatedText, matches: Mapping[str, list[Match]]) -> dict[str, Any]:
    """Return the sentences of a text with what is known of each, and the text after them."""
    sources, _ = find_places(text.source, [line for line, _ in text.sentences])
    best_texts = [best.text or line for line, (best, *_) in text.sentences]
    places, after = find_places(text.texts[0], best_texts)
    sentences = [
        SentenceDetails(
            source_before=source_before,
            source=source,
            before=before,
            text=translated,
            score=best.score,
            confidence=None if best.confidence is None else round(best.confidence, 4),
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
            matches=matches.get(line, []),
        )
        for (line, (best, *others)), (source_before, source), (before, translated) in zip(
            text.sentences, sources, places, strict=True
        )
    ]
    return {"sentences": sentences, "after": after}


def list_checks(translation: Translation) -> list[dict[str, str]]:
    """Return the breaches of a translation."""
    return [breach._asdict() for breach in translation.breaches]


def find_confidence(translations: Sequence[Translation]) -> float | None:
    """Return the lowest confidence of sentences; None if one is unlike the validation text."""
    if any(map(is_unlike_training, translations)):
        return None
    known = [each.confidence for each in translations if each.confidence is not None]
    return round(min(known), 4) if known else None


def find_places(text: str, pieces: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Return what stands before each piece in a text and the piece there, and what is after all.

    White space may differ, as of a wrapped line. The place of a piece that is not found is empty.
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
