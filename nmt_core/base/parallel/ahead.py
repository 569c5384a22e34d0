"""Work that is under way before its turn comes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def submit_ahead(
    submit: Callable[[Job], Callable[[], Result]], jobs: Iterable[Job], at_most: int
) -> Iterator[Result]:
    """Yield the results of all jobs in order, with ``at_most`` submitted and not yet yielded.

    Args:
        submit: begins a job, and returns what waits for its result.
        jobs: what there is to do.
        at_most: bounds what is under way.
    """
    waiting: deque[Callable[[], Result]] = deque()
    for job in jobs:
        if len(waiting) == at_most:
            yield waiting.popleft()()
        waiting.append(submit(job))
    while waiting:
        yield waiting.popleft()()
