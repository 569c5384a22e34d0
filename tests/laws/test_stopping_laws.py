"""A training that is asked to stop saves its state, for any kind of stop."""

import signal

import pytest

from nmt_core.base import interrupt as module
from nmt_core.training.checkpoint import CheckpointStore, adopt_checkpoint
from nmt_core.training.settings import Budget, CosineRestarts, InverseSquareRoot
from tests.support import trainings
from tests.support.slow_cases import mark_slow

pytestmark = pytest.mark.usefixtures("heard")


class Asks(trainings.Log):
    """Send signals to this process after the third update."""

    def __init__(self, *signals, between=lambda: None):
        super().__init__()
        self.signals = signals
        self.between = between

    def step(self, *, step, **_):
        if step == 3:
            for number in self.signals:
                signal.raise_signal(number)
                self.between()


@pytest.mark.parametrize(
    "signals",
    [
        (signal.SIGTERM,),
        (signal.SIGHUP,),
        (signal.SIGINT,),
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGHUP, signal.SIGTERM),
    ],
)
def test_any_stop_signal_saves(dataset, tmp_path, signals):
    """Some programs forward a Ctrl-C that their children have received already."""
    before = [signal.getsignal(number) for number in module.STOP_SIGNALS]
    training = trainings.trainer(dataset, tmp_path, Asks(*signals))
    with pytest.raises(SystemExit) as stopped:
        training.fit()

    assert stopped.value.code == 128 + signals[0]
    assert training.checkpoints.newest().progress["step"] == 4  # the next update
    assert before == [signal.getsignal(number) for number in module.STOP_SIGNALS]


def test_stopping_between_reports_is_continuing(dataset, tmp_path):
    """The checkpoint includes the loss of updates that were not reported yet."""
    settings = {"log_every": 3, "validate_every": 6}
    whole = trainings.trainer(dataset, tmp_path / "whole", trainings.Log(), **settings).fit()
    with pytest.raises(SystemExit):
        trainings.trainer(dataset, tmp_path / "cut", Asks(signal.SIGTERM), **settings).fit()
    again = trainings.trainer(dataset, tmp_path / "cut", trainings.Log(), **settings).fit()

    assert trainings.untimed(again) == trainings.untimed(whole)


def test_second_signal_ends_at_once(dataset, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])

    def wait():
        now[0] += 1.1

    asks = Asks(signal.SIGINT, signal.SIGINT, between=wait)
    training = trainings.trainer(dataset, tmp_path, asks)
    with pytest.raises(KeyboardInterrupt):
        training.fit()

    assert training.checkpoints.newest() is None


def test_ignored_signals_stay_ignored(dataset, tmp_path, monkeypatch):
    """nohup sets such signals."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        progress = trainings.trainer(dataset, tmp_path, Asks(signal.SIGHUP)).fit()
    finally:
        signal.signal(signal.SIGHUP, before)

    assert progress.step == trainings.STEPS


EVERY = 3
SCHEDULES = {
    "inverse_sqrt": InverseSquareRoot(learning_rate=1e-2, warmup_steps=4),
    "cosine_restarts": CosineRestarts(learning_rate=1e-2, first_steps=4),
}


def trainer(dataset, folder, budget, *, log=None, schedule="inverse_sqrt", scores=None, **changes):
    """A training; ``scores`` are those of its validations, by step."""
    made = trainings.trainer(
        dataset, folder, log or trainings.Log(), budget=budget, validate_every=EVERY, **changes
    )
    made.schedule = SCHEDULES[schedule]
    if scores:
        made.objective.translate_and_score = lambda _: scores[made.progress.step]
    return made


def prolonged(folder, *others, budget):
    stores = [CheckpointStore(other) for other in others]
    return adopt_checkpoint(CheckpointStore(folder), stores, budget=budget, validate_every=EVERY)


def same(dataset, tmp_path, short, long, **changes):
    """Prolong a short training, and train long at once; return both and the resumed step."""
    trainer(dataset, tmp_path / "short", short, **changes).fit()
    whole = trainer(dataset, tmp_path / "whole", long, log=(log := trainings.Log()), **changes)
    whole.fit()
    assert prolonged(tmp_path / "long", tmp_path / "short", budget=long)
    longer = trainer(dataset, tmp_path / "long", long, log=(second := trainings.Log()), **changes)
    longer.fit()

    assert trainings.weights(whole.model) == trainings.weights(longer.model)
    assert trainings.untimed(whole.progress) == trainings.untimed(longer.progress)
    assert log.points[len(log.points) - len(second.points) :] == second.points
    return longer, len(second.points) < len(log.points)


@pytest.mark.parametrize(
    "schedule", mark_slow(["inverse_sqrt", "cosine_restarts"], but=["inverse_sqrt"])
)
@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"steps": 6}, {"steps": 10}),  # ended with a regular validation
        ({"steps": 7}, {"steps": 10}),  # ended with an additional validation
        ({"tokens": 200}, {"tokens": 400}),
        ({"epochs": 1}, {"epochs": 2}),
        ({"steps": 12}, {"epochs": 2}),
    ],
)
def test_longer_training_continues(dataset, tmp_path, short, long, schedule):
    _, went_on = same(dataset, tmp_path, Budget(**short), Budget(**long), schedule=schedule)

    assert went_on


def test_former_ends_best_model_is_ignored(dataset, tmp_path):
    scores = {3: 1.0, 6: 2.0, 7: 9.0, 9: 0.0, 10: 0.0}
    longer, _ = same(dataset, tmp_path, Budget(steps=7), Budget(steps=10), scores=scores)

    assert longer.progress.best_step == 6


@pytest.mark.parametrize("steps", [6, 15])
def test_patience_continues_and_ends_at_the_same_place(dataset, tmp_path, steps):
    scores = {step: -float(step) for step in range(100)}
    budgets = (Budget(steps=steps), Budget(steps=18))
    longer, _ = same(dataset, tmp_path, *budgets, scores=scores, patience=3)

    assert longer.progress.step == 12


def test_shorter_budget_starts_from_its_latest_checkpoint(dataset, tmp_path):
    with pytest.raises(trainings.PowerCut):
        trainer(dataset, tmp_path / "long", Budget(steps=90), log=trainings.Log(5)).fit()
    budget = Budget(steps=4)
    whole = trainer(dataset, tmp_path / "whole", budget)
    whole.fit()
    assert prolonged(tmp_path / "short", tmp_path / "long", budget=budget)
    shorter = trainer(dataset, tmp_path / "short", budget)
    shorter.fit()

    assert trainings.untimed(whole.progress) == trainings.untimed(shorter.progress)
    assert trainings.weights(whole.model) == trainings.weights(shorter.model)


def test_no_checkpoint_beyond_the_budget_is_used(dataset, tmp_path):
    trainer(dataset, tmp_path / "long", Budget(steps=10)).fit()

    assert prolonged(tmp_path / "short", tmp_path / "long", budget=Budget(steps=9)) is None
    assert not (tmp_path / "short").exists()


def test_latest_undamaged_checkpoint_is_used(dataset, tmp_path):
    folders = [tmp_path / str(steps) for steps in (6, 3, 9)]
    for folder in folders:
        trainer(dataset, folder, Budget(steps=int(folder.name))).fit()
    for path in folders[-1].glob("*.safetensors"):
        path.write_bytes(b"rubbish")
    other, step = prolonged(tmp_path / "long", tmp_path / "none", *folders, budget=Budget(steps=12))

    assert (other.folder, step) == (folders[0], 6)
    assert CheckpointStore(tmp_path / "long").newest().progress["step"] == 6
