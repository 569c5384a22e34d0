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
    """A clock that stands still until it is told."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def console(**settings):
    return Console(file=io.StringIO(), width=60, highlight=False, **settings)


def said(display):
    return display.console.file.getvalue()


def step(display, number, tokens):
    display.step(step=number, tokens=tokens, seconds=0.0, loss=3.21987, learning_rate=1.5e-3)


def test_where_nobody_watches_a_line_is_said_now_and_then(seconds):
    with TrainingDisplay(Budget(steps=1000).done, console()) as display:
        for number in range(100, 500, 100):
            step(display, number, number * 50)
            seconds[0] += 8.0

    assert said(display) == (
        "step 300, 30% done, loss 3.220, rate 1.50e-03, 625 tokens/s, 0:00:56 left\n"
    )


def test_a_resumed_training_counts_only_what_it_trained(seconds):
    """What came before the first point took an unknown time."""
    with TrainingDisplay(Budget(steps=10_000).done, console()) as display:
        step(display, 5000, 1_000_000)
        seconds[0] += 100.0
        step(display, 5100, 1_020_000)

    assert "200 tokens/s, 1:21:40 left" in said(display)


def test_a_speed_is_not_told_before_it_is_known(seconds):
    with TrainingDisplay(Budget(steps=1000).done, console()) as display:
        seconds[0] += 20.0
        step(display, 1, 10)

        assert said(display) == ""
        seconds[0] += 20.0
        step(display, 2, 30)

    assert ", 1 tokens/s, 5:32:40 left" in said(display)


def test_the_speed_is_that_of_the_last_minute(seconds):
    """A busy hour, and then a free machine."""
    with TrainingDisplay(Budget(steps=100_000).done, console()) as display:
        for number in range(1, 200):
            slow = number <= 150
            seconds[0] += 30.0 if slow else 10.0
            step(display, number * 50, min(number, 150) * 30 * 75 + max(0, number - 150) * 24_000)

    last = said(display).splitlines()[-1]
    assert "step 9,9" in last
    assert "2,400 tokens/s, 5:00:" in last


def test_whoever_does_not_listen_any_more_stops_nothing(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise OSError(5, "Input/output error")

        def flush(self):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", stream := Closed())
    with TrainingDisplay(Budget(steps=1000).done) as display:
        assert display.console.file.getvalue == stream.getvalue  # all else is as it was
        display.validation(POINT, best=True)
        display.note("gone")


def test_a_validation_is_one_line_however_narrow_the_output():
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
