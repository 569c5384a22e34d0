"""Settings of a classifier and its training; this file imports no torch."""

from typing import Literal

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.models.settings import EncoderConfig
from nmt_core.training.schedule import ScheduleConfig, WarmupDecay
from nmt_core.training.settings import AdamW, EpochTrainingConfig, OptimizerConfig


class TextConfig(Config):
    """Settings of the tokens of a text."""

    words: int = Field(10_000, ge=1, le=10_000_000)
    """Most frequent words, each with its own embedding."""
    buckets: int = Field(1_000, ge=1, le=10_000_000)
    """Embeddings of all other words, by a hash of their letters."""
    lower_case: bool = True
    """Read capital letters as small ones."""
    longest: int = Field(250, ge=1)
    """Tokens of a text that are read."""
    keep: Literal["first", "last"] = "last"
    """Part of a longer text to read: its beginning or its end."""


Pool = Literal["max", "mean", "last"]


class ClassifierConfig(Config):
    """The shape of a recurrent classifier."""

    kind: Literal["recurrent"] = "recurrent"
    """The tag of this choice."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of a word; word vectors bring their own width."""
    layers: int = Field(2, ge=1, le=1000)
    """Recurrent layers, of gated units (Cho et al. 2014)."""
    width: int = Field(128, ge=1, le=65_536)
    """Features that each layer remembers."""
    pool: Pool = "max"
    """Pooling of each feature over the tokens: the largest value, the mean or the last."""
    embedding_dropout: float = Field(0.3, ge=0, le=0.99)
    """Probability of dropping a feature of a word."""
    dropout: float = Field(0.5, ge=0, le=0.99)
    """Probability of dropping a feature between layers, and a pooled one."""
    frozen: bool = False
    """Do not train the word vectors; requires vectors."""


class EncoderClassifierConfig(Config):
    """The shape of a classifier with the layers of a masked language model."""

    kind: Literal["encoder"] = "encoder"
    """The tag of this choice."""
    encoder: EncoderConfig = EncoderConfig()
    """Shape of its layers."""
    pool: Pool = "mean"
    """Pooling of each feature over the tokens: the largest value, the mean or the last."""
    dropout: float = Field(0.1, ge=0, le=0.99)
    """Probability of dropping a pooled feature."""


class ClassifierTrainingConfig(EpochTrainingConfig):
    """Settings of training."""

    epochs: int = Field(3, ge=1)
    """Passes over the texts; the best one on the held-out texts is kept."""
    rows: int = Field(64, ge=1)
    """Texts per update."""
    optimizer: OptimizerConfig = AdamW(beta2=0.999, epsilon=1e-8)
    """Optimizer of the updates."""
    schedule: ScheduleConfig = WarmupDecay(learning_rate=2e-3, shape="linear")
    """Learning rate by the step."""


class LearnClassifierConfig(Config):
    """Settings of a recurrent classifier, its tokens and its training."""

    text: TextConfig = TextConfig()
    """Settings of the tokens of a text."""
    model: ClassifierConfig = ClassifierConfig()
    """Shape of the model."""
    training: ClassifierTrainingConfig = ClassifierTrainingConfig()
    """Settings of training."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the texts, drawn at random, that select the best epoch."""
    seed: int = Field(1, ge=0)
    """Random seed of held-out texts, weights, dropout and the order of texts."""


class FineTuneConfig(Config):
    """Settings of a classifier that starts from a masked language model, and of its training."""

    model: EncoderClassifierConfig = EncoderClassifierConfig()
    """Shape of the model; the encoder's is that of the language model, except dropout."""
    initial_parts: list[Literal["embeddings", "layers"]] = Field(["embeddings", "layers"])
    """Weights to take from the language model; the others are random."""
    training: ClassifierTrainingConfig = ClassifierTrainingConfig(
        epochs=10, rows=16, schedule=WarmupDecay(learning_rate=5e-4, warmup=0.1, shape="linear")
    )
    """Settings of training."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the texts, drawn at random, that select the best epoch."""
    seed: int = Field(1, ge=0)
    """Random seed of held-out texts, weights, dropout and the order of texts."""
