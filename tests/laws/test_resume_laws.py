"""An interrupted and resumed training ends in the bytes of an uninterrupted one."""

import itertools

import pytest
import torch

from nmt_core.base.compute import Compute
from nmt_core.training.checkpoint import CheckpointStore
from nmt_core.training.settings import Budget, Muon, ScheduledSampling
from tests.support.presets import PRESETS
from tests.support.slow_cases import mark_slow
from tests.support.subword_pairs import KINDS, LINES, PIECES, drawn, write_lines
from tests.support.trainings import STEPS, Log, PowerCut, trainer, untimed, weights

FAMILIES = ("transformer", "convs2s", "rnn_plain")


@pytest.mark.parametrize("name", mark_slow(PRESETS, but=["transformer"]))
def test_resuming_is_continuing(dataset, tmp_path, name):
    """Interrupted at any step, also between checkpoints: weights, history, points are equal."""
    settings = {"name": name, "budget": Budget(steps=8), "validate_every": 3}
    whole = trainer(dataset, tmp_path / "whole", log := Log(), **settings)
    whole.fit()

    for cut_at in range(1, 8):
        folder = tmp_path / str(cut_at)
        with pytest.raises(PowerCut):
            trainer(dataset, folder, Log(cut_at), **settings).fit()
        again = trainer(dataset, folder, second := Log(), **settings)
        progress = again.fit()

        assert weights(whole.model) == weights(again.model)
        assert untimed(whole.progress) == untimed(progress)
        assert log.points[-len(second.points) :] == second.points


DRAWING = {
    "scheduled_sampling": ScheduledSampling(shape="linear", final=0.5),
    "sampled_softmax": 4,
    "label_smoothing": 0.0,
}
"""Scheduled sampling and sampled softmax draw by seed and step."""


@pytest.mark.parametrize(
    ("name", "settings", "cut_at"),
    [
        *(("rnn_attention", DRAWING, cut_at) for cut_at in (3, 5)),
        *((name, {"accumulate": 3}, 5) for name in FAMILIES),
        *((name, {"optimizer": Muon()}, 5) for name in FAMILIES),
    ],
)
def test_resuming_with_other_settings_is_continuing(dataset, tmp_path, name, settings, cut_at):
    settings = {"name": name, "budget": Budget(steps=7), "validate_every": 3, **settings}
    whole = trainer(dataset, tmp_path / "whole", Log(), **settings)
    whole.fit()
    with pytest.raises(PowerCut):
        trainer(dataset, tmp_path / "cut", Log(cut_at), **settings).fit()
    again = trainer(dataset, tmp_path / "cut", Log(), **settings)
    again.fit()

    assert weights(whole.model) == weights(again.model)


@pytest.mark.parametrize("accumulate", mark_slow([1, 3], but=[3]))
@pytest.mark.parametrize("kind", mark_slow(KINDS, but=["bpe_dropout"]))
def test_resuming_with_sampled_subwords_is_continuing(tmp_path, kind, accumulate):
    """It covers the first and later epochs, in one pass and in several."""
    pairs = write_lines(tmp_path / "pairs", kind, LINES[:12])
    settings = {"accumulate": accumulate, "words": PIECES, "sample": drawn(pairs, kind)}
    whole = trainer(pairs, tmp_path / "whole", log := Log(), **settings)
    whole.fit()
    for cut_at in (3, 9):
        folder = tmp_path / str(cut_at)
        with pytest.raises(PowerCut):
            trainer(pairs, folder, Log(cut_at), **settings).fit()
        again = trainer(pairs, folder, second := Log(), **settings)

        assert untimed(whole.progress) == untimed(again.fit())
        assert weights(whole.model) == weights(again.model)
        assert log.points[-len(second.points) :] == second.points
    without = trainer(pairs, tmp_path / "without", Log(), **settings | {"sample": None})
    without.fit()

    assert whole.progress.position.epoch > 1
    assert weights(whole.model) != weights(without.model)


def test_all_weights_learn_in_bfloat16_with_scheduled_sampling(dataset, tmp_path):
    """Rounded weights that were made without gradients are not reused with gradients."""
    drawing = {"scheduled_sampling": ScheduledSampling(shape="exponential", final=0.9)}
    training = trainer(dataset, tmp_path, Log(), ema_decay=0.0, **drawing)
    training.objective.compute = Compute(torch.device("cpu"), torch.bfloat16)
    before = weights(training.model)
    training.fit()

    assert all(before[name] != value for name, value in weights(training.model).items())


def test_finished_training_is_not_repeated(dataset, tmp_path):
    trainer(dataset, tmp_path, Log()).fit()
    again = trainer(dataset, tmp_path, log := Log())
    again.fit()

    assert log.points == []
    assert again.progress.step == STEPS


