"""A plan as a table, beside what a run has taken."""

from collections.abc import Mapping, Sequence

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from nmt_core.base.progress import format_duration
from stages.planning.prediction import Plan, Prediction
from stages.planning.words import describe_bytes, describe_memory
from stages.runtime.usage import Usage

TOTAL = "all"


def render(
    plan: Plan, observed: Mapping[str, Usage], warnings: Sequence[str], *, seen: str = ""
) -> Group:
    """Return what a plan says, to be printed.

    Args:
        plan: what was predicted.
        observed: what stages have taken that have run with these settings.
        warnings: of what there is too little.
        seen: what is to be said of the training that was run.
    """
    lines = [Text(describe_training(plan))]
    if seen:
        lines.append(Text(seen))
    lines += [Text(sentence, style="yellow") for sentence in warnings]
    return Group(tabulate(plan, observed), *lines)


def tabulate(plan: Plan, observed: Mapping[str, Usage]) -> Table:
    """Return the table: a row for each stage, and one for all of them."""
    table = Table(box=None, header_style="bold")
    table.add_column("stage")
    headings = ["time", "memory at most (GiB)", "disk"]
    if observed:
        headings += ["observed: time", "largest process (GiB)", "predicted / observed"]
    for heading in headings:
        table.add_column(heading, justify="right")
    known = {name: observed.get(name) for name in plan.stages}
    for name, predicted in plan.stages.items():
        table.add_row(name, *_cells(predicted), *(_beside(predicted, known[name], observed)))
    whole = _add(known) if all(known.values()) else None
    table.add_row(TOTAL, *_cells(plan.total), *_beside(plan.total, whole, observed), style="bold")
    return table


def describe_training(plan: Plan) -> str:
    """Return what a budget comes to."""
    training = plan.training
    return (
        f"training: about {training.updates:,} updates of "
        f"{training.target_tokens / training.updates:,.0f} target tokens "
        f"({training.passes:.2g} passes over the text), {training.tokens_per_second:,.0f} tokens "
        f"a second"
    )


def _cells(predicted: Prediction) -> list[str]:
    return [
        format_duration(predicted.seconds),
        describe_memory(predicted.memory_bytes),
        describe_bytes(predicted.disk_bytes),
    ]


def _beside(predicted: Prediction, usage: Usage | None, observed: Mapping[str, Usage]) -> list[str]:
    if not observed:
        return []
    if usage is None:
        return ["", "", ""]
    return [
        format_duration(usage.seconds),
        describe_memory(usage.memory_bytes),
        f"{predicted.seconds / max(usage.seconds, 1e-9):.2f}",
    ]


def _add(known: Mapping[str, Usage | None]) -> Usage:
    each = [usage for usage in known.values() if usage is not None]
    return Usage(
        seconds=sum(one.seconds for one in each),
        processor_seconds=sum(one.processor_seconds for one in each),
        memory_bytes=max(one.memory_bytes for one in each),
    )


def show(group: Group) -> None:
    """Print it, unbroken where nobody's window is known."""
    Console().print(group, soft_wrap=True)
