"""Translations of lines and of whole texts.

The translation of a text keeps line ends, list markers and spaces. Each sentence is translated
separately, because models are trained on sentences and may skip one of several.
"""

from collections.abc import Sequence
from itertools import islice

from nmt_core.base.errors import ConfigError
from nmt_core.documents.plain_text import CELL_END, LINE_END, MARKER, read_plain_text
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.documents.segments import Passage
from nmt_core.literals.checking import Breach
from nmt_core.text.translation import EMPTY_TRANSLATION, Translation


def remember_translation(text: str) -> Translation:
    """Return a translation of a memory."""
    return Translation(text, 0.0, (), (), (), confidence=1.0, origin="memory")


IN_TARGET = Breach("sentence", "", "", "already in the target language")
"""The report on a text that was returned as it is."""


def keep_text(text: str) -> Translation:
    """Return a text that is already in the target language as its translation."""
    return EMPTY_TRANSLATION._replace(text=text, breaches=(IN_TARGET,))


def translate_texts(translator: DocumentTranslator, texts: Sequence[str]) -> list[Translation]:
    """Return the translation of each text; sentences of all texts are translated together."""
    documents = [None if is_passage(text) else read_plain_text(text) for text in texts]
    passages = [
        document.passages if document else [Passage((text,))]
        for text, document in zip(texts, documents, strict=True)
    ]
    plan, translated = translator.translate_passages([each for own in passages for each in own])
    placed = iter(plan.place(translated))
    sentences = iter(translated)
    counts = iter(map(len, plan.spans))
    translations = []
    for document, own in zip(documents, passages, strict=True):
        items = [*islice(placed, len(own))]
        text = document.write(items) if document else "".join(map(str, items[0]))
        count = sum(islice(counts, len(own)))
        translations.append(join_translations(text, [*islice(sentences, count)]))
    return translations


def is_passage(text: str) -> bool:
    """Return whether a text is one line without list marker, cells, or outer white space."""
    marker = MARKER.match(text)
    is_bare = text and text == text.rstrip() and not (marker and marker.end())
    return bool(is_bare) and not LINE_END.search(text) and not CELL_END.search(text)


def join_translations(text: str, parts: Sequence[Translation]) -> Translation:
    """Return the translation of a text from the translations of its sentences.

    The confidence is the lowest of the sentences, or None if a sentence has none. The translation
    of several sentences has no tokens.
    """
    if len(parts) == 1:
        return parts[0]._replace(text=text)
    confidences = [part.confidence for part in parts if part.confidence is not None]
    return EMPTY_TRANSLATION._replace(
        text=text,
        breaches=tuple(breach for part in parts for breach in part.breaches),
        restored_words=tuple(dict.fromkeys(word for p in parts for word in p.restored_words)),
        unknown_words=tuple(dict.fromkeys(word for p in parts for word in p.unknown_words)),
        confidence=min(confidences) if confidences and len(confidences) == len(parts) else None,
        origin="memory" if parts and all(p.origin == "memory" for p in parts) else "model",
    )


def join_steps(first: Translation, second: Translation) -> Translation:
    """Return the translation of a translation, with what both steps reported."""
    confidences = [each.confidence for each in (first, second) if each.confidence is not None]
    return second._replace(
        source_tokens=first.source_tokens,
        attention=None,
        links=None,
        breaches=(*first.breaches, *second.breaches),
        restored_words=first.restored_words,
        unknown_words=first.unknown_words,
        confidence=min(confidences) if len(confidences) == len((first, second)) else None,
    )


def list_texts(texts: str | Sequence[str]) -> list[str]:
    """Return a text or several texts as a list.

    Raises:
        ConfigError: if the argument is not a text, or a list or tuple of texts.
    """
    listed = [texts] if isinstance(texts, str) else texts
    if isinstance(listed, list | tuple) and all(isinstance(text, str) for text in listed):
        return [*listed]
    raise ConfigError(f"translate requires a text or a list of texts, got {texts!r:.60}")
