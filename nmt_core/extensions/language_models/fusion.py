"""Shallow fusion (Gulcehre et al. 2015) of a translation model and a language model.

The log-probabilities of the language model, times a weight, are added to those of the translation
model. The sum is not a probability, but never above zero, as searches require.
"""

from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from nmt_core.base.errors import ConfigError
from nmt_core.extensions.language_models.bundle import load_language_model
from nmt_core.extensions.language_models.model import LanguageModel
from nmt_core.models.seq2seq import Memory, Seq2Seq, State, count_rows
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.text.vocabulary import Vocabulary
from nmt_core.translation.translator import Translator


@dataclass(frozen=True)
class FusedState(State):
    """The states of both models for a hypothesis."""

    translation: State
    language: State

    @override
    def select(self, rows: Int[Tensor, " N"]) -> "FusedState":
        return FusedState(self.translation.select(rows), self.language.select(rows))

    @override
    def follow(self, parents: Int[Tensor, "B M"]) -> "FusedState":
        return FusedState(self.translation.follow(parents), self.language.follow(parents))

    @override
    def keep(self, sentences: Int[Tensor, " N"], hypotheses: int) -> "FusedState":
        return FusedState(
            self.translation.keep(sentences, hypotheses), self.language.keep(sentences, hypotheses)
        )


class Fused(Seq2Seq[Memory, FusedState]):
    """A translation model, fused with a language model of the same target tokens and device.

    Raises:
        ValueError: if the weight is negative; searches rely on sums that never rise.
    """

    def __init__(
        self, translation: Seq2Seq[Any, Any], language: LanguageModel[Any], weight: float
    ) -> None:
        super().__init__()
        if weight < 0:
            raise ValueError(f"the weight of a language model may not be negative, got {weight}")
        self.translation, self.language, self.weight = translation, language, weight

    @override
    def encode(self, source: Int[Tensor, "B S"], source_padding: Bool[Tensor, "B S"]) -> Memory:
        return self.translation.encode(source, source_padding)

    @override
    def start(self, memory: Memory, beam_size: int = 1) -> FusedState:
        rows = count_rows(memory) * beam_size
        return FusedState(self.translation.start(memory, beam_size), self.language.start(rows))

    @override
    def decode(
        self, tokens: Int[Tensor, "R T"], memory: Memory, state: FusedState
    ) -> tuple[Float[Tensor, "R T V"], FusedState]:
        """See the contract; hidden vectors are the weighted log-probabilities."""
        hidden, translation = self.translation.decode(tokens, memory, state.translation)
        log_probs = self.translation.log_probs(hidden)
        if not self.weight:  # 0 times minus infinity is no number
            return log_probs, FusedState(translation, state.language)
        read, language = self.language.decode(tokens, state.language)
        fluency = self.language.log_probs(read).to(log_probs.dtype)
        return log_probs + self.weight * fluency, FusedState(translation, language)

    @override
    def project(
        self, hidden: Float[Tensor, "*N V"], tokens: Int[Tensor, " M"] | None = None
    ) -> Float[Tensor, "*N V"] | Float[Tensor, "*N M"]:
        return hidden if tokens is None else hidden[..., tokens]

    @override
    def log_probs(self, hidden: Float[Tensor, "*N V"]) -> Float[Tensor, "*N V"]:
        """Return the weighted sum of both models' log-probabilities."""
        return hidden

    @override
    def attention(
        self, tokens: Int[Tensor, "B T"], memory: Memory
    ) -> Float[Tensor, "B T S"] | None:
        return self.translation.attention(tokens, memory)


def check_vocabularies(target: Vocabulary, language: Vocabulary) -> None:
    """Require that both models number the same tokens alike.

    Raises:
        ConfigError: if they do not, naming the first difference.
    """
    for number, (ours, theirs) in enumerate(zip_longest(target.tokens, language.tokens)):
        if ours != theirs:
            raise ConfigError(
                f"the language model has other tokens than the translator (token {number} is "
                f"{theirs!r}, not {ours!r}); learn one with --unit subword --tokens-of this "
                f"translator"
            )


def fuse_language_model(translator: Translator, folder: Path, weight: float) -> Translator:
    """Return a translator in shallow fusion with the language model in a folder.

    Raises:
        BundleError: if there is no language model in it.
        ConfigError: if its tokens are not the translator's.
    """
    model, vocabulary = translator.full.model, translator.target.vocabulary
    device = next(model.parameters()).device
    language = load_language_model(folder, device=str(device))
    check_vocabularies(vocabulary, language.units.vocabulary)
    engine = PyTorchEngine(
        Fused(model, language.model, weight),
        len(vocabulary),
        never=tuple(vocabulary.tags.values()),
    )
    return replace(translator, engine=engine, load_full=None, confidence_model=None)
