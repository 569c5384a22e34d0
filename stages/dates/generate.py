"""Dates as English writes them, and as ISO 8601 does: April 22, 2019 is 2019-04-22 (Géron)."""

from datetime import date
from itertools import islice

from nmt_core.base.random import make_generator
from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.splitting import Split

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def write_english(day: date) -> str:
    """Return a date such as April 22, 2019."""
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def draw_dates(
    first_year: int, last_year: int, counts: dict[Split, int], seed: int
) -> dict[Split, list[Pair]]:
    """Draw dates of some years, none twice: the same arguments give the same dates everywhere.

    Args:
        first_year: of the earliest dates.
        last_year: of the latest dates.
        counts: number of dates of each split; those of the first do not depend on the counts of
            the others.
        seed: another one draws other dates.

    Returns:
        Pairs of English and ISO 8601.
    """
    first = date(first_year, 1, 1).toordinal()
    days = date(last_year, 12, 31).toordinal() - first + 1
    drawn = iter(make_generator(seed, "dates").permutation(days).tolist())
    pairs: dict[Split, list[Pair]] = {}
    for split, count in counts.items():
        own = (date.fromordinal(first + day) for day in islice(drawn, count))
        pairs[split] = [Pair(write_english(day), day.isoformat()) for day in own]
    return pairs
