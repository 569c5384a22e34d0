"""p-values corrected for their number (Holm 1979): of many, some are small by chance alone."""

from collections.abc import Sequence


def correct_holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for being many, in their order (Holm 1979).

    The smallest is multiplied by their number, the next by one less, and so on; none may come out
    below a smaller one's, or above 1.
    """
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = least
    return corrected
