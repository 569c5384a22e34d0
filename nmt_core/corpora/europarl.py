"""Proceedings of the European Parliament, in any two of its languages."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import Field

from nmt_core.base.errors import DownloadError
from nmt_core.base.languages import Languages
from nmt_core.corpora import pivot
from nmt_core.corpora.corpus import (
    Corpus,
    Description,
    OnBadLine,
    Origin,
    Size,
    list_dropped,
)
from nmt_core.corpora.fetch import archive
from nmt_core.corpora.fetch.address import Address, redact_url
from nmt_core.corpora.fetch.kept import quarantine
from nmt_core.corpora.fetch.settings import Checksum, Renewed
from nmt_core.corpora.fetch.source import Fetch, FindKept, Source, find_nothing
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split

ENGLISH = "en"
# fmt: off
EUROPARL_PAIRS = {
    "bg": 406_934, "cs": 646_605, "da": 1_968_800, "de": 1_920_209, "el": 1_235_976,
    "es": 1_965_734, "et": 651_746, "fi": 1_924_942, "fr": 2_007_723, "hu": 624_934,
    "it": 1_909_115, "lt": 635_146, "lv": 637_599, "nl": 1_997_775, "pl": 632_565,
    "pt": 1_960_407, "ro": 399_375, "sk": 640_715, "sl": 623_490, "sv": 1_862_234,
}
# fmt: on
"""The languages besides English, with the pairs of their archive with English in release v7, as its
publisher counts them."""

SENTENCE_CHARACTERS = 150
"""Characters of an average sentence."""

HOME = "https://www.statmt.org/europarl/"


class EuroparlCorpus(Corpus):
    """Proceedings of the European Parliament (Koehn 2005), any pair of its 21 languages.

    The release has one archive per language, with English; a pair without English is joined over
    identical English lines.
    """

    kind: Literal["europarl"]
    """The tag of this choice."""

    release: Literal["v7"] = "v7"
    """Version of the corpus, as in the names of the files in its archives."""

    url: Address = "https://www.statmt.org/europarl/v7/{pair}.tgz"
    """Address of an archive; ``{pair}`` stands for de-en, fr-en and so on. Name and password belong
    in ~/.netrc; ``{secret}`` in the query stands for the variable NMT_DOWNLOAD_SECRET."""

    sha256: Checksum = ""
    """Checksum of the archive, the source language's of two: nothing else is ever taken. Empty
    records what came, and ``python -m stages.configure.refresh`` asks whether there is another."""

    pivot_sha256: Checksum = ""
    """Checksum of the target language's archive, for a pair without English."""

    renewed: Renewed = Field(default_factory=dict)
    """Checksums that ``python -m stages.configure.refresh`` found and will replace when an
    archive changes, under the names of downloads/; until then nothing else is taken. Of no effect
    beside yours."""

    on_bad_line: OnBadLine = "drop"
    """What to do with a pair that is not UTF-8 or holds NUL; drop counts it."""

    def check(self, languages: Languages) -> None:
        """Check that both languages are of the Parliament."""
        known = {*EUROPARL_PAIRS, ENGLISH}
        if not {*languages.codes} <= known or languages.source == languages.target:
            raise ValueError(
                f"EuroParl has any two of {' '.join(sorted(known))}; "
                f"got {' and '.join(languages.codes)}"
            )

    def sources(self, languages: Languages) -> list[Source]:
        """Return the archive of each language beside English, the source's first."""
        return [*self._archives(languages).values()]

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Unpack the archive of each language, and join two over their English lines."""
        archives = {code: fetch(source) for code, source in self._archives(languages).items()}
        sides = {
            code: _unpack(fetched.path, self._members(code), scratch)
            for code, fetched in archives.items()
        }
        if len(sides) == 1:
            [(code, side)] = sides.items()
            paths = {code: side.text, ENGLISH: side.shared}
        else:
            paths = {code: scratch / f"europarl.{code}" for code in sides}
            first, second = sides
            pivot.join(sides[first], sides[second], paths[first], paths[second])
        text = Text(
            ((paths[languages.source], paths[languages.target]),), list_dropped(self.on_bad_line)
        )
        return {"train": text}

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return the address of the first archive."""
        del split
        return Origin("http", redact_url(self.sources(languages)[0].url))

    def estimate_size(self, languages: Languages, *, find_kept: FindKept = find_nothing) -> Size:
        """Return the publisher's counts; two languages join at most as many pairs as one has."""
        del find_kept
        pairs = min(EUROPARL_PAIRS[code] for code in languages.codes if code != ENGLISH)
        return Size(pairs, pairs * SENTENCE_CHARACTERS)

    def describe(self) -> Description:
        """Return the publisher's description."""
        text = (
            f"Proceedings of the European Parliament (Koehn 2005), release {self.release}. Their "
            f"publisher knows of no copyright restriction: <{HOME}>."
        )
        licence = {"license": "other", "license_name": "europarl", "license_link": HOME}
        return Description(f"europarl {self.release}", licence, text)

    def _archives(self, languages: Languages) -> dict[str, Source]:
        """Return the archives that a pair of languages needs, by the code beside English."""
        foreign = [code for code in languages.codes if code != ENGLISH]
        checksums = zip(foreign, (self.sha256, self.pivot_sha256), strict=False)
        return {
            code: Source(
                self.url.replace("{pair}", f"{code}-{ENGLISH}"),
                "url",
                sha256=checksum,
                renewed=self.renewed,
                check=partial(_try_out, names=self._members(code)),
            )
            for code, checksum in checksums
        }

    def _members(self, code: str) -> list[str]:
        stem = f"europarl-{self.release}.{code}-{ENGLISH}"
        return [f"{stem}.{code}", f"{stem}.{ENGLISH}"]


def _try_out(path: Path, *, names: list[str]) -> None:
    with TemporaryDirectory(dir=path.parent) as scratch:
        archive.extract(path, names, Path(scratch))


def _unpack(path: Path, names: list[str], scratch: Path) -> pivot.PivotSide:
    try:
        extracted = archive.extract(path, names, scratch)
    except DownloadError as error:
        rejected = quarantine(path)
        raise DownloadError(
            f"{error}; it was moved to {rejected}: "
            f"run again, or set the url of the corpus to a mirror"
        ) from None
    return pivot.PivotSide(*(extracted[name] for name in names))
