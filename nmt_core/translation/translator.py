"""The translator, which translates lines, texts and documents; this file imports no torch."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, overload

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.documents.plan import DocumentTranslator, Segmenter
from nmt_core.documents.review import REVIEW_BELOW
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Engine
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import EOS, TARGET, name_target
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.directions import DirectionConfig, find_direction, search_twice
from nmt_core.translation.loading import load_parts
from nmt_core.translation.protection import Protector
from nmt_core.translation.repairing import ProtectedSearch
from nmt_core.translation.text_search import TextSearch, TranslatorConfig, add_links
from nmt_core.translation.translation import (
    Texts,
    Translation,
    list_texts,
    remember_translation,
    translate_texts,
)

if TYPE_CHECKING:
    from nmt_core.search.pytorch import PyTorchEngine
    from nmt_core.text.aligner.aligner import Aligner
    from nmt_core.translation.memory.store import TranslationMemory

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, repr=False)
class Translator:
    """An engine with both sides of its text; several threads can use it at the same time.

    ``prefixes`` are required beginnings of translations, one per line, in whole words. The
    probability of a translation includes its prefix.
    """

    engine: Engine
    """The engine of all searches that it supports."""
    source: Side
    target: Side
    config: TranslatorConfig = field(default_factory=TranslatorConfig)
    languages: Languages | None = None
    """Source and target language; None if unknown."""
    restorer: Restorer | None = None
    """Restores letter case and accents of source lines; None disables it."""
    glossaries: tuple[Glossary, ...] = ()
    """Glossaries; for equal terms, the first glossary takes precedence."""
    memory: "TranslationMemory | None" = None
    """Approved translations, which ``translate`` uses unchanged."""
    load_aligner: "Callable[[], Aligner | None]" = lambda: None
    """Loads the word aligner on first use; returns None for earlier exports."""
    confidence_model: ConfidenceModel | None = None
    """Estimates the probability that a translation is good; None if it was not fitted."""
    load_full: "Callable[[], PyTorchEngine] | None" = None
    """Loads PyTorch's engine for searches that ``engine`` does not support."""
    directions: tuple[DirectionConfig, ...] = ()
    """Directions of a multilingual model, of which ``choose`` selects one; empty for one."""
    pivot: "tuple[Translator, Translator] | None" = None
    """Translators into and from a pivot language; None translates directly."""

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
        """Return a translator of one direction; None stands for the only possible language.

        Raises:
            ConfigError: if the model does not have the direction, or has several.
        """
        own = [DirectionConfig(languages=self.languages)] if self.languages else []
        direction = find_direction(self.directions or own, source, target)
        if direction.languages == self.languages:
            return self
        languages, config = direction.languages, self.config
        if direction.pivot:
            into = self.choose(languages.source, direction.pivot)
            out = self.choose(direction.pivot, languages.target)
            return replace(into, languages=languages, pivot=(into, out))
        if direction.length_penalty is not None:
            beam = config.beam.model_copy(update={"length_penalty": direction.length_penalty})
            config = config.model_copy(update={"beam": beam})
        tag = name_target(languages.target)
        return replace(
            self,
            languages=languages,
            config=config,
            source=replace(self.source, tags=(tag,) if tag in self.source.vocabulary.tags else ()),
            glossaries=tuple(g for g in self.glossaries if g.languages == languages.codes),
            confidence_model=direction.confidence,
            pivot=None,
        )

    @overload
    def translate(
        self, texts: str, *, beam_size: int | None = None, tag: str | None = None
    ) -> str: ...

    @overload
    def translate(
        self, texts: Texts, *, beam_size: int | None = None, tag: str | None = None
    ) -> list[str]: ...

    def translate(
        self, texts: str | Texts, *, beam_size: int | None = None, tag: str | None = None
    ) -> str | list[str]:
        """Return the translation of a text, or of each text of a list.

        Texts may have several sentences and lines; white space is kept. For ``beam_size`` see
        ``search``, for ``tag`` see ``choose_tag``.

        Raises:
            ConfigError: if the argument is not a text or texts, or the tag is unknown.
        """
        documents = self.choose_tag(tag).open_documents(beam_size=beam_size)
        written = [each.text for each in translate_texts(documents, list_texts(texts))]
        return written[0] if isinstance(texts, str) else written

    def open_documents(
        self, *, beam_size: int | None = None, review_below: float = REVIEW_BELOW
    ) -> DocumentTranslator:
        """Return a translator of documents.

        ``beam_size`` is as in ``search``. Units whose confidence is below ``review_below`` are
        marked for review.
        """
        source, target = self.languages.codes if self.languages else ("", "")
        limit = self.config.max_source_tokens - len(self.source.tags)
        return DocumentTranslator(
            partial(self.search_best, beam_size=beam_size),
            Segmenter(source, self.source.tokens, min(limit, Segmenter.max_tokens)),
            target,
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

    def translate_sentences(self, lines: Sequence[str | Tokenized], **options: Any) -> list[str]:
        """Return the best translation of every line; a line is one sentence.

        ``options`` are those of ``search``.
        """
        return [best.text for best in self.search_best(lines, **options)]

    def search_best(self, lines: Sequence[str | Tokenized], **options: Any) -> list[Translation]:
        """Return the best translation of every line, without probabilities; see ``search``."""
        searched = self.search(lines, n_best=1, probabilities=False, **options)
        return [best for best, *_ in searched]

    def search(  # noqa: PLR0913 - options that callers combine freely
        self,
        lines: Sequence[str | Tokenized],
        *,
        beam_size: int | None = None,
        n_best: int | None = None,
        diversity: float | None = None,
        prefixes: Sequence[str] | None = None,
        probabilities: bool = True,
        attention: bool = False,
        links: bool = False,
    ) -> list[list[Translation]]:
        """Return one or more translations of every line, best first.

        Args:
            lines: sentences.
            beam_size: live hypotheses per sentence; None uses the model's setting.
            n_best: translations per line, at most ``beam_size``; None uses the model's setting.
            diversity: see ``BeamConfig``; None uses the model's setting.
            prefixes: required beginnings of the translations, one per line.
            probabilities: whether to return token probabilities, slower in some engines.
            attention: whether to return attention weights, which is slower.
            links: whether to return the source word of every word, if the model has an aligner.

        Raises:
            ConfigError: if ``n_best`` exceeds ``beam_size``.
            ValueError: if the numbers of prefixes and lines differ.
        """
        if self.pivot:
            into, out = self.pivot
            second = partial(
                out.search,
                beam_size=beam_size,
                n_best=n_best,
                diversity=diversity,
                prefixes=prefixes,
                probabilities=probabilities,
            )
            return search_twice(into.search_best, second, lines)
        if self.languages is None and self.directions:
            self.choose()  # raises an error that names the directions
        config = self._configure(beam_size=beam_size, n_best=n_best, diversity=diversity)
        begin = prefixes if any(prefixes or []) else None
        engine = self.engine
        if refused := engine.explain_refusal(config, prefixes=begin is not None):
            warn_of_refusal(engine.name, refused, self.full.name)
            engine = self.full
        search = partial(
            self.text_search.search,
            engine,
            prefixes=begin,
            batch_tokens=self._fit_batch(config.beam_size),
            probabilities=probabilities,
            attention=attention or (config.unknown == "copy" and engine.has_attention),
        )
        if self.protector is None:
            translations = search(lines, config)
        else:
            candidates = 0 if begin else config.beam_size
            translations = ProtectedSearch(self.protector, search, config, candidates).run(lines)
        texts = [line.line if isinstance(line, Tokenized) else line for line in lines]
        if links and (aligner := self.load_aligner()):
            translations = add_links(texts, translations, aligner)
        if begin or self.confidence_model is None:
            return translations
        return self.confidence_model.judge(texts, translations)

    @cached_property
    def text_search(self) -> TextSearch:
        """Converts lines to requests, and hypotheses to translations."""
        copies = self.config.beam.unknown == "copy"
        full = (lambda: self.full) if copies else None
        return TextSearch(self.source, self.target, self.config.max_source_tokens, full)

    @cached_property
    def protector(self) -> Protector | None:
        """Protects literals; None if the languages are unknown."""
        if self.languages is None:
            return None
        return Protector(
            self.source,
            self.target,
            self.languages.codes,
            self.restorer,
            self.config.beam,
            self.load_aligner,
            self.glossaries,
        )

    def add_memory(self, memory: "TranslationMemory") -> Self:
        """Return a translator that uses approved translations of a memory.

        Raises:
            ConfigError: if the languages of the model are unknown.
        """
        if self.languages is None:
            raise ConfigError(
                f"the memory {memory.path} requires a model that names its languages; export the "
                f"model again"
            )
        return replace(self, memory=memory)

    def add_glossary(self, glossary: Glossary) -> Self:
        """Return a translator with an additional glossary, which takes precedence."""
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
        return replace(self, source=replace(self.source, tags=(*directing, tag)))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the corpora that the model was trained on."""
        return tuple(tag for tag in self.source.vocabulary.tags if not tag.startswith(TARGET))

    def sample(
        self,
        lines: Sequence[str | Tokenized],
        sampling: SamplingConfig | None = None,
        *,
        prefixes: Sequence[str] | None = None,
    ) -> list[list[Translation]]:
        """Return sampled translations of every line, in the order they were drawn.

        The samples of a line depend only on its text and the seed. The limits of ``config.beam``
        for length, unknown words and repetition apply, too.
        """
        sampling = sampling or SamplingConfig()
        tasks = self.text_search.make_tasks(lines, prefixes)
        drawn = self.full.sample(
            [task.request for task in tasks if task.tokens],
            sampling,
            self._configure(),
            batch_tokens=self._fit_batch(sampling.samples),
        )
        return self.text_search.write(tasks, drawn)

    def next_tokens(self, line: str, prefix: str = "", count: int = 10) -> list[tuple[str, float]]:
        """Return the most likely tokens after ``prefix`` with their probabilities, best first.

        Reserved tokens may be among them. The result is empty for an empty line.
        """
        [task] = self.text_search.make_tasks([line], [prefix])
        following = self.full.next_tokens(task.request, count) if task.tokens else []
        return [(self.target.vocabulary.tokens[token], each) for token, each in following]

    def trace_search(
        self, line: str, *, beam_size: int | None = None, prefix: str = ""
    ) -> list[list[tuple[str, float, bool]]]:
        """Return the hypotheses after each step of a beam search with PyTorch.

        Returns:
            For each step, the texts, their log-probabilities, and whether they have ended;
            unfinished hypotheses first, then by probability.
        """
        [task] = self.text_search.make_tasks([line], [prefix])
        if not task.tokens:
            return []
        search = self.config.beam.change(beam_size=beam_size)
        steps, finished = self.full.trace(task.request, search)
        length = 1 + max(map(len, (*steps[-1], *(each.tokens for each in finished))))
        traced = [
            [(self.target.text(tokens), log_prob, False) for tokens, log_prob in step.items()]
            for step in [*steps, *[{}] * (length - len(steps))]
        ]
        for each in finished:
            traced[len(each.tokens)].append((self.target.text(each.tokens), each.log_prob, True))
        return traced

    @cached_property
    def full(self) -> "PyTorchEngine":
        """PyTorch's engine, which supports every search; loaded on first access.

        Raises:
            ConfigError: if PyTorch is not installed.
        """
        return cast("PyTorchEngine", self.engine) if self.load_full is None else self.load_full()

    def _fit_batch(self, hypotheses: int) -> int:
        """Return the maximum source tokens of a batch for a number of hypotheses per sentence."""
        configured = self.config.beam.beam_size
        return self.config.batch_tokens * configured // max(configured, hypotheses)

    def _configure(self, **changes: float | None) -> BeamConfig:
        """Return the search settings with changes; None keeps a setting."""
        search = self.config.beam.change(**changes)
        if search.unknown != "copy" or self.engine.has_attention:
            return search
        has_attention = self.full.attend([[EOS]], [()]) is not None
        return search if has_attention else search.model_copy(update={"unknown": "forbid"})


@cache
def warn_of_refusal(engine: str, reason: str, other: str) -> None:
    """Warn once that a slower engine is used."""
    _log.warning("%s does not support %s; using %s, which is slower", engine, reason, other)
