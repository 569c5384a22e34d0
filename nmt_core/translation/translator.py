"""Translate lines: each line gives one line, in the same order.

This file imports no torch, so that a model of another engine loads fast.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast, overload

import numpy as np
from numpy.typing import NDArray

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Engine, FullEngine
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import EOS
from nmt_core.text.words import list_words
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.loading import load_parts
from nmt_core.translation.protection import Protector
from nmt_core.translation.repairing import ProtectedSearch
from nmt_core.translation.text_search import (
    TextCodec,
    TextSearch,
    TranslatorConfig,
    drop_tag_column,
)
from nmt_core.translation.texts import ApprovedTexts, Texts, list_texts, translate_texts
from nmt_core.translation.translation import NextToken, Translation

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, repr=False)
class Translator:
    """An engine with both sides of its text. Several threads may use one at once.

    ``prefixes`` are the beginnings of translations, one per line, in whole words; a translation's
    probability includes that of its prefix.
    """

    engine: Engine
    """The engine that searches, where it can."""
    source: Side
    target: Side
    config: TranslatorConfig = field(default_factory=TranslatorConfig)
    languages: Languages | None = None
    """Languages of its two sides; None if they are not known."""
    restorer: Restorer | None = None
    """Restores the case and the accents of source lines; None leaves them."""
    glossaries: tuple[Glossary, ...] = ()
    """Terms that are translated as a person wants; of equal ones, those of the first."""
    memory: ApprovedTexts | None = None
    """Approved translations, which :meth:`translate` takes as they are."""
    aligner: Aligner | None = None
    """Links the words of translations with those of their sources; None in earlier exports."""
    confidence_model: ConfidenceModel | None = None
    """Tells how likely a translation is good; None if that was not fitted."""
    load_full: Callable[[], FullEngine] | None = None
    """Loads the engine for searches that :attr:`engine` cannot do; None if it can do all."""

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        engine: str = "auto",
        device: str = "auto",
        threads: int | None = None,
    ) -> Self:
        """Verify an exported model and load it.

        Args:
            folder: the folder that the export stage wrote.
            engine: see ``list_choices``; ``auto`` takes the fastest one available.
            device: as torch names it; ``auto`` takes a GPU if there is one.
            threads: CPU threads; None takes all.

        Raises:
            BundleError: if it is incomplete, altered, or of another format.
            ConfigError: if its settings are unknown to this program, or the engine or the device
                is not there.
        """
        return cls(**load_parts(Path(folder), engine=engine, device=device, threads=threads))

    def __repr__(self) -> str:
        """Name the languages and the engine."""
        pair = "-".join(self.languages.codes) if self.languages else "unknown languages"
        return f"Translator({pair}, {self.engine.name})"

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
        """Return the translation of a text of any number of sentences, or of each of several.

        Args:
            texts: one or several; white space stays.
            beam_size: live hypotheses per sentence; None as configured.
            tag: see :meth:`choose_tag`.

        Raises:
            ConfigError: if the tag is not text, or the model does not know it.
        """
        translations = translate_texts(self.choose_tag(tag), list_texts(texts), beam_size=beam_size)
        written = [translation.text for translation in translations]
        return written[0] if isinstance(texts, str) else written

    def translate_sentences(self, lines: Sequence[str | Tokenized], **options: Any) -> list[str]:
        """Return the best translation of every line, each taken as one sentence.

        ``options`` are those of :meth:`search`.
        """
        return [best.text for best in self.search_best(lines, **options)]

    def search_best(self, lines: Sequence[str | Tokenized], **options: Any) -> list[Translation]:
        """Return the best translation of every line, without probabilities; see :meth:`search`."""
        searched = self.search(lines, n_best=1, probabilities=False, **options)
        return [best for best, *_ in searched]

    def search(  # noqa: PLR0913 - each may be wanted alone
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
            lines: each is taken as one sentence.
            beam_size: live hypotheses per sentence; this and the next two, if None, as configured.
            n_best: translations per line, at most ``beam_size``.
            diversity: see ``BeamConfig``.
            prefixes: beginnings of the translations, as many as lines.
            probabilities: return the probability of every token, which costs some engines time.
            attention: return the attention of every token, which costs time.
            links: return the source word of every word, if the model has an aligner.

        Raises:
            ConfigError: if ``n_best`` exceeds ``beam_size``.
            ValueError: if there are not as many prefixes as lines.
        """
        search = self._configure(beam_size, n_best, diversity)
        engine = self._choose(search, prefixes=any(prefixes or []))
        attention |= search.unknown == "copy" and engine.sees_attention
        begin = prefixes if any(prefixes or []) else None

        run = TextSearch(
            self.codec,
            engine,
            search,
            self._fit_batch(search.beam_size),
            begin,
            probabilities,
            attention,
        )
        if self.protector is None:
            translations = run.run(lines)
        else:
            candidates = 0 if begin else search.beam_size
            loop = ProtectedSearch(self.protector, run, search.n_best, candidates)
            translations = loop.run(lines)
        texts = [line.line if isinstance(line, Tokenized) else line for line in lines]
        if links and self.aligner:
            translations = add_links(texts, translations, self.aligner)
        if begin or self.confidence_model is None:
            return translations
        return self.confidence_model.judge(texts, translations)

    @cached_property
    def codec(self) -> TextCodec:
        """Turns lines into requests, and hypotheses into translations."""
        copies = self.config.beam.unknown == "copy"
        full = (lambda: self.full) if copies else None
        return TextCodec(self.source, self.target, self.config.max_source_tokens, full)

    @cached_property
    def protector(self) -> Protector | None:
        """What keeps literals; None where nobody has said of which languages the sides are."""
        if self.languages is None:
            return None
        return Protector.of(
            self.source,
            self.target,
            self.languages,
            self.restorer,
            self.config.beam,
            self.aligner,
            self.glossaries,
        )

    def add_memory(self, memory: ApprovedTexts) -> Self:
        """Return a translator that takes approved translations from a memory."""
        return replace(self, memory=memory)

    def add_glossary(self, glossary: Glossary) -> Self:
        """Return a translator that knows these terms, too; they count more than its own."""
        return replace(self, glossaries=(glossary, *self.glossaries))

    def choose_tag(self, tag: str | None) -> Self:
        """Return a translator that reads lines like those with a tag; None changes nothing.

        Raises:
            ConfigError: if the model knows no such tag.
        """
        if tag is None or tag == self.source.tag:
            return self
        check_tag(tag, self.tags)
        return replace(self, source=replace(self.source, tag=tag))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the corpora that the model was trained on."""
        return (*self.source.vocabulary.tags,)

    def sample(
        self,
        lines: Sequence[str | Tokenized],
        sampling: SamplingConfig | None = None,
        *,
        prefixes: Sequence[str] | None = None,
    ) -> list[list[Translation]]:
        """Return translations of every line drawn at random, in the order they were drawn.

        The samples of a line depend on its text and the seed, and on no other line. The rules of
        ``config.beam`` on length, unknown words and repetition hold, too.

        Raises:
            ValueError: if there are not as many prefixes as lines.
        """
        sampling = sampling or SamplingConfig()
        tasks = self.codec.make_tasks(lines, prefixes)
        drawn = self.full.sample(
            self.codec.make_requests(tasks),
            sampling,
            self._configure(),
            batch_tokens=self._fit_batch(sampling.samples),
        )
        return self.codec.write(tasks, drawn)

    def next_tokens(self, line: str, prefix: str = "", count: int = 10) -> list[NextToken]:
        """Return the ``count`` tokens most likely to follow ``prefix``, likeliest first.

        Nothing is forbidden, so reserved tokens may be among them. None follows for an empty line.
        """
        requests = self.codec.make_requests(self.codec.make_tasks([line], [prefix]))
        return [
            NextToken(self.target.vocabulary.tokens[token], probability)
            for request in requests
            for token, probability in self.full.next_tokens(request, count)
        ]

    def attention(
        self, line: str | Tokenized, translation: Translation
    ) -> NDArray[np.float32] | None:
        """Return the attention of each token of a translation to each source token.

        The last row and the last column belong to the ends of the sentences. None if the model has
        no attention, or the line no tokens.
        """
        text = self.source.tokenize(line)
        source = self.codec.read(text)
        computed = self.full.attend([source], [translation.ids]) if source else None
        if computed is None:
            return None
        return computed[0] if text.tag is None else drop_tag_column(computed[0])

    @cached_property
    def full(self) -> FullEngine:
        """The engine that can do everything; it is loaded when it is first asked for.

        Raises:
            ConfigError: if it is not installed.
        """
        return cast("FullEngine", self.engine) if self.load_full is None else self.load_full()

    def _choose(self, search: BeamConfig, *, prefixes: bool) -> Engine:
        """Return the engine for a search; warn once if it is not the fast one."""
        refused = self.engine.explain_refusal(search, prefixes=prefixes)
        if refused is None:
            return self.engine
        if refused not in self._warned:
            self._warned.add(refused)
            _log.warning(
                "%s cannot do this (%s); %s does, more slowly",
                self.engine.name,
                refused,
                self.full.name,
            )
        return self.full

    @cached_property
    def _warned(self) -> set[str]:
        """Warnings that were given already."""
        return set()

    def _fit_batch(self, hypotheses: int) -> int:
        """Return the source tokens of a batch with a number of hypotheses per sentence."""
        configured = self.config.beam.beam_size
        return self.config.batch_tokens * configured // max(configured, hypotheses)

    def _configure(
        self,
        beam_size: int | None = None,
        n_best: int | None = None,
        diversity: float | None = None,
    ) -> BeamConfig:
        search = self.config.beam.change(beam_size, n_best, diversity)
        if search.unknown == "copy" and not self.has_attention:
            return search.model_copy(update={"unknown": "forbid"})  # nothing tells what to copy
        return search

    @property
    def has_attention(self) -> bool:
        """Tell whether the model has attention."""
        return self.engine.sees_attention or self.full.attend([[EOS]], [()]) is not None


def check_tag(tag: str, tags: Sequence[str]) -> None:
    """Make sure that a model knows a tag.

    Raises:
        ConfigError: naming the tags that it knows.
    """
    if not tags:
        raise ConfigError(
            f"tag {tag!r} cannot be chosen, as no corpus that this model was trained on had a tag; "
            f"leave it out"
        )
    if tag not in tags:
        raise ConfigError(f"there is no tag {tag!r}; choose one of {', '.join(tags)}, or none")


def add_links(
    lines: Sequence[str], translations: Sequence[Sequence[Translation]], aligner: Aligner
) -> list[list[Translation]]:
    """Return translations with the source word of each of their words."""
    pairs = [
        (list_words(line), list_words(each.text))
        for line, several in zip(lines, translations, strict=True)
        for each in several
    ]
    links = iter(aligner.trace(pairs))
    return [[each._replace(links=next(links)) for each in several] for several in translations]
