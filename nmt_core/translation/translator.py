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

from nmt_core.base.languages import Languages
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Engine, FullEngine, Request
from nmt_core.search.hypothesis import Hypothesis
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.text.aligner.aligner import Aligner
from nmt_core.text.normalize import normalize
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import EOS
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.linking import add_links
from nmt_core.translation.loading import load_parts
from nmt_core.translation.protection import Protector
from nmt_core.translation.repairing import search_protected
from nmt_core.translation.settings import TranslatorConfig
from nmt_core.translation.source_task import SourceTask, build_translations, check_tag, leave_tag
from nmt_core.translation.text_search import TextSearch
from nmt_core.translation.texts import ApprovedTexts, Texts, list_texts, translate_texts
from nmt_core.translation.translation import EMPTY_TRANSLATION, NextToken, Translation

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
            folder: what the export stage wrote.
            engine: ``auto`` takes the fastest one that is there; others: ``list_choices``.
            device: as torch names it; ``auto`` takes a GPU if there is one.
            threads: of the processor; None takes all.

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
        """Return the translation of a text, or a list of those of several; see ``texts.py``.

        Args:
            texts: of any number of lines and sentences; a text of nothing but white space stays.
            beam_size: live hypotheses per sentence; None as configured.
            tag: see :meth:`choose_tag`.

        Raises:
            ConfigError: if the tag is not text, or the model does not know it.
        """
        given = list_texts(texts)
        translations = translate_texts(self.choose_tag(tag), given, beam_size=beam_size)
        written = [translation.text for translation in translations]
        return written[0] if isinstance(texts, str) else written

    def translate_sentences(self, lines: Sequence[str | Tokenized], **options: Any) -> list[str]:
        """Return the best translation of every line, each taken as one sentence.

        Args:
            lines: source text.
            options: see :meth:`search`.
        """
        found = self.search(lines, n_best=1, probabilities=False, **options)
        return [best.text for best, *_ in found]

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
            lines: source text.
            beam_size: live hypotheses per sentence; None as configured.
            n_best: translations per line, at most ``beam_size``; None as configured.
            diversity: see ``BeamConfig``; None as configured.
            prefixes: beginnings of the translations.
            probabilities: return the probability of every token, which costs some engines time.
            attention: return the attention of every token, which costs time.
            links: return the source word of every word, by the aligner or else by attention.

        Raises:
            ConfigError: if ``n_best`` exceeds ``beam_size``.
            ValueError: if there are not as many prefixes as lines.
        """
        search = self._configure(beam_size, n_best, diversity)
        engine = self._choose(search, prefixes=any(prefixes or []))
        attention |= links and self.aligner is None
        attention |= search.unknown == "copy" and engine.sees_attention
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"there are {len(lines)} lines but {len(prefixes)} prefixes")
        begin = prefixes if any(prefixes or []) else None

        run = TextSearch(self, engine, search, begin, probabilities, attention)
        if self.protector is None:
            found = run.run(lines, {})
        else:
            most = 0 if begin else search.beam_size
            found = search_protected(lines, self.protector, run, search.n_best, most)
        texts = [line.line if isinstance(line, Tokenized) else line for line in lines]
        found = add_links(texts, found, self.aligner) if links else found
        if begin or self.confidence_model is None:
            return found
        return self.confidence_model.judge(texts, found)

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
        """Return a translator that reads lines as those of corpora with a tag.

        Args:
            tag: one of :attr:`tags`; None leaves the choice as it is.

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

        The samples of a line depend on its text and the seed, and on no other line.

        Args:
            lines: source text.
            sampling: number and kind of samples; the rules of ``config.beam`` on length, unknown
                words and repetition hold, too.
            prefixes: beginnings of the translations.

        Raises:
            ValueError: if there are not as many prefixes as lines.
        """
        search = self._configure()
        sampling = sampling or SamplingConfig()
        return self.search_texts(
            lines,
            prefixes,
            lambda requests: self.full.sample(
                requests, sampling, search, batch_tokens=self.fit_batch(sampling.samples)
            ),
        )

    def next_tokens(self, line: str, prefix: str = "", count: int = 10) -> list[NextToken]:
        """Return the ``count`` tokens most likely to follow ``prefix``, likeliest first.

        Nothing is forbidden, so reserved tokens may be among them. None follows for an empty line.
        """
        read = self._read(self.source.tokenize(line))
        if not read:
            return []
        begin = self.target.vocabulary.encode(self.cut(self.target.tokenize(prefix)))
        return [
            NextToken(self.target.vocabulary.tokens[token], probability)
            for token, probability in self.full.next_tokens(Request(read, begin), count)
        ]

    def attention(
        self, line: str | Tokenized, translation: Translation
    ) -> NDArray[np.float32] | None:
        """Return the attention of each token of a translation to each source token.

        The last row and the last column belong to the ends of the sentences. None if the model has
        no attention, or the line no tokens.
        """
        text = self.source.tokenize(line)
        source = self._read(text)
        looks = self.full.attend([source], [translation.ids]) if source else None
        return None if looks is None else leave_tag(looks[0], text.tag)

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

    def fit_batch(self, hypotheses: int) -> int:
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

    def search_texts(
        self,
        lines: Sequence[str | Tokenized],
        prefixes: Sequence[str] | None,
        find: Callable[[Sequence[Request]], list[list[Hypothesis]]],
    ) -> list[list[Translation]]:
        """Return translations of lines as they are, by what finds hypotheses of requests."""
        if prefixes is not None and len(prefixes) != len(lines):
            raise ValueError(f"there are {len(lines)} lines but {len(prefixes)} prefixes")
        texts = [self.source.tokenize(line) for line in lines]
        tasks = [
            SourceTask(text, self._read(text), self.cut(self.target.tokenize(prefix)))
            for text, prefix in zip(texts, prefixes or [""] * len(lines), strict=True)
        ]
        wanted = [task for task in tasks if task.source]
        hypotheses = find(
            [Request(task.source, self.target.vocabulary.encode(task.prefix)) for task in wanted]
        )
        full = (lambda: self.full) if self.config.beam.unknown == "copy" else None
        written = iter(build_translations(wanted, hypotheses, self.source, self.target, full))
        return [next(written) if task.source else [EMPTY_TRANSLATION] for task in tasks]

    def cut(self, text: Tokenized) -> list[str]:
        """Return the tokens of a line up to ``max_source_tokens``, and warn of those left out.

        A tag counts as a token.
        """
        room = self.config.max_source_tokens - (text.tag is not None)
        tokens = text.tokens[:room]
        if len(tokens) < len(text.tokens):
            _log.warning(
                "a line has %d tokens, but only the first %d are read; give each of its sentences "
                "a line of its own: %.60s",
                len(text.tokens),
                len(tokens),
                normalize(text.line),
            )
        return tokens

    def _read(self, text: Tokenized) -> list[int]:
        """Return the numbers of a line's tokens and EOS; none at all for a line without tokens."""
        numbers = self.number(text)
        return [*numbers, EOS] if numbers else []

    def number(self, text: Tokenized) -> list[int]:
        """Return the numbers of a source line's tokens, behind that of its tag if it has one.

        None at all for a line without tokens.
        """
        numbers = self.source.vocabulary.encode(self.cut(text))
        return [*self.source.find_tag(text), *numbers] if numbers else []