@pytest.mark.parametrize(
    ("steps", "scores", "best"), [(12, {10: 0.5, 12: 0.7}, 5), (8, {8: 3.0}, 8), (8, {8: 0.5}, 5)]
)
def test_lost_futures_best_model_is_ignored(dataset, tmp_path, steps, scores, best):
    """Interrupted between best model and checkpoint; then scores differ, or time is short."""
    seen = {}

    def scored(training, values):
        def score_and_remember(model):
            seen[training.progress.step] = weights(model)
            return values[training.progress.step]

        training.objective.translate_and_score = score_and_remember
        return training

    def save(checkpoint, *, step):
        if step == 10:
            raise PowerCut
        CheckpointStore.save(cut.checkpoints, checkpoint, step=step)

    cut = scored(trainer(dataset, tmp_path, Log()), {5: 1.0, 10: 2.0})
    cut.checkpoints.save = save
    with pytest.raises(PowerCut):
        cut.fit()
    again = scored(trainer(dataset, tmp_path, log := Log(), budget=Budget(steps=steps)), scores)
    progress = again.fit()

    assert (tmp_path / "best-00000010.json").exists() == (steps < 10)
    assert log.notes == ["continuing from step 5"]
    assert progress.best_step == best
    assert weights(again.model) == seen[best]


@pytest.mark.parametrize(("higher_is_better", "best"), [(True, 10), (False, 5)])
def test_best_score_is_the_highest_or_lowest(dataset, tmp_path, higher_is_better, best):
    """The metric determines the direction; the loss always falls."""
    training = trainer(dataset, tmp_path, log := Log(), budget=Budget(steps=15))
    training.objective.metric, training.objective.higher_is_better = "ter", higher_is_better
    scores = iter([30.0, 50.0, 40.0])
    training.objective.translate_and_score = lambda _: next(scores)
    progress = training.fit()

    assert progress.best_step == best
    assert [point.validation_scores["ter"] for point in progress.history] == [30.0, 50.0, 40.0]
    assert [*progress.history[0].row()][-1] == "validation_ter"
    told = [values["validation/ter"] for _, values in log.points if "validation/ter" in values]
    assert told == [30.0, 50.0, 40.0]


def test_epochs_end_training(dataset, tmp_path):
    progress = trainer(dataset, tmp_path, Log(), budget=Budget(steps=500, epochs=2)).fit()
    tokens = int((dataset.measure()[:, 1] + 1).sum())

    assert progress.target_tokens == 2 * tokens


def test_budget_of_tokens_resumes_to_the_bit(dataset, tmp_path):
    """The learning rate follows the tokens, which the checkpoint stores."""
    budget = Budget(tokens=600)
    whole = trainer(dataset, tmp_path / "whole", log := Log(), budget=budget)
    progress = whole.fit()
    *_, before_last, _ = [values for _, values in log.points if "train/target_tokens" in values]
    with pytest.raises(PowerCut):
        trainer(dataset, tmp_path / "cut", Log(progress.step - 1), budget=budget).fit()
    again = trainer(dataset, tmp_path / "cut", Log(), budget=budget)

    assert untimed(progress) == untimed(again.fit())
    assert weights(whole.model) == weights(again.model)
    assert before_last["train/target_tokens"] < 600 <= progress.target_tokens


def test_budget_of_seconds_continues_its_clock(dataset, tmp_path, monkeypatch):
    """Each reading of the clock takes a second: so does an update, and a validation takes none."""
    ticks = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    budget = Budget(seconds=8)
    with pytest.raises(PowerCut):
        trainer(dataset, tmp_path, Log(7), budget=budget).fit()
    again = trainer(dataset, tmp_path, Log(), budget=budget)
    progress = again.fit()

    assert (progress.step, progress.seconds) == (8, 8.0)
    assert [point.step for point in progress.history] == [5, 8]
    rates = [point.learning_rate for point in progress.history]
    assert rates == [again.schedule.rate(0, seconds / 8) for seconds in (4, 7)]


@pytest.mark.parametrize("cut_at", [None, 7])
def test_budget_of_seconds_has_a_dozen_validations(dataset, tmp_path, monkeypatch, cut_at):
    """They are at the same seconds after any interruption; an update takes five seconds here."""
    ticks = itertools.count(step=5)
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    settings = {"budget": Budget(seconds=120), "validate_every": 10**6, "log_every": 1}
    if cut_at:
        with pytest.raises(PowerCut):
            trainer(dataset, tmp_path, Log(cut_at), **settings).fit()
    progress = trainer(dataset, tmp_path, Log(), **settings).fit()

    assert [point.step for point in progress.history] == [*range(2, 25, 2)]
    assert [point["step"] for point in progress.curve] == [*range(1, 25)]
    assert all(point["loss"] > 0 for point in progress.curve)


def test_damage_is_reported_and_the_previous_checkpoint_used(dataset, tmp_path):
    whole = trainer(dataset, tmp_path / "whole", Log())
    whole.fit()
    with pytest.raises(PowerCut):
        trainer(dataset, tmp_path / "cut", Log(11)).fit()
    [newest] = (tmp_path / "cut").glob("step-*10.safetensors")
    newest.write_bytes(b"rubbish")
    again = trainer(dataset, tmp_path / "cut", log := Log())
    again.fit()

    assert weights(whole.model) == weights(again.model)
    assert "step-00000010.safetensors was altered since it was written" in log.notes[0]
    assert "continuing from step 5" in log.notes[1]
