"""Translations as a translator returns them, and those of whole texts.

Lines, list markers and spaces of a text stay. Each sentence is looked up in the memory or else
translated by itself, for models are trained on sentences and lose some of several.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from nmt_core.base.errors import ConfigError
from nmt_core.documents.plain_text import CELL_END, LINE_END, MARKER, read_plain_text
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.documents.segments import Passage
from nmt_core.literals.checking import Breach

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Translation(NamedTuple):
    """One translation of one line."""

    text: str
    """A line: it holds no line end of any kind."""

    score: float
    """Length-normalised log-probability; see ``Hypothesis``."""

    tokens: tuple[str, ...]
    """The tokens of the text; copied source words and a given prefix are as they were written."""

    token_probabilities: tuple[float, ...]
    """One per token, and last that of the end of the sentence; empty if they were not requested."""

    ids: tuple[int, ...]
    """The tokens' numbers."""

    source_tokens: tuple[str, ...] = ()
    """The tokens of the line that the model read, without its tag; literals are as they were
    written where it read symbols. Empty of what no model has read: an empty line, one of figures
    and signs, and what a memory holds."""

    attention: "NDArray[np.float32] | None" = None
    """Attention of each token, and last the end, to each source token, and last its end: (tokens
    + 1, source tokens + 1). None unless it was requested or used to copy words, and the model has
    attention."""

    links: Sequence[int] | None = None
    """For each word or sign of the text the number of the source word that it translates, or
    UNALIGNED; see ``find_words``. None unless it was requested."""

    breaches: tuple[Breach, ...] = ()
    """Numbers, placeholders and other literals of the source that did not come through."""

    restored_words: tuple[str, ...] = ()
    """Words that the model read in another case or with accents, as it read them."""

    unknown_words: tuple[str, ...] = ()
    """Words of the source that the training text never had; empty where that is not known."""

    confidence: float | None = None
    """The probability that it is good, see ``ConfidenceModel``; 1 where somebody approved it, or
    there are but figures and signs. None where nobody can tell: of an empty line, a sample, a
    translation with a given prefix, a line with unknown words where validation text had hardly any,
    or a model without it."""

    origin: Literal["model", "memory"] = "model"
    """Who translated it: the model, or somebody whose approved translation a memory holds, which
    has no tokens."""


def remember_translation(text: str) -> Translation:
    """Return an approved translation that a memory holds."""
    return Translation(text, 0.0, (), (), (), confidence=1.0, origin="memory")


EMPTY_TRANSLATION = Translation(text="", score=0.0, tokens=(), token_probabilities=(), ids=())
"""The translation of an empty line."""


Texts: TypeAlias = list[str] | tuple[str, ...]
"""Several texts, which a text is not."""


def translate_texts(translator: DocumentTranslator, texts: Sequence[str]) -> list[Translation]:
    """Return the translation of each text; the sentences of all are translated together."""
    documents = [None if is_passage(text) else read_plain_text(text) for text in texts]
    passages = [
        document.passages if document else [Passage((text,))]
        for text, document in zip(texts, documents, strict=True)
    ]
    plan, translated = translator.translate_passages([each for own in passages for each in own])
    placed = iter(plan.place(translated))
    sentences = iter(cast("Sequence[Translation]", translated))
    counts = iter(map(len, plan.spans))
    translations = []
    for document, own in zip(documents, passages, strict=True):
        items = [*islice(placed, len(own))]
        text = document.write(items) if document else "".join(map(str, items[0]))
        count = sum(islice(counts, len(own)))
        translations.append(join_translations(text, [*islice(sentences, count)]))
    return translations


def is_passage(text: str) -> bool:
    """Tell whether a text is one passage: a line without a marker, cells, or space at its ends."""
    marker = MARKER.match(text)
    is_bare = text and text == text.rstrip() and not (marker and marker.end())
    return bool(is_bare) and not LINE_END.search(text) and not CELL_END.search(text)


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
