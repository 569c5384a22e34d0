"""Text to text: Python, commands, server and documents give the same bytes by this way.

Lines, list markers and spaces of a text stay. Each sentence is looked up in the memory or else
translated by itself, for models are trained on sentences and lose some of several.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.base.languages import Languages
from nmt_core.documents.formats import TranslatedDocument, name_translation, translate_file
from nmt_core.documents.plain_text import read_plain_text
from nmt_core.documents.plan import DocumentTranslator, Segmenter
from nmt_core.documents.review import REVIEW_BELOW
from nmt_core.text.side import Side
from nmt_core.translation.text_search import TranslatorConfig
from nmt_core.translation.translation import EMPTY_TRANSLATION, Translation, remember_translation

if TYPE_CHECKING:
    from nmt_core.translation.memory.search import MemoryMatch
    from nmt_core.translation.memory.store import MemoryScope

Texts: TypeAlias = list[str] | tuple[str, ...]
"""Several texts, which a text is not."""


class ApprovedTexts(Protocol):
    """A memory of approved translations, such as ``nmt_core.Memory``."""

    path: Path

    def find_exact(self, text: str, scope: "MemoryScope") -> "MemoryMatch | None":
        """Return the approved translation of a text, if there is one."""


class SentenceTranslator(Protocol):
    """A translator of sentences, perhaps with a memory, such as ``nmt_core.Translator``."""

    @property
    def source(self) -> Side:
        """The side of the source language."""

    @property
    def languages(self) -> Languages | None:
        """Languages of its two sides; None if they are not known."""

    @property
    def config(self) -> TranslatorConfig:
        """Its settings."""

    @property
    def memory(self) -> ApprovedTexts | None:
        """Approved translations."""

    def search(
        self,
        lines: Sequence[str],
        *,
        beam_size: int | None,
        n_best: int,
        probabilities: bool,
        links: bool,
    ) -> list[list[Translation]]:
        """Return translations of each line, best first."""


def translate_texts(
    translator: SentenceTranslator, texts: Iterable[str], *, beam_size: int | None = None
) -> list[Translation]:
    """Return the translation of each text; the sentences of all are translated together.

    ``beam_size`` is the number of live hypotheses per sentence; None as configured.
    """
    documents = [read_plain_text(text) for text in texts]
    passages = [document.passages for document in documents]
    plan, translated = open_documents(translator, beam_size=beam_size).translate_passages(
        [passage for own in passages for passage in own]
    )
    placed = iter(plan.place(translated))
    sentences = iter(cast("Sequence[Translation]", translated))
    counts = iter(map(len, plan.spans))
    translations = []
    for document, own in zip(documents, passages, strict=True):
        text = document.write([*islice(placed, len(own))])
        count = sum(islice(counts, len(own)))
        translations.append(join_translations(text, [*islice(sentences, count)]))
    return translations


def open_documents(
    translator: SentenceTranslator,
    *,
    beam_size: int | None = None,
    review_below: float = REVIEW_BELOW,
) -> DocumentTranslator:
    """Return a translator of documents; units of a confidence below a bound need review."""
    source, target = translator.languages.codes if translator.languages else ("", "")
    side = translator.source
    room = translator.config.max_source_tokens - (side.tag is not None)
    return DocumentTranslator(
        partial(search_sentences, translator, beam_size),
        Segmenter(source, side.tokens, min(room, Segmenter.most_tokens)),
        target,
        review_below,
        partial(recall, translator) if translator.memory else None,
    )


def translate_document(
    path: Path | str,
    translator: SentenceTranslator,
    output: Path | str | None = None,
    *,
    kind: str | None = None,
    review_below: float = REVIEW_BELOW,
) -> TranslatedDocument:
    """Translate a file into another one, which appears whole or not at all.

    Args:
        path: the file.
        translator: translates its sentences.
        output: the other file; None for ``letter.en.docx`` beside ``letter.docx``.
        kind: name of their format; None to derive it from their names.
        review_below: units of a lower confidence are marked for review.

    Raises:
        DocumentError: if the file cannot be read, or the other exists or has no name.
    """
    out = Path(output) if output else name_output(Path(path), translator)
    return translate_file(
        Path(path), out, open_documents(translator, review_below=review_below), kind
    )


def name_output(path: Path, translator: SentenceTranslator) -> Path:
    """Return the name of a file's translation, ``letter.en.docx`` for ``letter.docx``.

    Raises:
        DocumentError: if the model does not say its languages.
    """
    if translator.languages is None:
        raise DocumentError(
            f"{path} has a translation without a name, for the model does not say its languages; "
            f"give one by --output"
        )
    return name_translation(path, translator.languages.target)


def search_sentences(
    translator: SentenceTranslator, beam_size: int | None, lines: Sequence[str], *, links: bool
) -> list[Translation]:
    """Return the best translation of each sentence."""
    translations = translator.search(
        lines, beam_size=beam_size, n_best=1, probabilities=False, links=links
    )
    return [best for best, *_ in translations]


def recall(translator: SentenceTranslator, text: str) -> Translation | None:
    """Return the approved translation that a translator's memory has of a text, if it has one.

    Raises:
        ConfigError: if the model does not say its languages, by which a memory has its units.
    """
    if translator.memory is None:
        return None
    if translator.languages is None:
        raise ConfigError(
            f"{translator.memory.path} has units by languages, and the model does not say its own; "
            f"export it again"
        )
    from nmt_core.translation.memory.store import MemoryScope  # optional

    match = translator.memory.find_exact(text, MemoryScope(translator.languages))
    return remember_translation(match.target) if match else None


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


def list_texts(texts: object) -> list[str]:
    """Return one text, or several, as a list.

    Raises:
        ConfigError: if something else is given.
    """
    if isinstance(texts, str):
        return [texts]
    if not isinstance(texts, Iterable) or isinstance(texts, bytes | bytearray | Mapping):
        raise ConfigError(f"translate takes a text or a list of texts, not {_name(texts)}")
    listed = [*texts]
    for number, text in enumerate(listed, start=1):
        if not isinstance(text, str):
            raise ConfigError(f"translate takes texts, and text {number} is {_name(text)}")
    return listed


def _name(thing: object) -> str:
    return "None" if thing is None else f"of type {type(thing).__name__}"
