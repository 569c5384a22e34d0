"""The translator, which translates lines, texts and documents; this file imports no torch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages, group_rows
from nmt_core.documents.plan import DocumentTranslator, Segmenter
from nmt_core.documents.review import REVIEW_BELOW
from nmt_core.literals.glossary import Glossary
from nmt_core.text.translation import Translation
from nmt_core.text.vocabulary import TARGET, name_target
from nmt_core.translation.directions import DirectionConfig, detect_directions, find_direction
from nmt_core.translation.loading import load_parts
from nmt_core.translation.sentence_translator import SentenceTranslator
from nmt_core.translation.translation import (
    keep_text,
    list_texts,
    remember_translation,
    translate_texts,
)

if TYPE_CHECKING:
    from nmt_core.translation.memory.store import TranslationMemory

TextsT = TypeVar("TextsT", str, list[str])


@dataclass(frozen=True, kw_only=True, repr=False)
class Translator(SentenceTranslator):
    """Translates sentences, texts and documents; several threads can use it at the same time."""

    memory: "TranslationMemory | None" = None
    """Approved translations, which ``translate`` uses unchanged."""
    whole: "Translator | None" = None
    """The multilingual translator of which this one is a direction; None if there is none."""

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        engine: str = "auto",
        device: str = "auto",
        threads: int | None = None,
    ) -> Self:
        """Verify and load an exported model with an engine of ``list_engine_choices``.

        ``auto`` selects the fastest engine, and a GPU if there is one. ``threads`` None uses all
        CPU cores.

        Raises:
            BundleError: if the model is incomplete, altered, or of another format.
            ConfigError: if a setting is unknown, or the engine or the device does not exist.
        """
        return cls(**load_parts(Path(folder), engine=engine, device=device, threads=threads))

    def __repr__(self) -> str:
        """Return the languages and the engine."""
        several = ", ".join(str(each.languages) for each in self.directions) or "unknown languages"
        return f"Translator({self.languages or several}, {self.engine.name})"

    def choose(self, source: str | None = None, target: str | None = None) -> Self:
        """Return a translator of one direction of a multilingual model.

        None stands for the only language that is possible, or for that of this translator. A
        translator from a language into the same returns texts as they are.

        Raises:
            ConfigError: if the model does not have the direction, or has several.
        """
        if self.has_direction(source, target):
            return self
        if self.whole:
            return cast("Self", self.whole.choose(source, target))
        own = [DirectionConfig(languages=self.languages)] if self.languages else []
        if not (directions := self.directions or own):
            if source or target:
                raise ConfigError("the model does not name its languages; name no source or target")
            return self
        direction = find_direction(directions, source, target)
        if direction.languages not in self._chosen:
            self._chosen[direction.languages] = self._choose(direction)
        return self._chosen[direction.languages]

    def has_direction(self, source: str | None, target: str | None) -> bool:
        """Return whether this translator has one direction, and these languages; None is any."""
        languages = self.languages
        return (
            languages is not None
            and source in (None, languages.source)
            and target in (None, languages.target)
        )

    @cached_property
    def _chosen(self) -> dict[Languages, Self]:
        """The translators that were chosen before."""
        return {}

    def _choose(self, direction: DirectionConfig) -> Self:
        """Return a translator of a direction of the model."""
        languages, config = direction.languages, self.config
        if direction.pivot:
            steps = (languages.source, direction.pivot), (direction.pivot, languages.target)
            into, out = (self.choose(*step) for step in steps)
            return replace(into, languages=languages, pivot=(into, out), confidence_model=None)
        if direction.length_penalty is not None:
            beam = config.beam.model_copy(update={"length_penalty": direction.length_penalty})
            config = config.model_copy(update={"beam": beam})
        tag, known = name_target(languages.target), self.source.vocabulary.tags
        tags = (tag, *self.source.tags) if tag in known else self.source.tags
        return replace(
            self,
            languages=languages,
            config=config,
            source=replace(self.source, tags=tags),
            glossaries=tuple(g for g in self.glossaries if g.languages == languages.codes),
            confidence_model=direction.confidence,
            whole=self,
        )

    def translate(
        self,
        texts: TextsT,
        *,
        source: str | None = None,
        target: str | None = None,
        beam_size: int | None = None,
        tag: str | None = None,
    ) -> TextsT:
        """Return the translation of a text, or of each text of a list.

        Texts may have several sentences and lines; white space is kept. For ``source`` and
        ``target`` see ``translate_texts``, for ``beam_size`` ``search``, for ``tag``
        ``choose_tag``.

        Raises:
            ConfigError: if the argument is not a text or texts, the model does not have the
                direction, or the tag is unknown.
        """
        translated = self.choose_tag(tag).translate_texts(
            list_texts(texts), source=source, target=target, beam_size=beam_size
        )
        written = [each.text for each in translated]
        return written[0] if isinstance(texts, str) else written

    def translate_texts(
        self,
        texts: Sequence[str],
        *,
        source: str | None = None,
        target: str | None = None,
        beam_size: int | None = None,
        whole: bool = False,
    ) -> list[Translation]:
        """Return the translation of each text with its reports.

        Args:
            texts: texts of any number of sentences and lines.
            source: source language; None detects that of each text if several are possible.
            target: target language; None stands for the only one that is possible. A text that is
                already in the target language is returned as it is, with the breach ``IN_TARGET``.
            beam_size: see ``search``.
            whole: whether each text is one sentence.

        Raises:
            ConfigError: if the model does not have the direction, or has several.
        """
        is_nameless = not (self.directions or self.languages or source or target)
        options: Any = {"beam_size": beam_size, "whole": whole}
        if is_nameless or self.has_direction(source, target):
            return self.translate_mixed(texts, (), **options)
        if not self.directions:
            return self.choose(source, target).translate_texts(texts, **options)
        found = detect_directions(self.directions, texts, source, target)
        return self.translate_mixed(texts, found, **options)

    def translate_mixed(
        self,
        texts: Sequence[str],
        directions: Sequence[Languages],
        *,
        beam_size: int | None = None,
        whole: bool = True,
    ) -> list[Translation]:
        """Return the translation of each text in its own direction.

        Without ``directions``, all texts have that of this translator. See ``translate_texts`` for
        the options.
        """
        translations: dict[int, Translation] = {}
        for languages, rows in group_rows(directions).items():
            chosen, group = self.choose(*languages.codes), [texts[row] for row in rows]
            translated = chosen.translate_texts(group, beam_size=beam_size, whole=whole)
            translations |= zip(rows, translated, strict=True)
        if directions or not texts:
            return [translations[row] for row in range(len(texts))]
        if self.is_same_language:
            return [keep_text(text) for text in texts]
        if not whole:
            return translate_texts(self.open_documents(beam_size=beam_size), texts)
        approved = [self.recall(text) for text in texts]
        new = [text for text, done in zip(texts, approved, strict=True) if done is None]
        searched = iter(self.search_best(new, beam_size=beam_size))
        return [done or next(searched) for done in approved]

    @property
    def segmenter(self) -> Segmenter:
        """Splits text of the source language into sentences that the model can read."""
        limit = self.config.max_source_tokens - len(self.source.tags)
        language = self.languages.source if self.languages else ""
        return Segmenter(language, self.source.tokens, min(limit, Segmenter.max_tokens))

    def open_documents(
        self, *, beam_size: int | None = None, review_below: float = REVIEW_BELOW
    ) -> DocumentTranslator:
        """Return a translator of documents.

        ``beam_size`` is as in ``search``. Units whose confidence is below ``review_below`` are
        marked for review.
        """
        return DocumentTranslator(
            partial(self.search_best, beam_size=beam_size),
            self.segmenter,
            self.languages.target if self.languages else "",
            review_below,
            self.recall if self.memory else None,
        )

    def recall(self, text: str) -> Translation | None:
        """Return the memory's approved translation of a text, or None."""
        if self.memory is None or self.languages is None:
            return None
        from nmt_core.translation.memory.store import MemoryScope  # optional

        match = self.memory.find_exact(text, MemoryScope(self.languages))
        return remember_translation(match.target) if match else None

    def add_memory(self, memory: "TranslationMemory") -> Self:
        """Return a translator that uses approved translations of a memory.

        Raises:
            ConfigError: if the languages of the model are unknown.
        """
        if self.languages is None and not self.directions:
            raise ConfigError(
                f"the memory {memory.path} requires a model that names its languages; export the "
                f"model again"
            )
        return replace(self, memory=memory)

    def add_glossary(self, glossary: Glossary) -> Self:
        """Return a translator with an additional glossary, which takes precedence.

        Raises:
            ConfigError: if the model translates through a pivot language.
        """
        if self.pivot:
            raise ConfigError(
                f"a glossary cannot be used for {self.languages}, because the model translates it "
                f"in two steps; leave the glossary out"
            )
        return replace(self, glossaries=(glossary, *self.glossaries))

    def choose_tag(self, tag: str | None) -> Self:
        """Return a translator that adds a tag to every line; None changes nothing.

        Raises:
            ConfigError: if the model does not have the tag.
        """
        if tag is None or tag in self.source.tags:
            return self
        if tag not in self.tags:
            remedy = (
                f"choose one of {', '.join(self.tags)}, or none" if self.tags else "leave it out"
            )
            raise ConfigError(f"there is no tag {tag!r}; {remedy}")
        directing = (each for each in self.source.tags if each.startswith(TARGET))
        into, out = self.pivot or (None, None)
        return replace(
            self,
            source=replace(self.source, tags=(*directing, tag)),
            pivot=(into.choose_tag(tag), out.choose_tag(tag)) if into and out else None,
        )

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the corpora that the model was trained on."""
        return tuple(tag for tag in self.source.vocabulary.tags if not tag.startswith(TARGET))
