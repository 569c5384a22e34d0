"""How a model is trained, as a person sets it; this file imports no torch.

Learning rates are pure functions of how far training is. ``step`` is the number of the update,
counted from 0; ``done``, from 0 to 1, the share of the budget that is used, the update included
where that is known before.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from nmt_core.base.config import Config

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


class InverseSquareRoot(Config):
    """Linear warm-up, then decay with the root of the step (Vaswani et al. 2017, section 5.3)."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    """The tag of this choice."""
    learning_rate: float = Field(1.5e-3, gt=0)
    """Highest learning rate, reached at the end of the warm-up."""
    warmup_steps: int = Field(400, ge=1)
    """Updates of linear warm-up."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of a step."""
        del done
        step += 1
        return self.learning_rate * min(
            step / self.warmup_steps, math.sqrt(self.warmup_steps / step)
        )


class WarmupDecay(Config):
    """Linear warm-up, then down to ``floor`` when the budget is used, along a cosine or a line."""

    kind: Literal["warmup_decay"] = "warmup_decay"
    """The tag of this choice."""
    learning_rate: float = Field(1.5e-3, gt=0)
    """Highest learning rate, reached at the end of the warm-up."""
    warmup: float = Field(0.05, gt=0, lt=1)
    """Share of the budget spent in linear warm-up."""
    shape: Literal["cosine", "linear"] = "cosine"
    """Shape of the decay."""
    floor: float = Field(0.0, ge=0, le=1)
    """Share of the peak that is left at the end."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate where a share of the budget is used."""
        del step
        if done <= self.warmup:
            return self.learning_rate * done / self.warmup
        fallen = (done - self.warmup) / (1 - self.warmup)
        left = (1 + math.cos(math.pi * fallen)) / 2 if self.shape == "cosine" else 1 - fallen
        return self.learning_rate * (self.floor + (1 - self.floor) * left)


class CosineRestarts(Config):
    """Cosine decay with warm restarts (Loshchilov and Hutter 2017)."""

    kind: Literal["cosine_restarts"] = "cosine_restarts"
    """The tag of this choice."""
    learning_rate: float = Field(0.02, gt=0)
    """Learning rate at the start of the first cycle (l0)."""
    first_steps: int = Field(500, ge=1)
    """Updates in the first cycle (T0)."""
    length_factor: float = Field(1.5, gt=0)
    """Ratio of the length of a cycle to that of the one before (t_mul)."""
    rate_factor: float = Field(0.8, gt=0)
    """Ratio of the start of a cycle to that of the one before (m_mul)."""
    floor: float = Field(0.01, ge=0, le=1)
    """Share of a cycle's first rate that is left at its end (alpha)."""

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of a step."""
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


VALIDATIONS = 12
"""Minimum number of updates in a budget of seconds."""

SHORTEST_SECONDS = 5.0
"""Between two of these, so that a training of some seconds does not validate most of its time."""


class Budget(Config):
    """Limits of training; null sets none. Training ends at the first limit it reaches."""

    steps: int | None = Field(None, ge=1)
    """Optimizer updates."""
    epochs: int | None = Field(None, ge=1)
    """Passes over the training pairs; these only end training, schedules do not see them."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens trained on, ends of sentences counted."""
    seconds: float | None = Field(None, gt=0)
    """Time spent in updates, without start-up, validation and checkpoints. A resumed training
    continues the clock. The end depends on the machine, so the result is not reproducible to the
    bit."""

    @model_validator(mode="after")
    def _check(self) -> "Budget":
        if not (self.ends_schedules or self.epochs):
            raise ValueError("set at least one of steps, epochs, tokens and seconds")
        return self

    @property
    def ends_schedules(self) -> bool:
        """True if a schedule can follow the share of the budget."""
        return any(limit is not None for limit in (self.steps, self.tokens, self.seconds))

    def done(self, *, steps: int, tokens: int, seconds: float) -> float:
        """Return the share that is used, from 0 to 1: the greatest among the limits set."""
        spent = ((steps, self.steps), (tokens, self.tokens), (seconds, self.seconds))
        shares = [used / limit for used, limit in spent if limit is not None]
        return min(1.0, max(shares, default=0.0))

    @property
    def validation_seconds(self) -> float:
        """Time spent in updates after which one is due again; without end where no clock ends it.

        How many updates a budget of seconds comes to is known to nobody beforehand, so validations
        that are counted in updates alone may be none but the last.
        """
        return max(self.seconds / VALIDATIONS, SHORTEST_SECONDS) if self.seconds else math.inf

    def is_spent(self, *, steps: int, tokens: int, seconds: float, epochs: int) -> bool:
        """Tell whether any limit is reached."""
        finished = self.epochs is not None and epochs >= self.epochs
        return finished or self.done(steps=steps, tokens=tokens, seconds=seconds) >= 1


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
