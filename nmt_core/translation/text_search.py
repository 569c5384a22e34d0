"""A search of an engine for translations of texts, whose settings may be changed for a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from nmt_core.search.engine import Engine, Request
from nmt_core.search.hypothesis import Hypothesis
from nmt_core.search.settings import BeamConfig
from nmt_core.text.side import Tokenized
from nmt_core.translation.translation import Translation


class TextTranslator(Protocol):
    """Turns texts into requests of an engine, and what it finds into text."""

    def search_texts(
        self,
        lines: Sequence[str | Tokenized],
        prefixes: Sequence[str] | None,
        find: Callable[[Sequence[Request]], list[list[Hypothesis]]],
    ) -> list[list[Translation]]:
        """Return translations of lines as they are, by what finds hypotheses of requests."""

    def fit_batch(self, hypotheses: int) -> int:
        """Return the source tokens of a batch with a number of hypotheses per sentence."""


@dataclass(frozen=True)
class TextSearch:
    """A search of an engine, set up for one call of a translator."""

    translator: TextTranslator
    engine: Engine
    config: BeamConfig
    prefixes: Sequence[str] | None
    probabilities: bool
    attention: bool

    def run(
        self, texts: Sequence[str | Tokenized], changes: Mapping[str, int]
    ) -> list[list[Translation]]:
        """Return translations of texts, best first, by a search with some settings changed."""
        config = self.config.model_copy(update=changes)
        return self.translator.search_texts(texts, self.prefixes, partial(self._find, config))

    def _find(self, config: BeamConfig, requests: Sequence[Request]) -> list[list[Hypothesis]]:
        return self.engine.search(
            requests,
            config,
            batch_tokens=self.translator.fit_batch(config.beam_size),
            probabilities=self.probabilities,
            attention=self.attention,
        )
