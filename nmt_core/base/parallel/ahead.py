"""Work that is under way before its turn comes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


def submit_ahead(
    submit: Callable[[JobT], Callable[[], ResultT]], jobs: Iterable[JobT], at_most: int
) -> Iterator[ResultT]:
    """Yield the results of all jobs in order, with ``at_most`` submitted and not yet yielded.

    Args:
        submit: begins a job, and returns a function that waits for its result.
        jobs: the jobs.
        at_most: bound of the jobs under way.
    """
    waiting: deque[Callable[[], ResultT]] = deque()
    for job in jobs:
        if len(waiting) == at_most:
            yield waiting.popleft()()
        waiting.append(submit(job))
    while waiting:
        yield waiting.popleft()()
