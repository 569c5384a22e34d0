"""Trainings of twelve updates, and an object that watches them."""

import torch

from nmt_core.base.compute import Compute
from nmt_core.data.batch import TrainingBatches, collate
from nmt_core.data.settings import TokenBatching
from nmt_core.training.checkpoint import CheckpointStore
from nmt_core.training.distributed import ALONE
from nmt_core.training.objective import TranslationObjective
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.settings import AdamW, Budget, NesterovSgd, TrainingConfig, WarmupDecay
from nmt_core.training.trainer import Trainer
from tests.support.presets import TARGET_SIZE, tiny_model

STEPS = 12
ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}
"""Memory of an update and a checkpoint grows with the number of weights, not with their size."""

PROCESSOR = Compute(torch.device("cpu"), torch.float32)
CLOCKS = ("train/seconds", "train/tokens_per_second")


class PowerCut(BaseException):
    """A power cut: no handler of ordinary errors catches it."""


class Log:
    """A tracker and a display in one; cuts the power after a number of updates."""

    def __init__(self, cut_at=None):
        self.cut_at = cut_at
        self.points = []
        self.notes = []

    def params(self, values): ...

    def artifact(self, path): ...

    def metrics(self, values, *, step):
        self.points.append((step, {n: v for n, v in values.items() if n not in CLOCKS}))

    def step(self, *, step, **_):
        if step == self.cut_at:
            raise PowerCut

    def validation(self, point, *, best): ...

    def note(self, sentence):
        self.notes.append(sentence)


def score(model):
    """Replaces BLEU by a number that depends on the weights."""
    return sum(weight.abs().sum().item() for weight in model.parameters())


def trainer(
    dataset,
    folder,
    log,
    *,
    name="transformer",
    optimizer=None,
    budget=None,
    accumulate=1,
    dropout=None,
    compute=PROCESSOR,
    dtype=torch.float32,
    world=ALONE,
    words=TARGET_SIZE,
    sample=None,
    mixture=None,
    seed=3,
    max_tokens=60,
    **changes,
):
    shape = ONE_LAYER if dropout is None else ONE_LAYER | {"dropout": dropout}
    model = tiny_model(name, seed=seed, words=words, **shape).to(compute.device, dtype)
    optimizer = optimizer or (NesterovSgd() if "article" in name else AdamW(weight_decay=0.01))
    settings = {"ema_decay": 0.9, "validate_every": 5, "log_every": 1, **changes}
    objective = TranslationObjective(
        model=model,
        compute=compute,
        config=TrainingConfig(**settings),
        seed=11,
        batches=TrainingBatches(dataset, TokenBatching(max_tokens=max_tokens), 5, sample, mixture),
        validation=[collate([dataset[n] for n in range(10)])],
        translate_and_score=score,
    )
    return Trainer(
        objective=objective,
        optimizer=build_optimizer(model, optimizer),
        schedule=WarmupDecay(learning_rate=1e-2, warmup=0.2),
        budget=budget or Budget(steps=STEPS),
        checkpoints=CheckpointStore(folder),
        display=log,
        tracker=log,
        accumulate=accumulate,
        world=world,
    )


def untimed(progress):
    """Return all of a checkpoint except what differs between any two trainings."""
    return progress.model_dump(mode="json", exclude={"seconds", "validated_seconds"})


def weights(model):
    return {name: value.cpu().numpy().tobytes() for name, value in model.state_dict().items()}
