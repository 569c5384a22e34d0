"""Dates as a corpus: April 22, 2019 is to be translated into 2019-04-22 (ISO 8601; Géron)."""

from datetime import date
from itertools import islice
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from nmt_core.base.languages import Languages
from nmt_core.base.random import make_generator
from nmt_core.corpora.corpus import Description, GeneratedCorpus, Size
from nmt_core.corpora.fetch.source import FindCached, find_nothing
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


ISO = "zxx"
"""ISO 639's code for text in no language, such as 2019-04-22."""

CHARACTERS = 10
"""Of a date in ISO 8601."""


class DatesCorpus(GeneratedCorpus):
    """Dates such as April 22, 2019 with their form in ISO 8601, 2019-04-22: no network, no licence.

    No date occurs twice, in any split.
    """

    first_language: ClassVar = "en"
    code: ClassVar = "stages/dates"

    kind: Literal["dates"]
    """The tag of this choice."""

    first_year: int = Field(1000, ge=1000, le=9999)
    """Year of the earliest dates; of four digits."""

    last_year: int = Field(9999, ge=1000, le=9999)
    """Year of the latest dates."""

    train_pairs: int = Field(10_000, ge=1, le=10_000_000)
    """Dates in the training set."""

    validation_pairs: int = Field(500, ge=1, le=10_000_000)
    """Dates in the validation set."""

    test_pairs: int = Field(1000, ge=1, le=10_000_000)
    """Dates in the test set."""

    seed: int = Field(1, ge=0)
    """Another seed draws other dates."""

    @model_validator(mode="after")
    def _check(self) -> "DatesCorpus":
        if self.first_year > self.last_year:
            raise ValueError(
                f"first_year {self.first_year} is after last_year {self.last_year}; exchange them"
            )
        wanted = sum(self._counts().values())
        days = date(self.last_year, 12, 31) - date(self.first_year - 1, 12, 31)
        if wanted > days.days:
            raise ValueError(
                f"{self.first_year} to {self.last_year} have {days.days} days, but train, "
                f"validation and test ask for {wanted}; ask for fewer, or for more years"
            )
        return self

    def check(self, languages: Languages) -> None:
        """Check that one side is English, and the other in no language."""
        if {*languages.codes} != {"en", ISO}:
            raise ValueError(
                f"the corpus of dates has English (en) and ISO 8601, which is no language ({ISO}), "
                f"got {' and '.join(languages.codes)}"
            )

    def generate(self) -> dict[Split, list[Pair]]:
        """Draw the dates of every split, English first."""
        return draw_dates(self.first_year, self.last_year, self._counts(), self.seed)

    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size:
        """Estimate the size of the corpus, as if the target were ISO 8601."""
        del languages, find_cached
        return Size(self.train_pairs, self.train_pairs * CHARACTERS)

    def describe(self) -> Description:
        """Return that it is a part of this project."""
        text = "Dates that a program of this project wrote; like it, they are Apache-2.0."
        return Description("dates", {"license": "apache-2.0"}, text)

    def held_out(self) -> str | None:
        """Return that each date was drawn for one split alone."""
        return "by draw, no date twice"

    def _counts(self) -> dict[Split, int]:
        return {
            "test": self.test_pairs,
            "validation": self.validation_pairs,
            "train": self.train_pairs,
        }
