"""Settings of training; this file imports no torch.

Learning rates are functions of ``step``, the number of the update counted from 0, and of ``done``,
the spent share of the budget from 0 to 1. ``done`` includes the update itself, except for a budget
in seconds.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config

Normalization = Literal["token", "sentence"]
ModelPart = Literal["embeddings", "encoder", "decoder"]
"""A part of a model; the output layer belongs to the embeddings."""

STEEPNESS = 10.0
"""Steepness of the inverse sigmoid; half of its rise is in the middle fifth of training."""


class ComputeConfig(Config):
    """Device, precision and threads."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device to compute on; auto uses a GPU if there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Type of matrix products; auto uses bfloat16 if it is faster on the device. Weights, sums and
    the optimizer stay in float32."""
    threads: int = Field(0, ge=0, le=4096)
    """CPU threads of each process; 0 divides all threads among the processes. The last bits of
    results depend on it."""


class WorldConfig(ComputeConfig):
    """Device, precision and number of processes."""

    processes: int = Field(1, ge=1, le=4096)
    """Processes on this machine that share every batch, each on its own GPU if there are GPUs.
    Under torchrun, as on several machines, torchrun's number of processes counts instead."""
    accumulate: int = Field(1, ge=1, le=1_000_000)
    """Gradient accumulation: passes in which a process reads its share of a batch, to save memory.
    The update is the same as with this many times more processes. Raised if memory runs out."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Seconds to wait for a process that does not answer, before training ends."""


class AdamW(Config):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""

    kind: Literal["adamw"] = "adamw"
    """Selects these settings."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the running average of gradients."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay of the running average of squared gradients."""
    epsilon: float = Field(1e-9, gt=0)
    """Term added to the denominator for numerical stability."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of matrices, multiplied by the learning rate; vectors have no decay."""


class Muon(AdamW):
    """Muon (Jordan et al. 2024) for the matrices inside layers, AdamW for all other weights.

    Muon orthogonalizes the averaged gradient of a matrix, so that all directions are learned
    equally fast. It needs half as many updates, but each costs more: use larger batches.
    """

    kind: Literal["muon"] = "muon"  # type: ignore[assignment]
    """Selects these settings."""
    momentum: float = Field(0.95, ge=0, lt=1)
    """Momentum of matrices."""
    orthogonal_steps: int = Field(3, ge=1, le=20)
    """Newton-Schulz iterations; more are more accurate and slower."""
    matrix_rate: float = Field(2.0, gt=0)
    """Size of the updates of matrices, relative to AdamW's updates."""


class NesterovSgd(Config):
    """Stochastic gradient descent with Nesterov momentum (van der Goten 2018)."""

    kind: Literal["nesterov"] = "nesterov"
    """Selects these settings."""
    momentum: float = Field(0.9, gt=0, lt=1)
    """Nesterov momentum."""


OptimizerConfig = Annotated[AdamW | Muon | NesterovSgd, Field(discriminator="kind")]


class ScheduledSampling(Config):
    """How often the decoder reads its own prediction instead of the reference word."""

    shape: Literal["none", "linear", "exponential", "inverse_sigmoid"] = "none"
    """Curve along which the probability of a prediction rises from 0 to ``final``; ``none`` turns
    scheduled sampling off. Predictions are drawn position by position, which makes a step on a CPU
    about 1.5 times as long."""
    final: float = Field(0.25, ge=0, lt=1)
    """Probability of a prediction at the end of training; values above 0.5 rarely help."""
    choose: Literal["sample", "best"] = "sample"
    """Draw the prediction from the model's distribution, or use the most probable word."""

    def probability(self, done: float) -> float:
        """Return the probability of a prediction after a share ``done`` of training."""
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
    """Updates between two validations; a checkpoint follows each validation. With a budget in
    seconds, training also validates after each twelfth of the budget."""
    log_every: int = Field(50, ge=1)
    """Updates between two points of the training curve."""
    patience: int | None = Field(None, ge=1)
    """Early stopping: validations without improvement before training stops; null turns it off."""
    select_by: str = "bleu"
    """Criterion for the best checkpoint: the name of a metric of greedy translations, or ``loss``
    for the validation loss."""
    validation_sentences: int = Field(500, ge=1, le=1_000_000)
    """Number of validation pairs to translate and score; the loss is measured on all pairs."""
    max_gradient_norm: float | None = Field(1.0, gt=0)
    """L2 norm to which gradients are clipped; null turns clipping off (van der Goten 2018)."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability mass that is spread evenly over the vocabulary."""
    sampled_softmax: int = Field(0, ge=0, le=1_000_000)
    """Sampled softmax for vocabularies of many tens of thousands of words: number of words, besides
    the labels, from which the training loss is estimated; 0 turns it off. The validation loss is
    never estimated, so the two losses are not comparable."""
    scheduled_sampling: ScheduledSampling = ScheduledSampling()
    """How often the decoder reads its own predictions in training."""
    normalize_loss: Normalization = "token"
    """Average the loss per token, or per sentence (van der Goten 2018)."""
    ema_decay: float = Field(0.0, ge=0, lt=1)
    """Decay per update of an exponential moving average of the weights, which is validated and
    saved; 0 turns averaging off."""

    @model_validator(mode="after")
    def _check(self) -> "TrainingConfig":
        if self.sampled_softmax and self.label_smoothing:
            raise ValueError(
                f"sampled_softmax cannot be combined with label_smoothing {self.label_smoothing}; "
                f"set one of them to 0"
            )
        return self


