"""Updates, validations and choices, compared with computations by hand."""

import math
from dataclasses import replace
from itertools import islice, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nmt_core.base.errors import BundleError
from nmt_core.base.random import derive_seed
from nmt_core.data.batch import Position, collate
from nmt_core.data.settings import BucketBatching, TokenBatching
from nmt_core.training import objective as module
from nmt_core.training.loss import measure_predictions
from nmt_core.training.optimizer import build_optimizer
from nmt_core.training.settings import Budget, NesterovSgd, ScheduledSampling, WarmupDecay
from tests.support import trainings


class Watch(trainings.Log):
    """Record, for each update, the reported and the used learning rate, and the weights."""

    def __init__(self):
        super().__init__()
        self.told, self.used, self.weights = [], [], []

    def step(self, *, learning_rate, **_):
        self.told.append(learning_rate)
        self.used += {group["lr"] for group in self.training.optimizer.param_groups}
        self.weights.append([w.detach().clone() for w in self.training.model.parameters()])


def watched(dataset, folder, **settings):
    training = trainings.trainer(dataset, folder, watch := Watch(), **settings)
    watch.training = training
    return training, watch


def test_learning_rate_of_an_update_includes_the_update(dataset, tmp_path):
    """The rate of the first update is not zero, and the last is that of the budget's end."""
    training, watch = watched(dataset, tmp_path, budget=Budget(steps=4))
    training.schedule = WarmupDecay(learning_rate=1.0, warmup=0.5, shape="linear", floor=0.25)
    training.fit()

    assert watch.told == watch.used == [0.5, 1.0, 0.625, 0.25]


def test_validation_changes_no_weight(dataset, tmp_path):
    """It uses the averages of the weights, which training does not."""
    often, other = (
        watched(dataset, tmp_path / str(every), validate_every=every) for every in (2, 100)
    )
    often[0].fit()
    other[0].fit()

    for one, two in zip(often[1].weights, other[1].weights, strict=True):
        assert all(map(torch.equal, one, two))


def test_validated_weights_average_all_updates(dataset, tmp_path):
    """The previous average has weight 0.9, and less at the start, to forget the random weights."""
    training, watch = watched(dataset, tmp_path, validate_every=4)
    average = [weight.detach().clone() for weight in training.model.parameters()]
    seen = []

    def remember(model):
        seen.append([weight.detach().clone() for weight in model.parameters()])
        return 0.0

    training.objective.translate_and_score = remember
    training.fit()
    expected = []
    for number, weights in enumerate(watch.weights):
        decay = min(0.9, (1 + number) / (10 + number))
        average = [decay * a + (1 - decay) * w for a, w in zip(average, weights, strict=True)]
        if (number + 1) % 4 == 0:
            expected.append(average)

    for one, two in zip(expected, seen, strict=True):
        for weight, other in zip(one, two, strict=True):
            torch.testing.assert_close(weight, other)


def test_gradients_are_clipped(dataset, tmp_path):
    """For any loss, an update of SGD moves the weights by at most its rate."""
    training, watch = watched(
        dataset, tmp_path, budget=Budget(steps=1), max_gradient_norm=0.01, ema_decay=0.0
    )
    training.optimizer = build_optimizer(training.model, NesterovSgd(momentum=0.5))
    training.schedule = WarmupDecay(learning_rate=0.5, warmup=0.5, floor=1.0)
    before = [weight.detach().clone() for weight in training.model.parameters()]
    training.fit()
    [after] = watch.weights
    moved = torch.cat([(a - b).flatten() for a, b in zip(after, before, strict=True)]).norm()

    rate_with_momentum = 0.5 * (1 + 0.5)
    assert moved.item() == pytest.approx(rate_with_momentum * 0.01, rel=1e-3)


def test_training_loss_covers_updates_since_the_last_point(dataset, tmp_path, monkeypatch):
    seen = []
    batch_loss = module.batch_loss

    def remembered(model, batch, **settings):
        loss, plain = batch_loss(model, batch, **settings)
        seen.append((plain.item(), batch.target_tokens))
        return loss, plain

    monkeypatch.setattr(module, "batch_loss", remembered)
    log = trainings.Log()
    history = trainings.trainer(dataset, tmp_path, log, log_every=4).fit().history
    logged = [values["train/loss"] for _, values in log.points if "train/loss" in values]
    fours = [np.array(seen[begin : begin + 4]).sum(axis=0) for begin in (0, 4, 8)]
    parts = [np.array(seen[begin:end]).sum(axis=0) for begin, end in ((0, 5), (5, 10), (10, 12))]

    assert [point.train_loss for point in history] == pytest.approx([n / t for n, t in parts])
    assert logged == pytest.approx([nats / tokens for nats, tokens in fours])


def test_lower_loss_is_better(dataset, tmp_path):
    training = trainings.trainer(
        dataset, tmp_path, trainings.Log(), select_by="loss", validate_every=2
    )
    losses = iter([3.0, 1.0, 2.0, 1.5, 1.0, 4.0])
    training.objective.validate = lambda: (next(losses), {"score": 0.0})

    assert training.fit().best_step == 4


