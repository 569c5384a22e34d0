"""Settings of a classifier and its training; this file imports no torch."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config
from nmt_core.models.settings import EncoderConfig
from nmt_core.training.schedule import ScheduleConfig, WarmupDecay
from nmt_core.training.settings import AdamW, EpochTrainingConfig, OptimizerConfig


class TextConfig(Config):
    """Settings of the tokens of a text."""

    words: int = Field(10_000, ge=1, le=10_000_000)
    """Most frequent words, each with an embedding of its own."""
    buckets: int = Field(1_000, ge=1, le=10_000_000)
    """Embeddings that all other words share, by a hash of their letters."""
    lower_case: bool = True
    """Read capital letters as small ones."""
    longest: int = Field(250, ge=1)
    """Tokens of a text that are read."""
    keep: Literal["first", "last"] = "last"
    """Which tokens of a longer text: its beginning or its end."""
    ngrams: int = Field(1, ge=1, le=10)
    """Read words in a row, too, up to so many; for the kind ``bag``."""
    ngram_buckets: int = Field(2**18, ge=1, le=10_000_000)
    """Embeddings that words in a row share, by a hash of their letters; of effect with ``ngrams``
    of 2 or more."""


Pool = Literal["max", "mean", "last"]


class ClassifierConfig(Config):
    """The shape of a recurrent classifier."""

    kind: Literal["recurrent"] = "recurrent"
    """Which classifier this is."""
    embedding_width: int = Field(128, ge=1, le=65_536)
    """Features of a word; word vectors bring their own width."""
    layers: int = Field(2, ge=1, le=1000)
    """Recurrent layers, of gated units (Cho et al. 2014)."""
    width: int = Field(128, ge=1, le=65_536)
    """Features that each layer remembers."""
    pool: Pool = "max"
    """What a text is judged by: of every feature the largest value, or the mean, or the last."""
    embedding_dropout: float = Field(0.3, ge=0, le=0.99)
    """Probability of dropping a feature of a word."""
    dropout: float = Field(0.5, ge=0, le=0.99)
    """Probability of dropping a feature between layers, and of what a text is judged by."""
    frozen: bool = False
    """Leave word vectors as they were given; only with vectors."""


class BagConfig(Config):
    """The shape of a classifier by the mean of all words (fastText; Joulin et al. 2016)."""

    kind: Literal["bag"] = "bag"
    """Which classifier this is."""
    embedding_width: int = Field(32, ge=1, le=65_536)
    """Features of a word; word vectors bring their own width."""
    dropout: float = Field(0.3, ge=0, le=0.99)
    """Probability of dropping a feature of what a text is judged by."""


class EncoderClassifierConfig(Config):
    """The shape of a classifier that has the layers of a masked language model."""

    kind: Literal["encoder"] = "encoder"
    """Which classifier this is."""
    encoder: EncoderConfig = EncoderConfig()
    """That model's shape."""
    pool: Pool = "mean"
    """What a text is judged by: of every feature the largest value, or the mean, or the last."""
    dropout: float = Field(0.1, ge=0, le=0.99)
    """Probability of dropping a feature of what a text is judged by."""


ClassifierShape = Annotated[
    ClassifierConfig | BagConfig | EncoderClassifierConfig, Field(discriminator="kind")
]
"""The shape of any classifier, told apart by ``kind``."""


class ClassifierTrainingConfig(EpochTrainingConfig):
    """Settings of training."""

    epochs: int = Field(3, ge=1)
    """Passes over the texts; the best one on what is held out is kept."""
    rows: int = Field(64, ge=1)
    """Texts per update."""
    optimizer: OptimizerConfig = AdamW(beta2=0.999, epsilon=1e-8)
    """What turns gradients into updates."""
    schedule: ScheduleConfig = WarmupDecay(learning_rate=2e-3, shape="linear")
    """Learning rate by the step."""


class LearnClassifierConfig(Config):
    """A classifier: its shape, its tokens and its training."""

    text: TextConfig = TextConfig()
    """Settings of the tokens of a text."""
    model: Annotated[ClassifierConfig | BagConfig, Field(discriminator="kind")] = ClassifierConfig()
    """Its shape."""
    training: ClassifierTrainingConfig = ClassifierTrainingConfig()
    """How it learns."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the texts, drawn by chance, that the best epoch is chosen by."""
    seed: int = Field(1, ge=0)
    """Decides what is held out, initial weights, dropout and the order of texts."""

    @model_validator(mode="after")
    def _check(self) -> "LearnClassifierConfig":
        if self.text.ngrams > 1 and self.model.kind != "bag":
            raise ValueError(
                f"text.ngrams {self.text.ngrams} is for --kind bag; a recurrent classifier reads "
                f"words in their order anyway"
            )
        return self


BAG = LearnClassifierConfig(
    text=TextConfig(words=20_000, longest=2_000, ngrams=2, ngram_buckets=2**19),
    model=BagConfig(),
    training=ClassifierTrainingConfig(
        epochs=4, schedule=WarmupDecay(learning_rate=3e-3, shape="linear")
    ),
)
"""What a bag of words is and how it learns, by default."""


class FineTuneConfig(Config):
    """A classifier that starts from a masked language model, with its tokens and shape."""

    model: EncoderClassifierConfig = EncoderClassifierConfig()
    """Its shape; the encoder's is that of the language model, but for dropout."""
    initial_parts: list[Literal["embeddings", "layers"]] = Field(["embeddings", "layers"])
    """Which weights of the language model it starts from; chance draws the others."""
    training: ClassifierTrainingConfig = ClassifierTrainingConfig(
        epochs=10, rows=16, schedule=WarmupDecay(learning_rate=5e-4, warmup=0.1, shape="linear")
    )
    """How it learns."""
    held_out: float = Field(0.1, gt=0, lt=1)
    """Share of the texts, drawn by chance, that the best epoch is chosen by."""
    seed: int = Field(1, ge=0)
    """Decides what is held out, weights that are drawn, dropout and the order of texts."""
