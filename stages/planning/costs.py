"""Seconds by the clock and of processors, and how they grow with what there is to do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ZERO_SIZE = "a growth is fitted to sizes above 0, one to a value"


@dataclass(frozen=True)
class Cost:
    """What something takes; never less than nothing."""

    seconds: float = 0.0
    """By the clock."""
    processor_seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.seconds + other.seconds, self.processor_seconds + other.processor_seconds)

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            max(0.0, self.seconds - other.seconds),
            max(0.0, self.processor_seconds - other.processor_seconds),
        )

    def __mul__(self, times: float) -> "Cost":
        return Cost(self.seconds * times, self.processor_seconds * times)


@dataclass(frozen=True)
class Line:
    """a + b n of n items, neither below 0."""

    start: float
    each: float

    def at(self, items: float) -> float:
        """Return the value at a number of items."""
        return self.start + self.each * items


@dataclass(frozen=True)
class Power:
    """c n^p of n items."""

    scale: float
    exponent: float

    def at(self, items: float) -> float:
        """Return the value at a number of items."""
        return self.scale * items**self.exponent


@dataclass(frozen=True)
class Logarithm:
    """a + b ln n of n items, b not below 0."""

    start: float
    each: float

    def at(self, items: float) -> float:
        """Return the value at a number of items."""
        return self.start + self.each * float(np.log(items))


def fit_line(sizes: Sequence[float], values: Sequence[float]) -> Line:
    """Return the line with the least squared error of those that start at 0 or above, and rise.

    Of one size it is the line through it that is flat: what was measured is then what is predicted
    for that size, and for no other.

    Raises:
        ValueError: if there are no sizes, or not as many values.
    """
    x, y = _check(sizes, values)
    if len(set(sizes)) == 1:
        return Line(max(0.0, float(y.mean())), 0.0)
    each, start = (float(number) for number in np.polyfit(x, y, 1))
    if each < 0:
        return Line(max(0.0, float(y.mean())), 0.0)
    if start < 0:
        return Line(0.0, max(0.0, float(x @ y / (x @ x))))
    return Line(start, each)


def fit_cost(sizes: Sequence[float], costs: Sequence[Cost], *, cores: int = 1) -> Sequence[Line]:
    """Return how seconds by the clock grow, and how those of processors do.

    The clock tells what other programs took, too, at one time more and at another less. No item can
    take less of it than so many cores need for their share, and none more than its processor time
    by what the clock showed for each second of that.

    Raises:
        ValueError: if there are no sizes, or not as many costs.
    """
    used = fit_line(sizes, [cost.processor_seconds for cost in costs])
    seen = fit_line(sizes, [cost.seconds for cost in costs])
    total = sum(costs, Cost())
    slowest = max(total.seconds / max(total.processor_seconds, 1e-9), 1 / cores)
    each = min(max(seen.each, used.each / cores), used.each * slowest)
    middle = sum(sizes) / len(sizes)
    return Line(max(0.0, total.seconds / len(costs) - each * middle), each), used


def fit_power(sizes: Sequence[float], values: Sequence[float]) -> Power:
    """Return the power law through the first and the last point, its exponent from 0 to 1.

    So grows what is learnt from words: twice the text has fewer than twice as many different ones
    (Heaps 1978, section 7.5). It goes through the last point, whatever its exponent.

    Raises:
        ValueError: if there are no sizes, or not as many values.
    """
    x, y = _check(sizes, values)
    if y[-1] <= 0:
        return Power(0.0, 1.0)
    exponent = 1.0
    if x[0] < x[-1] and y[0] > 0:
        exponent = float((np.log(y[-1]) - np.log(y[0])) / (np.log(x[-1]) - np.log(x[0])))
    exponent = min(1.0, max(0.0, exponent))
    return Power(float(y[-1] / x[-1] ** exponent), exponent)


def fit_logarithm(sizes: Sequence[float], values: Sequence[float]) -> Logarithm:
    """Return the logarithm with the least squared error of those that do not fall.

    So grows the memory of a training on a processor, which keeps what tensors free for the next
    ones: fewer and fewer batches have sizes that fit into none of it.

    Raises:
        ValueError: if there are no sizes, or not as many values.
    """
    x, y = _check(sizes, values)
    if len(set(sizes)) == 1:
        return Logarithm(float(y.mean()), 0.0)
    each, start = (float(number) for number in np.polyfit(np.log(x), y, 1))
    return Logarithm(start, each) if each > 0 else Logarithm(float(y.max()), 0.0)


def _check(sizes: Sequence[float], values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    if not sizes or len(sizes) != len(values) or min(sizes) <= 0:
        raise ValueError(f"{ZERO_SIZE}; got {list(sizes)} and {list(values)}")
    return np.asarray(sizes, np.float64), np.asarray(values, np.float64)