def test_validation_reports_token_accuracy(dataset, tmp_path):
    """It is shown in the terminal and in MLflow (Vahid 2017: ``--metrics perplexity accuracy``)."""
    log, shown = trainings.Log(), []
    log.validation = lambda point, **_: shown.append(point)
    training = trainings.trainer(dataset, tmp_path, log)
    last = training.fit().history[-1]
    found = measure_predictions(training.model.eval(), training.objective.validation)
    told = next(values for _, values in reversed(log.points) if "validation/loss" in values)
    loss, accuracy = found
    by_name = {"loss": loss, "perplexity": math.exp(loss), "token_accuracy": accuracy}

    assert training.progress.best_step == last.step
    assert 0 < accuracy < 100
    for name, value in by_name.items():
        assert last.row()[f"validation_{name}"] == pytest.approx(value)
        assert shown[-1][f"validation_{name}"] == pytest.approx(value)
        assert told[f"validation/{name}"] == pytest.approx(value)


def test_error_in_a_prefetched_batch_ends_training(dataset, tmp_path):
    """The error is raised when the batch is used, not before."""
    training = trainings.trainer(dataset, tmp_path, trainings.Log(), validate_every=100)
    shares = list(islice(training.objective.batches.start_from(Position()), 3))

    def broken(*_, **__):
        yield from shares
        raise BundleError("shard 3 is cut off")

    training.objective.batches = SimpleNamespace(
        config=training.objective.batches.config, start_from=broken
    )
    with pytest.raises(BundleError, match="shard 3 is cut off"):
        training.fit()
    assert training.progress.step == 3


@pytest.mark.parametrize("config", [TokenBatching(max_tokens=20), BucketBatching(batch_size=9)])
@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_infinite_updates_are_skipped(dataset, tmp_path, monkeypatch, config, number):
    """The weights stay, and the batch is named."""
    log = trainings.Log()
    training = trainings.trainer(dataset, tmp_path, log, validate_every=100)
    training.objective.batches = replace(training.objective.batches, config=config)
    shares = training.objective.batches.start_from(Position())
    sixth = [next(shares) for _ in range(6)][-1]
    batch_loss, before = module.batch_loss, []

    def compute_loss(model, batch, **settings):
        before.append(trainings.weights(model))
        loss, plain = batch_loss(model, batch, **settings)
        return loss * (number if len(before) == 6 else 1), plain

    monkeypatch.setattr(module, "batch_loss", compute_loss)
    progress, numbers = training.fit(), sixth.pairs
    named = ", ".join(map(str, numbers[:5]))

    assert torch.equal(collate([dataset[n] for n in numbers]).source, sixth.batch.source)
    assert f" at step 6, in batch 6 of epoch 1 (training pairs {named}" in log.notes[0]
    assert (f" and {len(numbers) - 5} more)" in log.notes[0]) == (len(numbers) > 5)
    assert [a == b for a, b in pairwise(before)].index(True) == 5
    assert (progress.step, progress.skipped) == (trainings.STEPS, 1)


@pytest.mark.parametrize(
    "settings",
    [
        {"label_smoothing": 0.2},
        {"label_smoothing": 0.0, "sampled_softmax": 4, "normalize_loss": "sentence"},
    ],
)
def test_update_follows_the_settings(dataset, tmp_path, monkeypatch, settings):
    """It covers loss, draws and modes: dropout is on in updates, and off in validations."""
    updates, shares, validations = [], [], []
    batch_loss, with_own_words = module.batch_loss, module.replace_with_predictions
    measure_predictions = module.measure_predictions

    def loss(model, batch, *, estimate, **given):
        sampled = {"estimate": estimate and estimate.keywords}
        modes = {"training": model.training, "seed": torch.initial_seed()}
        updates.append(given | sampled | modes)
        return batch_loss(model, batch, estimate=estimate, **given)

    def own_words(model, batch, config, done):
        shares.append((config, done))
        return with_own_words(model, batch, config, done)

    def measure(model, batches):
        validations.append(model.training)
        return measure_predictions(model, batches)

    for name, spy in (
        ("batch_loss", loss),
        ("replace_with_predictions", own_words),
        ("measure_predictions", measure),
    ):
        monkeypatch.setattr(module, name, spy)
    sampling = ScheduledSampling(shape="linear", final=0.5)
    training = trainings.trainer(
        dataset, tmp_path, trainings.Log(), scheduled_sampling=sampling, **settings
    )
    training.objective.translate_and_score = lambda model: validations.append(model.training) or 0.0
    training.fit()
    words = settings.get("sampled_softmax")

    assert validations == [False] * 6
    assert shares == [(sampling, (step + 1) / trainings.STEPS) for step in range(trainings.STEPS)]
    assert updates == [
        {
            "label_smoothing": settings["label_smoothing"],
            "per": settings.get("normalize_loss", "token"),
            "estimate": {"words": words, "seed": 11, "step": step} if words else None,
            "training": True,
            "seed": derive_seed(11, "dropout", step),
        }
        for step in range(trainings.STEPS)
    ]
