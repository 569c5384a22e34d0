import io

import pytest
from rich.console import Console

from nmt_core.base import progress as module
from nmt_core.base.progress import TrainingDisplay, format_duration
from nmt_core.training.settings import Budget

POINT = {
    "step": 1200,
    "epoch": 3,
    "target_tokens": 50_000,
    "learning_rate": 1e-3,
    "train_loss": 2.5,
    "validation_loss": 2.25,
    "validation_perplexity": 9.49,
    "validation_token_accuracy": 54.25,
    "validation_bleu": 31.44,
}


@pytest.fixture
def seconds(monkeypatch):
    """A clock that stops until it is set."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def console(**settings):
    return Console(file=io.StringIO(), width=60, highlight=False, **settings)


def said(display):
    return display.console.file.getvalue()


def show(seconds, points, *, total):
    """Show (seconds since the previous call, step, tokens) of a training with so many updates."""
    display = TrainingDisplay(Budget(steps=total).done, console())
    for passed, number, tokens in points:
        seconds[0] += passed
        display.step(step=number, tokens=tokens, seconds=0.0, loss=3.21987, learning_rate=1.5e-3)
    return said(display).splitlines()


@pytest.mark.parametrize(
    ("points", "total", "shown"),
    [
        ([(20, 100, 5000), (8, 200, 10_000)], 1000, []),  # 15 seconds between two lines
        (
            [(0, 100, 5000), (8, 200, 10_000), (8, 300, 15_000), (8, 400, 20_000)],
            1000,
            ["step 300, 30% done, loss 3.220, rate 1.50e-03, 625 tokens/s, 0:00:56 left"],
        ),
        (  # a resumed training counts its own tokens alone
            [(0, 5000, 1_000_000), (100, 5100, 1_020_000)],
            10_000,
            ["step 5,100, 51% done, loss 3.220, rate 1.50e-03, 200 tokens/s, 1:21:40 left"],
        ),
        (  # the speed is measured since the line before
            [(0, 0, 0), (100, 100, 1000), (20, 200, 2000)],
            1000,
            [
                "step 100, 10% done, loss 3.220, rate 1.50e-03, 10 tokens/s, 0:15:00 left",
                "step 200, 20% done, loss 3.220, rate 1.50e-03, 50 tokens/s, 0:02:40 left",
            ],
        ),
        ([(0, 0, 0), (100, 0, 10)], 1000, []),  # the remaining time is unknown
    ],
)
def test_training_shows_a_line_now_and_then(seconds, points, total, shown):
    assert show(seconds, points, total=total) == shown


def test_closed_terminal_stops_nothing(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise OSError(5, "Input/output error")

        def flush(self):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", stream := Closed())
    display = TrainingDisplay(Budget(steps=1000).done)
    assert display.console.file.getvalue == stream.getvalue  # everything else is unchanged
    display.validation(POINT, best=True)
    display.note("gone")


def test_a_validation_is_one_line_in_narrow_terminals():
    display = TrainingDisplay(
        Budget(steps=2000).done, console(), scores={"validation_bleu": "BLEU"}
    )
    display.validation(POINT, best=True)
    display.validation(POINT, best=False)

    line = (
        "step   1,200  epoch   3  train loss 2.500  validation loss 2.250  perplexity 9.49  "
        "token accuracy 54.2 %  BLEU 31.4"
    )
    assert said(display).splitlines() == [f"{line}  best so far", line]


def test_a_note_is_no_markup():
    display = TrainingDisplay(Budget(steps=1).done, console())
    display.note("checkpoints/[a]b[/] is damaged")

    assert said(display) == "checkpoints/[a]b[/] is damaged\n"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0:00:00"), (59.6, "0:01:00"), (360_061, "100:01:01")]
)
def test_times_are_hours_minutes_and_seconds(seconds, words):
    assert format_duration(seconds) == words
