"""How a model is trained, as a person sets it; this file imports no torch."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config
from nmt_core.training.schedule import ScheduleConfig, WarmupDecay

Normalization = Literal["token", "sentence"]
ModelPart = Literal["embeddings", "encoder", "decoder"]
"""Of a model; the output is one of its embeddings."""


STEEPNESS = 10.0
"""Of the inverse sigmoid: the middle fifth of training sees half of its rise."""


class ComputeConfig(Config):
    """Device, precision and threads."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto takes a GPU if there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of matrix products; auto takes bfloat16 where the processor multiplies it faster.
    Weights, sums and the optimizer stay in float32."""
    threads: int = Field(0, ge=0, le=4096)
    """Processor threads of each process; 0 shares all among them. Results depend on it in the last
    bits."""


class WorldConfig(ComputeConfig):
    """Device, precision and number of processes."""

    processes: int = Field(1, ge=1, le=4096)
    """Processes on this machine that share every batch; each has a GPU of its own, if there are
    GPUs. Under torchrun, as on several machines, torchrun's own number counts instead."""
    accumulate: int = Field(1, ge=1, le=1_000_000)
    """Gradient accumulation: a process reads its part of a batch in this many passes, which takes
    less memory. The update is that of this many times more processes. If memory still runs out,
    the batch is read in more passes."""
    timeout_seconds: float = Field(300.0, gt=0)
    """How long processes wait for one that does not answer, before training ends."""


class AdamW(Config):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    kind: Literal["adamw"] = "adamw"
    """The tag of this choice."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the gradient's mean."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay of the gradient's square."""
    epsilon: float = Field(1e-9, gt=0)
    """Keeps the division finite."""
    weight_decay: float = Field(0.0, ge=0)
    """Share of a matrix taken off per update and unit of learning rate; biases keep theirs."""


class Muon(AdamW):
    """Muon (Jordan et al. 2024) for the matrices inside layers, AdamW for everything else.

    The mean gradient of a matrix is made orthogonal, so that all its directions are learnt equally
    fast. It takes about half as many updates, of which each costs more: batches should be larger.
    """

    kind: Literal["muon"] = "muon"  # type: ignore[assignment]
    """The tag of this choice."""
    momentum: float = Field(0.95, ge=0, lt=1)
    """Share of the last update of a matrix that is kept."""
    orthogonal_steps: int = Field(3, ge=1, le=20)
    """Steps of the iteration that makes a matrix orthogonal; more are closer to it, and slower."""
    matrix_rate: float = Field(2.0, gt=0)
    """Size of the updates of matrices, in those that AdamW would make."""


class NesterovSgd(Config):
    """Stochastic gradient descent with Nesterov momentum (van der Goten 2018)."""

    kind: Literal["nesterov"] = "nesterov"
    """The tag of this choice."""
    momentum: float = Field(0.9, gt=0, lt=1)
    """Share of the last update that is kept."""


OptimizerConfig = Annotated[AdamW | Muon | NesterovSgd, Field(discriminator="kind")]


class ScheduledSampling(Config):
    """How often the decoder reads its own word instead of the reference's."""

    shape: Literal["none", "linear", "exponential", "inverse_sigmoid"] = "none"
    """How the probability rises from 0 at the start of training to ``final`` at its end: along a
    line; so that the reference's decays exponentially; or along an S. None is off. Drawing goes
    position by position, which makes a step on a CPU about 1.5 times as long."""
    final: float = Field(0.25, ge=0, lt=1)
    """Probability of reading its own word at the end of training; more than a half rarely helps."""
    choose: Literal["sample", "best"] = "sample"
    """Draw the model's own word from its distribution, or take its most probable one."""

    def probability(self, done: float) -> float:
        """Return the probability of an own word where a share ``done`` of training is done."""
        match self.shape:
            case "none":
                return 0.0
            case "linear":
                return self.final * done
            case "exponential":
                return 1 - (1 - self.final) ** done
            case "inverse_sigmoid":
                edge = math.tanh(STEEPNESS / 4)
                return self.final * (1 + math.tanh(STEEPNESS / 2 * (done - 0.5)) / edge) / 2


class TrainingConfig(Config):
    """Loss, validation and stopping."""

    validate_every: int = Field(1000, ge=1)
    """Updates between two validations, each followed by a checkpoint. With a budget of seconds,
    training also validates after each twelfth of it."""
    log_every: int = Field(50, ge=1)
    """Updates between two points of the training curve."""
    patience: int | None = Field(None, ge=1)
    """Validations without improvement after which to stop; null never stops early."""
    select_by: str = "bleu"
    """Criterion for the best checkpoint: the name of a metric of greedy translations, or ``loss``
    for the validation loss."""
    validation_sentences: int = Field(500, ge=1, le=1_000_000)
    """Validation pairs that are translated and scored; the loss is measured on all."""
    max_gradient_norm: float | None = Field(1.0, gt=0)
    """L2 norm to which gradients are clipped; null clips none (van der Goten 2018)."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability mass spread evenly over the vocabulary."""
    sampled_softmax: int = Field(0, ge=0, le=1_000_000)
    """Words, beside the right ones, from which the training loss is estimated; 0 takes them all.
    For vocabularies of many tens of thousands of words. Validation always computes the full loss,
    so the two losses cannot be compared."""
    scheduled_sampling: ScheduledSampling = ScheduledSampling()
    """How often the decoder reads its own words while it learns."""
    normalize_loss: Normalization = "token"
    """Average the loss per token, or per sentence (van der Goten 2018)."""
    ema_decay: float = Field(0.0, ge=0, lt=1)
    """Decay per update of a moving average of the weights, which is what is validated and kept;
    0 keeps the weights themselves."""

    @model_validator(mode="after")
    def _check(self) -> "TrainingConfig":
        if self.sampled_softmax and self.label_smoothing:
            raise ValueError(
                f"label_smoothing {self.label_smoothing} needs the whole vocabulary; set it to 0, "
                f"or sampled_softmax to 0"
            )
        return self


class EpochTrainingConfig(Config):
    """Settings of training by epochs, each followed by a validation."""

    validate_every: ClassVar[None] = None
    log_every: ClassVar[int] = 20
    ema_decay: ClassVar[float] = 0.0

    epochs: int = Field(10, ge=1)
    """Passes over the text, of which the best one is kept."""
    rows: int = Field(32, ge=1)
    """Windows, streams, lines or texts per update."""
    optimizer: OptimizerConfig = AdamW()
    """What turns gradients into updates."""
    schedule: ScheduleConfig = WarmupDecay()
    """Learning rate by the step."""
    max_gradient_norm: float = Field(1.0, gt=0)
    """L2 norm to which gradients are clipped."""
    patience: int | None = Field(None, ge=1)
    """Epochs that are no better, after which to stop; null never stops early."""
    compute: ComputeConfig = ComputeConfig()
    """Where and how precisely to compute."""
