"""Translate lines: each line gives one line, in the same order. This file imports no torch."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, overload

from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.base.languages import Languages
from nmt_core.documents.document import name_translation
from nmt_core.documents.plan import DocumentTranslator, Segmenter
from nmt_core.documents.review import REVIEW_BELOW
from nmt_core.literals.glossary import Glossary
from nmt_core.search.engine import Engine
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side, Tokenized
from nmt_core.text.vocabulary import EOS
from nmt_core.translation.confidence import ConfidenceModel
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
    from nmt_core.documents.formats import TranslatedDocument
    from nmt_core.search.pytorch import PyTorchEngine
    from nmt_core.text.aligner.aligner import Aligner
    from nmt_core.translation.memory.store import TranslationMemory

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
    memory: "TranslationMemory | None" = None
    """Approved translations, which ``translate`` takes as they are."""
    load_aligner: "Callable[[], Aligner | None]" = lambda: None
    """Loads the aligner of words at its first use; returns None for earlier exports."""
    confidence_model: ConfidenceModel | None = None
    """Tells how likely a translation is good; None if that was not fitted."""
    load_full: "Callable[[], PyTorchEngine] | None" = None
    """Loads the engine for searches that ``engine`` cannot do; None if it can do all."""

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        engine: str = "auto",
        device: str = "auto",
        threads: int | None = None,
    ) -> Self:
        """Verify an exported model and load it with an engine of ``list_engine_choices``.

        ``auto`` takes the fastest engine and a GPU, if there is one; None takes all CPU threads.

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

        White space stays. For ``beam_size`` see ``search``, for ``tag`` ``choose_tag``.

        Raises:
            ConfigError: if the texts are something else, or the model does not know the tag.
        """
        documents = self.choose_tag(tag).open_documents(beam_size=beam_size)
        written = [each.text for each in translate_texts(documents, list_texts(texts))]
        return written[0] if isinstance(texts, str) else written

    def open_documents(
        self, *, beam_size: int | None = None, review_below: float = REVIEW_BELOW
    ) -> DocumentTranslator:
        """Return a translator of documents; units of a confidence below a bound need review.

        ``beam_size`` is the number of live hypotheses per sentence; None as configured.
        """
        source, target = self.languages.codes if self.languages else ("", "")
        room = self.config.max_source_tokens - (self.source.tag is not None)
        return DocumentTranslator(
            partial(self.search_best, beam_size=beam_size),
            Segmenter(source, self.source.tokens, min(room, Segmenter.max_tokens)),
            target,
            review_below,
            self.recall if self.memory else None,
        )

    def recall(self, text: str) -> Translation | None:
        """Return the approved translation that the memory has of a text, if it has one."""
        if self.memory is None or self.languages is None:
            return None
        from nmt_core.translation.memory.store import MemoryScope  # optional

        match = self.memory.find_exact(text, MemoryScope(self.languages))
        return remember_translation(match.target) if match else None

    def name_output(self, path: Path) -> Path:
        """Return the name of a file's translation, ``letter.en.docx`` for ``letter.docx``.

        Raises:
            DocumentError: if the model does not say its languages.
        """
        if self.languages is None:
            raise DocumentError(
                f"{path} has a translation without a name, for the model does not say its "
                f"languages; give one by --output"
            )
        return name_translation(path, self.languages.target)

    def translate_sentences(self, lines: Sequence[str | Tokenized], **options: Any) -> list[str]:
        """Return the best translation of every line, each taken as one sentence.

        ``options`` are those of ``search``.
        """
        return [best.text for best in self.search_best(lines, **options)]

    def search_best(self, lines: Sequence[str | Tokenized], **options: Any) -> list[Translation]:
        """Return the best translation of every line, without probabilities; see ``search``."""
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
        """Turns lines into requests, and hypotheses into translations."""
        copies = self.config.beam.unknown == "copy"
        full = (lambda: self.full) if copies else None
        return TextSearch(self.source, self.target, self.config.max_source_tokens, full)

    @cached_property
    def protector(self) -> Protector | None:
        """Keeps literals; None if the languages of the sides are not known."""
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
        """Return a translator that takes approved translations from a memory.

        Raises:
            ConfigError: if the model does not say its languages, by which a memory has its units.
        """
        if self.languages is None:
            raise ConfigError(
                f"{memory.path} has units by languages, and the model does not say its own; export "
                f"it again"
            )
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
        if tag not in self.tags:
            known = (
                f"choose one of {', '.join(self.tags)}, or none" if self.tags else "leave it out"
            )
            raise ConfigError(f"there is no tag {tag!r}; {known}")
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
        """Return the tokens most likely to follow ``prefix``, with probabilities, likeliest first.

        Nothing is forbidden, so reserved tokens may be among them. None follows for an empty line.
        """
        [task] = self.text_search.make_tasks([line], [prefix])
        following = self.full.next_tokens(task.request, count) if task.tokens else []
        return [(self.target.vocabulary.tokens[token], each) for token, each in following]

    def trace_search(
        self, line: str, *, beam_size: int | None = None, prefix: str = ""
    ) -> list[list[tuple[str, float, bool]]]:
        """Return the hypotheses after each token of a beam search, by PyTorch.

        Returns:
            for each step: the texts, their log-probabilities, and whether they have ended;
            unfinished ones first, likeliest first.
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
        """The engine that can do everything; it is loaded when it is first asked for.

        Raises:
            ConfigError: if it is not installed.
        """
        return cast("PyTorchEngine", self.engine) if self.load_full is None else self.load_full()

    def _fit_batch(self, hypotheses: int) -> int:
        """Return the source tokens of a batch with a number of hypotheses per sentence."""
        configured = self.config.beam.beam_size
        return self.config.batch_tokens * configured // max(configured, hypotheses)

    def _configure(self, **changes: float | None) -> BeamConfig:
        """Return the settings of a search with those that are given; others are as configured."""
        search = self.config.beam.change(**changes)
        if search.unknown != "copy" or self.engine.has_attention:
            return search
        has_attention = self.full.attend([[EOS]], [()]) is not None
        return search if has_attention else search.model_copy(update={"unknown": "forbid"})


def translate_document(
    path: Path | str,
    translator: Translator,
    output: Path | str | None = None,
    *,
    kind: str | None = None,
    review_below: float = REVIEW_BELOW,
) -> "TranslatedDocument":
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
    from nmt_core.documents.formats import translate_file  # lines do not need it

    out = Path(output) if output else translator.name_output(Path(path))
    documents = translator.open_documents(review_below=review_below)
    return translate_file(Path(path), out, documents, kind)


@cache
def warn_of_refusal(engine: str, reason: str, other: str) -> None:
    """Warn once that another engine searches, more slowly."""
    _log.warning("%s cannot do this (%s); %s does, more slowly", engine, reason, other)
