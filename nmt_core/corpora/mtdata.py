"""Parallel text that the program mtdata fetches (Gowda et al. 2021).

It is run as a program, never imported: it asks for other versions of packages than we do, so it
belongs into an environment of its own. It is told nothing of ours, secrets least of all.
"""

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Literal

from pydantic import AfterValidator

from nmt_core.base import files
from nmt_core.base.config import BRIEF_CHARACTERS
from nmt_core.base.errors import DownloadError
from nmt_core.base.languages import Languages, spell_with_underscores
from nmt_core.base.raw_lines import MAX_LINE_BYTES, bound_lines
from nmt_core.corpora.corpus import Corpus, Description, OnBadLine, Origin, Size, list_dropped
from nmt_core.corpora.fetch.address import redact
from nmt_core.corpora.fetch.settings import Checksum
from nmt_core.corpora.fetch.source import Fetch, FindKept, find_nothing
from nmt_core.corpora.formats.moses import TOO_LONG
from nmt_core.corpora.formats.tables import MOST_LINE_BYTES
from nmt_core.corpora.formats.units import pick_pair
from nmt_core.corpora.local import measure_text
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split

PROGRAM = "mtdata"

HOME = "https://github.com/thammegowda/mtdata"

FOLDER = "MTDATA"
"""The variable of the environment that names the program's folder, ~/.mtdata if it is not set."""

TOLD = ("HOME", "PATH", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE")  # fmt: skip
"""The variables of the environment that the program is told, in upper or lower case."""


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]\w*(-[A-Za-z0-9_.]{1,60}){4}", name, re.ASCII):
        raise ValueError(
            f"must be group, name, version and two languages, as in Statmt-europarl-10-deu-eng, "
            f"got {name!r}"
        )
    return name


DatasetName = Annotated[str, AfterValidator(_name)]
"""Group, name, version and two languages."""


class MtdataCorpus(Corpus):
    """A dataset that mtdata knows by name; that program must be installed."""

    kind: Literal["mtdata"]
    """The tag of this choice."""

    dataset: DatasetName
    """Its name, such as Statmt-europarl-10-deu-eng: group, name, version and the two languages;
    ``make corpora`` lists them."""

    sha256: Checksum = ""
    """Checksum of its text, as reports/download.json has it: nothing else is ever taken. Empty
    takes what mtdata gives."""

    on_bad_line: OnBadLine = "drop"
    """What to do with a pair that is not UTF-8 or holds NUL; drop counts it."""

    def check(self, languages: Languages) -> None:
        """Check that the dataset has both languages."""
        codes = _list_codes(self.dataset)
        if pick_pair(codes, languages) is None:
            raise ValueError(
                f"{self.dataset} is in {' and '.join(codes)}, not in "
                f"{' and '.join(languages.codes)}; take another dataset"
            )

    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        """Let mtdata fetch the text, unless it is there."""
        del fetch, scratch
        text = Text(((self._bring(),),), list_dropped(self.on_bad_line), languages)
        return {"train": text}

    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        """Return name, size and SHA-256 of the text, which is fetched unless it is there."""
        del languages, fetch
        path = self._bring()
        digest = files.sha256(path)
        if digest != (self.sha256 or digest):
            raise DownloadError(
                f"{path} has the SHA-256 {digest}, expected was {self.sha256}; remove it to have "
                f"it fetched again, or change the sha256 of the corpus"
            )
        return [{"dataset": self.dataset, "bytes": path.stat().st_size, "sha256": digest}]

    def origin(self, split: str, languages: Languages) -> Origin:
        """Return the program's address, and the name that it knows the text by."""
        del split, languages
        return Origin("http", f"{HOME}#{self.dataset}")

    def estimate_size(
        self, languages: Languages, *, find_kept: FindKept = find_nothing
    ) -> Size | None:
        """Count what the program gave an earlier run."""
        del find_kept
        path = self._find_place()
        return measure_text([(path,)], languages) if path.exists() else None

    def describe(self) -> Description:
        """Return the name, which is all that is known."""
        text = f"{self.dataset} of mtdata, <{HOME}>, which has an entry for citing each dataset."
        return Description(self.dataset, {"license": "unknown"}, text)

    def _find_place(self) -> Path:
        folder = Path(os.environ.get(FOLDER) or "~/.mtdata").expanduser() / "nmt"
        return folder / f"{self.dataset}.tsv"

    def _bring(self) -> Path:
        path = self._find_place()
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.locked(path.with_name(f"{path.name}.lock")):
            if not path.exists():
                _write(self.dataset, path)
        return path


def list_datasets(languages: Languages) -> list[str]:
    """Return the names of all datasets in two languages, but for those of OPUS.

    Raises:
        DownloadError: if the program is missing or fails.
    """
    pair = "-".join(map(spell_with_underscores, languages.codes))
    with _run("list", "--id", "--langs", pair, "--not-groups", "OPUS") as lines:
        return sorted(line.decode().strip() for line in lines)


def _write(dataset: str, path: Path) -> None:
    """Write a table with a header row, which says which column is which language."""
    with (
        files.whole_file(path) as part,
        part.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file,
    ):
        table, quoting = (
            csv.writer(file, delimiter="\t", lineterminator="\n", quoting=how)
            for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        )
        table.writerow(_list_codes(dataset))
        row = None
        with _run("echo", dataset) as lines:
            for line in bound_lines(lines.readline, MOST_LINE_BYTES):
                row = _find_columns(line)
                has_line_end = any("\r" in column for column in row)
                (quoting if has_line_end else table).writerow(row)
        if row is None:
            raise DownloadError(
                f"{PROGRAM} echo {dataset} gave no line; check the name, and what {PROGRAM} has "
                f"kept of it in {path.parent.parent}"
            )


def _find_columns(line: bytes | None) -> list[str]:
    """Return source and target, without what is known of a pair; what is too long as such."""
    if line is None:
        return [TOO_LONG]
    columns = line.removesuffix(b"\r").decode(errors="surrogateescape").split("\t")[:2]
    return [column if len(column) <= MAX_LINE_BYTES else TOO_LONG for column in columns]


@contextmanager
def _run(*arguments: str) -> Iterator[IO[bytes]]:
    """Run the program and yield what it writes.

    Raises:
        DownloadError: if it is missing or fails.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise DownloadError(
            f"the program {PROGRAM} is not installed; run: uv tool install {PROGRAM}, or pipx "
            f"install {PROGRAM}, for it needs an environment of its own"
        )
    told = {name: value for name, value in os.environ.items() if name.upper() in (*TOLD, FOLDER)}
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        with subprocess.Popen(
            [program, *arguments],
            env=told | {"PYTHONUTF8": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process:
            assert process.stdout is not None
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            said.seek(0)
            last = next((line for line in reversed(said.readlines()) if line.strip()), "no reason")
            reason = redact(" ".join(last.split()))[:BRIEF_CHARACTERS]
            raise DownloadError(
                f"{PROGRAM} {' '.join(arguments)} failed ({reason}); check the name and the network"
            )


def _list_codes(dataset: str) -> list[str]:
    """Return the codes of the languages of a dataset, de for deu and de-AT for deu_AT."""
    from babel.core import get_global  # optional

    shorter = get_global("language_aliases")
    codes = [code.replace("_", "-").split("-", 1) for code in dataset.split("-")[3:]]
    return ["-".join([shorter.get(code, code), *rest]) for code, *rest in codes]
