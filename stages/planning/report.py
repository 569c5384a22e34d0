"""A plan as a table, beside the usage of a run."""

from collections.abc import Callable, Iterable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmt_core.base.progress import format_duration
from stages.planning.prediction import Plan, Prediction, Range
from stages.runtime.usage import Usage


def show(plan: Plan, observed: Mapping[str, Usage], warnings: Iterable[str]) -> None:
    """Print a plan, observed usage beside it, and warnings, their lines unbroken."""
    console = Console()
    console.print(tabulate(plan, observed), Text(describe_training(plan)), soft_wrap=True, sep="\n")
    for warning in warnings:
        console.print(Text(warning, style="yellow"), soft_wrap=True)


def tabulate(plan: Plan, observed: Mapping[str, Usage]) -> Table:
    """Return the table: a row for each stage, and one for all of them."""
    table = Table("stage", box=None, header_style="bold")
    headings = ["time", "GiB at most", "disk, GB"]
    for heading in headings + ["observed", "GiB", "in range"] * bool(observed):
        table.add_column(heading, justify="right")
    for name, predicted in plan.stages.items():
        used = observed.get(name)
        taken = _compare(predicted, used.seconds, used.memory_bytes) if used else []
        table.add_row(name, *_cells(predicted), *taken)
    known, total = [observed[name] for name in plan.stages if name in observed], plan.total
    taken = []
    if len(known) == len(plan.stages):
        seconds, memory = (sum(u.seconds for u in known), max(u.memory_bytes for u in known))
        taken = _compare(total, seconds, memory)
    table.add_row("all", *_cells(total), *taken, style="bold")
    return table


def describe_training(plan: Plan) -> str:
    """Describe the steps and tokens of a budget."""
    training = plan.training
    return (
        f"training: {describe(training.updates)} updates of about "
        f"{training.tokens_per_update:,.0f} target tokens "
        f"({describe(training.passes, '{:.3g}'.format)} passes over the text), "
        f"{describe(training.tokens_per_second)} tokens a second; "
        f"first validation after {describe(training.first_validation, format_duration)}"
    )


def describe(figure: Range, show_one: Callable[[float], str] = "{:,.0f}".format) -> str:
    """Return a range in words, each end to two digits, or one figure where it is known exactly."""
    if figure.low == figure.high:
        return show_one(figure.low)
    low, high = (show_one(float(f"{end:.2g}")) for end in (figure.low, figure.high))
    return low if low == high else f"{low} to {high}"


def _cells(predicted: Prediction) -> list[str]:
    return [
        describe(predicted.seconds, format_duration),
        f"{predicted.memory_bytes / 2**30:.2g}",
        f"{predicted.disk_bytes / 1e9:.2g}",
    ]


def _compare(predicted: Prediction, seconds: float, memory_bytes: int) -> list[str]:
    outside = "above" if seconds > predicted.seconds.high else "below"
    held = "yes" if seconds in predicted.seconds else outside
    return [format_duration(seconds), f"{memory_bytes / 2**30:.2f}", held]
