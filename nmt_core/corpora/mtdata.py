"""Parallel text that the program mtdata fetches (Gowda et al. 2021).

It runs as a separate program, because it requires other versions of packages. Its environment
holds only what it needs, and no secrets.
"""

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
from typing_extensions import override

from nmt_core.base import files
from nmt_core.base.config import BRIEF_CHARACTERS
from nmt_core.base.errors import DownloadError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import MAX_LINE_BYTES, bound_lines
from nmt_core.corpora.corpus import Corpus, Description, OnBadLine, Origin, Size, list_dropped
from nmt_core.corpora.fetch.address import redact
from nmt_core.corpora.fetch.source import Checksum, Fetch, FindCached, find_nothing
from nmt_core.corpora.formats.registered import pick_pair
from nmt_core.corpora.local import measure_text
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split

PROGRAM = "mtdata"

HOME = "https://github.com/thammegowda/mtdata"

FOLDER = "MTDATA"
"""Environment variable with the program's folder, ~/.mtdata by default."""

MAX_ROW_BYTES = 2 * MAX_LINE_BYTES + 1000
"""Longest row: two sides, and what the program knows of them."""

TOO_LONG = b"x" * (MAX_LINE_BYTES + 1)
"""Replaces a row that is too long; the reader reports it later."""

PASSED_VARIABLES = {
    "HOME", "PATH", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE", FOLDER,
}  # fmt: skip
"""Environment variables that the program inherits, in upper or lower case."""


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_]\w*(-[A-Za-z0-9_.]{1,60}){4}", name, re.ASCII):
        raise ValueError(
            f"must be group, name, version and two languages, as in Statmt-europarl-10-deu-eng, "
            f"got {name!r}"
        )
    return name


DatasetName = Annotated[str, AfterValidator(_check_name)]
"""Group, name, version and two languages."""


class MtdataCorpus(Corpus):
    """A dataset that mtdata knows by name; that program must be installed."""

    kind: Literal["mtdata"]
    """The tag of this choice."""

    dataset: DatasetName
    """Its name: group, name, version and two languages, such as Statmt-europarl-10-deu-eng;
    ``mtdata list`` lists them."""

    sha256: Checksum = ""
    """Required checksum of its text, as in reports/download.json; empty accepts any."""

    on_bad_line: OnBadLine = "drop"
    """Drop and count pairs that are not UTF-8 or contain NUL, or stop there."""

    @override
    def check(self, languages: Languages) -> None:
        codes = _list_codes(self.dataset)
        if pick_pair(codes, languages) is None:
            raise ValueError(
                f"{self.dataset} is in {' and '.join(codes)}, not in "
                f"{' and '.join(languages.codes)}; choose another dataset"
            )

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        del fetch, scratch
        return {"train": Text(((self._bring(languages),),), list_dropped(self.on_bad_line))}

    @override
    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        del fetch
        path = self._bring(languages)
        digest = files.sha256(path)
        if digest != (self.sha256 or digest):
            raise DownloadError(
                f"{path} has the SHA-256 {digest}, expected was {self.sha256}; remove it to "
                f"fetch it again, or change the sha256 of the corpus"
            )
        return [{"dataset": self.dataset, "bytes": path.stat().st_size, "sha256": digest}]

    @override
    def origin(self, split: str, languages: Languages) -> Origin:
        del split, languages
        return Origin("http", f"{HOME}#{self.dataset}")

    @override
    def estimate_size(
        self, languages: Languages, *, find_cached: FindCached = find_nothing
    ) -> Size | None:
        del find_cached
        path = self._find_place(languages)
        return measure_text([(path,)], languages) if path.exists() else None

    @override
    def describe(self) -> Description:
        text = f"{self.dataset} of mtdata, <{HOME}>, which has a citation of each dataset."
        return Description(self.dataset, {"license": "unknown"}, text)

    def _find_place(self, languages: Languages) -> Path:
        folder = Path(os.environ.get(FOLDER) or "~/.mtdata").expanduser() / "nmt"
        return folder / f"{self.dataset}.{languages.source}-{languages.target}.tsv"

    def _bring(self, languages: Languages) -> Path:
        columns = pick_pair(_list_codes(self.dataset), languages)
        assert columns, "check() refuses other languages"
        path = self._find_place(languages)
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.locked(path.with_name(f"{path.name}.lock")):
            if not path.exists():
                _write(self.dataset, columns, path)
        return path


def _write(dataset: str, columns: tuple[int, int], path: Path) -> None:
    """Write a line per pair: source, tab, target."""
    with files.whole_file(path) as part, part.open("wb") as file:
        with _run("echo", dataset) as lines:
            for line in bound_lines(lines.readline, MAX_ROW_BYTES):
                cells = (TOO_LONG if line is None else line).removesuffix(b"\r").split(b"\t")
                row = [cells[column] for column in columns] if len(cells) > 1 else cells
                file.write(b"\t".join(row) + b"\n")
        if not file.tell():
            raise DownloadError(
                f"{PROGRAM} echo {dataset} printed no line; check the name, and the cache of "
                f"{PROGRAM} in {path.parent.parent}"
            )


@contextmanager
def _run(*arguments: str) -> Iterator[IO[bytes]]:
    """Run the program and yield its output.

    Raises:
        DownloadError: if it is missing or fails.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise DownloadError(
            f"the program {PROGRAM} is not installed; run: uv tool install {PROGRAM}, or pipx "
            f"install {PROGRAM}, since it needs an environment of its own"
        )
    passed = {name: text for name, text in os.environ.items() if name.upper() in PASSED_VARIABLES}
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(
            [program, *arguments],
            env=passed | {"PYTHONUTF8": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process:
            assert process.stdout is not None
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            errors.seek(0)
            said = [line for line in errors.readlines() if line.strip()] or ["no reason"]
            reason = redact(" ".join(said[-1].split()))[:BRIEF_CHARACTERS]
            raise DownloadError(
                f"{PROGRAM} {' '.join(arguments)} failed ({reason}); check the name and the network"
            )


def _list_codes(dataset: str) -> list[str]:
    """Return the language codes of a dataset, such as de for deu and de-AT for deu_AT."""
    from babel.core import get_global  # optional

    shorter = get_global("language_aliases")
    codes = [code.replace("_", "-").split("-", 1) for code in dataset.split("-")[3:]]
    return ["-".join([shorter.get(code, code), *rest]) for code, *rest in codes]