class InverseSquareRoot(Config):
    """Linear warm-up, then inverse square root decay (Vaswani et al. 2017, section 5.3)."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    """Selects these settings."""
    learning_rate: float = Field(1.5e-3, gt=0)
    """Maximum learning rate, at the end of the warm-up."""
    warmup_steps: int = Field(400, ge=1)
    """Updates of linear warm-up."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of update ``step``."""
        del done
        step += 1
        return self.learning_rate * min(
            step / self.warmup_steps, math.sqrt(self.warmup_steps / step)
        )


class WarmupDecay(Config):
    """Linear warm-up, then cosine or linear decay to ``floor`` at the end of the budget."""

    kind: Literal["warmup_decay"] = "warmup_decay"
    """Selects these settings."""
    learning_rate: float = Field(1.5e-3, gt=0)
    """Maximum learning rate, at the end of the warm-up."""
    warmup: float = Field(0.05, gt=0, lt=1)
    """Share of the budget for linear warm-up."""
    shape: Literal["cosine", "linear"] = "cosine"
    """Shape of the decay."""
    floor: float = Field(0.0, ge=0, le=1)
    """Final learning rate as a share of the maximum."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate after a share ``done`` of the budget."""
        del step
        if done <= self.warmup:
            return self.learning_rate * done / self.warmup
        passed = (done - self.warmup) / (1 - self.warmup)
        factor = (1 + math.cos(math.pi * passed)) / 2 if self.shape == "cosine" else 1 - passed
        return self.learning_rate * (self.floor + (1 - self.floor) * factor)


class CosineRestarts(Config):
    """Cosine decay with warm restarts (Loshchilov and Hutter 2017)."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    """Selects these settings."""
    learning_rate: float = Field(0.02, gt=0)
    """Learning rate at the start of the first cycle (l0)."""
    first_steps: int = Field(500, ge=1)
    """Updates in the first cycle (T0)."""
    length_factor: float = Field(1.5, gt=0)
    """Ratio between the lengths of a cycle and of the previous cycle (t_mul)."""
    rate_factor: float = Field(0.8, gt=0)
    """Ratio between the initial learning rates of a cycle and of the previous cycle (m_mul)."""
    floor: float = Field(0.01, ge=0, le=1)
    """Final learning rate of a cycle as a share of its initial learning rate (alpha)."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of update ``step``."""
        del done
        cycle, begin, length = 0, 0.0, float(self.first_steps)
        while step >= begin + length and length >= 1:
            begin, length, cycle = begin + length, length * self.length_factor, cycle + 1
        passed = min(1.0, (step - begin) / max(length, 1.0))
        start = self.learning_rate * self.rate_factor**cycle
        return start * (self.floor + (1 - self.floor) * (1 + math.cos(math.pi * passed)) / 2)


ScheduleConfig = Annotated[
    InverseSquareRoot | WarmupDecay | CosineRestarts, Field(discriminator="kind")
]

MIN_VALIDATIONS = 12
"""Minimum number of validations within a budget in seconds."""

MIN_VALIDATION_SECONDS = 5.0
"""Minimum time of updates between two of these validations, in seconds."""


class Budget(Config):
    """Limits of training; null means no limit. Training ends at the first limit that it reaches."""

    steps: int | None = Field(None, ge=1)
    """Optimizer updates."""
    epochs: int | None = Field(None, ge=1)
    """Passes over the training pairs; schedules ignore this limit."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens trained on, EOS included."""
    seconds: float | None = Field(None, gt=0)
    """Seconds spent in updates, without start-up, validation and checkpoints. A resumed training
    continues the count. Results are not exactly reproducible."""

    @model_validator(mode="after")
    def _check(self) -> "Budget":
        if not (self.ends_schedules or self.epochs):
            raise ValueError("the budget has no limit; set steps, epochs, tokens or seconds")
        return self

    @property
    def ends_schedules(self) -> bool:
        """Whether a limit is set from which schedules compute ``done``."""
        return any(limit is not None for limit in (self.steps, self.tokens, self.seconds))

    def done(self, *, steps: int, tokens: int, seconds: float) -> float:
        """Return the spent share, from 0 to 1: the maximum over the limits but ``epochs``."""
        spent = ((steps, self.steps), (tokens, self.tokens), (seconds, self.seconds))
        shares = [used / limit for used, limit in spent if limit is not None]
        return min(1.0, max(shares, default=0.0))

    @property
    def validation_seconds(self) -> float:
        """Seconds of updates between two validations; infinite without a budget in seconds.

        The number of updates in such a budget is unknown, so counting updates alone might lead to
        no validation before the end.
        """
        return (
            max(self.seconds / MIN_VALIDATIONS, MIN_VALIDATION_SECONDS)
            if self.seconds
            else math.inf
        )

    def is_spent(self, *, steps: int, tokens: int, seconds: float, epochs: int) -> bool:
        """Return whether any limit is reached."""
        finished = self.epochs is not None and epochs >= self.epochs
        return finished or self.done(steps=steps, tokens=tokens, seconds=seconds) >= 1


class EpochTrainingConfig(Config):
    """Settings of training by epochs, with a validation after each epoch."""

    validate_every: ClassVar[None] = None
    log_every: ClassVar[int] = 20
    ema_decay: ClassVar[float] = 0.0

    epochs: int = Field(10, ge=1)
    """Passes over the text; the best model is kept."""
    rows: int = Field(32, ge=1)
    """Windows, streams, lines or texts per update."""
    optimizer: OptimizerConfig = AdamW()
    """The optimizer."""
    schedule: ScheduleConfig = WarmupDecay()
    """Learning rate schedule."""
    max_gradient_norm: float = Field(1.0, gt=0)
    """L2 norm to which gradients are clipped."""
    patience: int | None = Field(None, ge=1)
    """Early stopping: epochs without improvement before training stops; null turns it off."""
    compute: ComputeConfig = ComputeConfig()
    """Device, precision and threads."""
