"""What people read: times, sizes, a row for each stage, and what was observed beside it."""

import io

from rich.console import Console

from stages.planning.prediction import Plan, PredictedTraining, Prediction
from stages.planning.report import render
from stages.planning.words import describe_bytes, describe_memory
from stages.runtime.usage import Usage

STAGES = {
    "shard": Prediction(
        seconds=6.0, processor_seconds=5.0, memory_bytes=2**29, disk_bytes=5_000_000
    ),
    "train": Prediction(
        seconds=3_600.0, processor_seconds=7_000.0, memory_bytes=2**30, disk_bytes=2 * 10**9
    ),
}
PLAN = Plan(
    settings="",
    stages=STAGES,
    training=PredictedTraining(
        updates=1_200,
        target_tokens=1_058_400,
        passes=3.166,
        limit="steps",
        tokens_per_second=1_271.3,
        tokens_per_pass=334_442,
        validations=4,
    ),
)
TOOK = Usage(seconds=4.0, processor_seconds=3.0, memory_bytes=2**28)


def shown(observed, warnings=(), seen=""):
    """Return the lines that are printed, with a space between any two words."""
    text = io.StringIO()
    Console(file=text, width=200).print(render(PLAN, observed, warnings, seen=seen))
    return [" ".join(line.split()) for line in text.getvalue().splitlines()]


def test_a_plan_is_a_row_for_each_stage_and_one_for_all():
    assert shown({}, ["too small"]) == [
        "stage time memory at most (GiB) disk",
        "shard 0:00:06 0.50 5 MB",
        "train 1:00:00 1.00 2.0 GB",
        "all 1:00:06 1.00 2.0 GB",
        "training: about 1,200 updates of 882 target tokens (3.2 passes over the text), 1,271 "
        "tokens a second",
        "too small",
    ]


def test_what_was_observed_stands_beside_what_was_predicted():
    _, shard, train, everything, *_ = shown({"shard": TOOK})

    assert shard.endswith("5 MB 0:00:04 0.25 1.50")
    assert train.endswith("2.0 GB")
    assert everything.endswith("2.0 GB")


def test_what_all_stages_took_is_added_up():
    whole = shown({"shard": TOOK, "train": TOOK}, seen="observed: 5 updates")

    assert whole[3].endswith(f"2.0 GB 0:00:08 0.25 {3606 / 8:.2f}")
    assert whole[-1] == "observed: 5 updates"


def test_sizes_have_their_unit():
    assert describe_bytes(999_400_000) == "999 MB"
    assert describe_bytes(10**9) == "1.0 GB"
    assert describe_memory(3 * 2**29) == "1.50"
