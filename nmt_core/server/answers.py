"""JSON responses of the translation routes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nmt_core.server.schemas import (
    Detected,
    Match,
    SentenceDetails,
    TranslateAnswer,
    TranslateRequest,
)
from nmt_core.text.translation import Translation
from nmt_core.text.words import list_words
from nmt_core.translation.confidence import is_unlike_training


class TranslatedText(NamedTuple):
    """A text or file with its translations."""

    source: Any
    texts: Sequence[Any]
    """Translations of the whole text, best first."""
    sentences: Sequence[tuple[str, Sequence[Translation]]] = ()
    """Each source sentence with its translations, best first."""
    untranslated: int = 0
    """Number of texts in a document that are not translated."""


def write_answer(
    request: TranslateRequest,
    texts: Sequence[TranslatedText],
    detected: Detected | None,
    matches: Mapping[str, list[Match]] | None,
) -> bytes:
    """Return the JSON response; a list of texts in the request gives lists.

    ``matches`` has the memory's similar units for each sentence; None without a memory.
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
    """Return the requested fields of ``TranslateAnswer`` for one text."""
    best = [best for _, (best, *_) in text.sentences]
    fields: dict[str, Any] = {"translatedText": text.texts[0]}
    if request.alternatives:
        alternatives = [other for other in text.texts if other != text.texts[0]]
        fields["alternatives"] = [*dict.fromkeys(alternatives)]
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
    """Return the details of each sentence, and the text after the last sentence."""
    sources, _ = locate_pieces(text.source, [line for line, _ in text.sentences])
    best_texts = [best.text or line for line, (best, *_) in text.sentences]
    places, after = locate_pieces(text.texts[0], best_texts)
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
            alternatives=[{"text": each.text, "score": each.score} for each in alternatives],
            checks=list_checks(best),
            restored_words=list(best.restored_words),
            unknown_words=list(best.unknown_words),
            origin=best.origin,
            matches=matches.get(line, []),
        )
        for (line, (best, *alternatives)), (source_before, source), (before, translated) in zip(
            text.sentences, sources, places, strict=True
        )
    ]
    return {"sentences": sentences, "after": after}


def list_checks(translation: Translation) -> list[dict[str, str]]:
    """Return the breaches of a translation as JSON."""
    return [breach._asdict() for breach in translation.breaches]


def find_confidence(translations: Sequence[Translation]) -> float | None:
    """Return the lowest confidence; None if a sentence is too different from the training text."""
    if any(map(is_unlike_training, translations)):
        return None
    confidences = [each.confidence for each in translations if each.confidence is not None]
    return round(min(confidences), 4) if confidences else None


def locate_pieces(text: str, pieces: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Return the text before each piece with the piece itself, and the text after all pieces.

    White space may differ, for example at a line break. A piece that is not found gives two empty
    strings.
    """
    offsets = [offset for offset, character in enumerate(text) if not character.isspace()]
    visible = "".join(text.split())
    places, end, visible_end = [], 0, 0
    for piece in pieces:
        visible_piece = "".join(piece.split())
        first = visible.find(visible_piece, visible_end) if visible_piece else -1
        if first < 0:
            places.append(("", ""))
            continue
        visible_end = first + len(visible_piece)
        start, before = offsets[first], end
        end = offsets[visible_end - 1] + 1
        places.append((text[before:start], text[start:end]))
    return places, text[end:]
