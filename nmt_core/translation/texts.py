"""Text to text: Python, commands, server and documents give the same bytes by this way.

Lines, list markers and spaces of a text stay. Each sentence is looked up in the memory or else
translated by itself, for models are trained on sentences and lose some of several.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeAlias, cast

from nmt_core.base.errors import ConfigError
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation

Texts: TypeAlias = list[str] | tuple[str, ...]
"""Several texts, which a text is not."""


def translate_texts(translator: DocumentTranslator, texts: Iterable[str]) -> list[Translation]:
    """Return the translation of each text; the sentences of all are translated together."""
    documents = [read_plain_text(text) for text in texts]
    passages = [document.passages for document in documents]
    plan, translated = translator.translate_passages([each for own in passages for each in own])
    placed = iter(plan.place(translated))
    sentences = iter(cast("Sequence[Translation]", translated))
    counts = iter(map(len, plan.spans))
    translations = []
    for document, own in zip(documents, passages, strict=True):
        text = document.write([*islice(placed, len(own))])
        count = sum(islice(counts, len(own)))
        translations.append(join_translations(text, [*islice(sentences, count)]))
    return translations


def join_translations(text: str, parts: Sequence[Translation]) -> Translation:
    """Return the translation of a text from those of its sentences.

    Its confidence is the lowest, or None if one has none. That of several sentences has no tokens.
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


def list_texts(texts: Texts | str) -> list[str]:
    """Return one text, or several, as a list.

    Raises:
        ConfigError: if something else is given.
    """
    listed = [texts] if isinstance(texts, str) else texts
    if isinstance(listed, list | tuple) and all(isinstance(text, str) for text in listed):
        return [*listed]
    raise ConfigError(f"translate takes a text or a list of texts, not {texts!r:.60}")
