"""Stopping, resuming, choosing the best model and failing, for every objective."""

import signal
from functools import partial

import numpy as np
import pytest
import torch

from nmt_core.base.errors import NmtError
from nmt_core.extensions.classifiers.model import ClassifierObjective
from nmt_core.extensions.language_models.training import LanguageObjective
from nmt_core.training.checkpoint import CheckpointStore
from nmt_core.training.objective import TranslationObjective
from nmt_core.training.settings import EpochTrainingConfig
from tests.support import language_models, trainings
from tests.support.pairs import write_pairs
from tests.support.slow_cases import mark_slow
from tests.unit.extensions.classifiers import test_classifiers

LSTM, SCORES = language_models.LSTM, {"score": 1.0, "accuracy": 1.0}


def learn_translation(folder, *, epochs, patience, log):
    budget = trainings.Budget(steps=6 * epochs)
    how = {"budget": budget, "validate_every": 6, "patience": patience}
    dataset = write_pairs(folder / "pairs", longest=6)
    training = trainings.trainer(dataset, folder / "checkpoints", log, **how)
    return training, training.fit().history


def learn_language(folder, settings, *, log, **how):
    training = {"rows": 6, "window": 16, **how}
    dropped = {"dropout": 0.3, **settings}
    return language_models.learnt(folder, dropped, log=log, training=training)[1:]


LANGUAGES = {
    "stateful": LSTM,
    "gru": LSTM | {"cell": "gru", "layers": 2},
    "stateless": LSTM | {"stateful": False},
    "dropped": LSTM | {"state_dropout": 0.3, "input": "one_hot"},
    "stateless_dropped": LSTM | {"state_dropout": 0.3, "input": "one_hot", "stateful": False},
    "transformer": language_models.TRANSFORMER,
}
LEARNERS = {
    "translation": (TranslationObjective, learn_translation),
    **{n: (LanguageObjective, partial(learn_language, settings=s)) for n, s in LANGUAGES.items()},
    "recurrent": (ClassifierObjective, test_classifiers.learn),
}
LOWER = {
    "translation": ("the size of train.batching, ", "train.training.validation_sentences"),
    "stateful": ("training.rows or training.window", "the sizes of model"),
    "recurrent": ("training.rows or text.longest", "text.longest or the sizes"),
}
"""Advice when memory runs out, in an update and in a validation."""

every_learner = pytest.mark.parametrize("name", mark_slow(LEARNERS, but=LOWER))
every_kind = pytest.mark.parametrize("name", LOWER)


@pytest.fixture(autouse=True)
def _talkative(monkeypatch):
    """Report every update."""
    monkeypatch.setattr(EpochTrainingConfig, "log_every", 1)


def learn(name, folder, log=None, *, epochs=2, patience=None):
    """Train; return the weights of the best model, and the inputs of validations."""
    how = {"epochs": epochs, "patience": patience, "log": log or trainings.Log()}
    learnt, points = LEARNERS[name][1](folder, **how)
    return trainings.weights(learnt.model), points


class AsksToStop(trainings.Log):
    """A display that stops the training after a number of updates."""

    def step(self, *, step, **_):
        self.steps = step
        if step == self.cut_at:
            signal.raise_signal(signal.SIGTERM)


@every_learner
@pytest.mark.parametrize("stop", [AsksToStop, trainings.Log])
def test_stopping_and_resuming_is_training(name, tmp_path, stop):
    """Weights and validations are the same after a stop or a kill, also within an epoch."""
    whole = learn(name, tmp_path / "whole", log := AsksToStop())
    for at in range(1, log.steps - 1, 7):
        folder = tmp_path / str(at)
        with pytest.raises((SystemExit, trainings.PowerCut)):
            learn(name, folder, stop(at))
        checkpoint = CheckpointStore(folder / "checkpoints").newest()
        again = learn(name, folder, second := trainings.Log())

        if stop is AsksToStop:  # it validated then, or stopped after the next update
            assert checkpoint.progress["step"] in (at, at + 1)
        if checkpoint:
            assert second.notes == [f"continuing from step {checkpoint.progress['step']}"]
        assert again == whole


@every_kind
def test_best_model_is_kept_and_patience_ends_training(name, tmp_path, monkeypatch):
    """Of equal scores the first is best; dropout is off in validation and on again afterwards."""
    losses, measured, modes = iter([3.0, 2.0, 2.5, 2.0, 1.0]), [], []
    kind, _ = LEARNERS[name]
    compute_loss = kind.compute_loss

    def validate(self):
        modes.append("validation" if not self.model.training else "training")
        measured.append(trainings.weights(self.model))
        return next(losses), SCORES

    def watched(self, share, step):
        assert self.model.training
        return compute_loss(self, share, step)

    monkeypatch.setattr(kind, "validate", validate)
    monkeypatch.setattr(kind, "compute_loss", watched)
    best, points = learn(name, tmp_path, epochs=9, patience=2)

    assert [point.validation_loss for point in points] == [3.0, 2.0, 2.5, 2.0]
    assert modes == ["validation"] * 4
    assert best == measured[1]


@every_kind
@pytest.mark.parametrize("place", ["loss", "validation loss"])
def test_nan_loss_ends_training(name, tmp_path, monkeypatch, place):
    """The message names the settings to lower, and the previous checkpoint stays."""
    kind, _ = LEARNERS[name]
    compute_loss, validations = kind.compute_loss, iter([1.0, np.nan])

    def broken(self, share, step):
        loss, nats = compute_loss(self, share, step)
        return loss, nats * (np.nan if place == "loss" and step > 8 else 1)

    monkeypatch.setattr(kind, "compute_loss", broken)
    if place != "loss":
        monkeypatch.setattr(kind, "validate", lambda _: (next(validations), SCORES))
    with pytest.raises(NmtError, match=rf"the {place} is nan.* at step .*: lower train"):
        learn(name, tmp_path, epochs=3)

    assert CheckpointStore(tmp_path / "checkpoints").newest().progress["step"] > 0


@every_kind
@pytest.mark.parametrize("greedy", [lambda *_: torch.empty(2**60), lambda *_: np.empty(2**55)])
@pytest.mark.parametrize("where", ["compute_loss", "validate"])
def test_memory_error_names_its_place(name, tmp_path, monkeypatch, greedy, where):
    monkeypatch.setattr(LEARNERS[name][0], where, greedy)
    update, validation = LOWER[name]
    told = {
        "compute_loss": f"at step 1, in batch 1 of epoch 1.*: lower {update}",
        "validate": f"validating after step .*: lower {validation}",
    }
    with pytest.raises(NmtError, match=f"memory ran out {told[where]}"):
        learn(name, tmp_path)
