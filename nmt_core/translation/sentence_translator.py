"""Translation of sentences by one engine; this file imports no torch."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Self, cast

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Engine
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.translation import Translation
from nmt_core.text.vocabulary import EOS
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.directions import DirectionConfig, find_direction
from nmt_core.translation.protection import Protector
from nmt_core.translation.repairing import ProtectedSearch
from nmt_core.translation.text_search import TextSearch, TranslatorConfig, add_links
from nmt_core.translation.translation import join_steps, keep_text

if TYPE_CHECKING:
    from nmt_core.search.pytorch import PyTorchEngine
    from nmt_core.text.aligner.aligner import Aligner

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, repr=False)
class SentenceTranslator:
    """An engine with both sides of its text, which translates lines of one sentence.

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
    load_aligner: "Callable[[], Aligner | None]" = lambda: None
    """Loads the word aligner on first use; returns None without one."""
    confidence_model: ConfidenceModel | None = None
    """Estimates the probability that a translation is good; None if it was not fitted."""
    load_full: "Callable[[], PyTorchEngine] | None" = None
    """Loads PyTorch's engine for searches that ``engine`` does not support."""
    directions: tuple[DirectionConfig, ...] = ()
    """Directions of a multilingual model, of which ``choose`` selects one; empty for one."""
    pivot: tuple[Self, Self] | None = None
    """Translators into and from a pivot language; None translates directly."""

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
            steps = into.search_best(lines)
            found = out.search(
                [each.text for each in steps],
                beam_size=beam_size,
                n_best=n_best,
                diversity=diversity,
                prefixes=prefixes,
                probabilities=probabilities,
            )
            pairs = zip(steps, found, strict=True)
            translations = [[join_steps(step, each) for each in own] for step, own in pairs]
            return self._add_links(lines, translations) if links else translations
        if self.is_same_language:
            return [[keep_text(text)] for text in map(get_line, lines)]
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
            translations = [[*several] for several in search(lines, config)]
        else:
            width, wide = config.beam_size, config
            if not begin:  # all hypotheses of a beam are cheaper than another search
                wide = self._configure(beam_size=width, n_best=width, diversity=diversity)
            repairing = ProtectedSearch(self.protector, search, wide, config.n_best, not begin)
            translations = repairing.run(lines)
        if links:
            translations = self._add_links(lines, translations)
        if begin or self.confidence_model is None:
            return translations
        return self.confidence_model.judge([*map(get_line, lines)], translations)

    def _add_links(
        self, lines: Sequence[str | Tokenized], translations: list[list[Translation]]
    ) -> list[list[Translation]]:
        """Return translations with the source word of each word, if the model has an aligner."""
        aligner = self.load_aligner()
        return (
            add_links([*map(get_line, lines)], translations, aligner) if aligner else translations
        )

    @property
    def is_same_language(self) -> bool:
        """Source and target are the same language; the translator returns texts unchanged."""
        return self.languages is not None and self.languages.source == self.languages.target

    @cached_property
    def text_search(self) -> TextSearch:
        """Converts lines to requests, and hypotheses to translations.

        Raises:
            ConfigError: if the lines would not be translated by one search.
        """
        if self.languages is None and self.directions:
            find_direction(self.directions, None, None)  # raises an error if there are several
        elif self.pivot:
            into, out = (step.languages for step in self.pivot)
            raise ConfigError(
                f"the model translates {self.languages} in two steps; choose {into} or {out} to "
                f"see one step"
            )
        elif self.is_same_language:
            raise ConfigError("source and target are the same language; name two languages")
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
        return [[*several] for several in self.text_search.write(tasks, drawn)]

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

    @cached_property
    def _change(self) -> Callable[..., BeamConfig]:
        return lru_cache(maxsize=64)(self.config.beam.change)

    def _configure(self, **changes: float | None) -> BeamConfig:
        """Return the search settings with changes; None keeps a setting."""
        search = self._change(**changes)
        if search.unknown != "copy" or self.engine.has_attention:
            return search
        has_attention = self.full.attend([[EOS]], [()]) is not None
        return search if has_attention else search.model_copy(update={"unknown": "forbid"})


@cache
def warn_of_refusal(engine: str, reason: str, other: str) -> None:
    """Warn once that a slower engine is used."""
    _log.warning("%s does not support %s; using %s, which is slower", engine, reason, other)


def get_line(line: str | Tokenized) -> str:
    """Return the text of a line."""
    return line.line if isinstance(line, Tokenized) else line
