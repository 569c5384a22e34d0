"""Monolingual text: one sentence a line, without translations."""

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator
from typing_extensions import override

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.corpus import Corpus, Description, OnBadLine, Origin, list_dropped
from nmt_core.corpora.fetch.source import Fetch
from nmt_core.corpora.filters import FilterConfig
from nmt_core.corpora.formats.registered import PAIRS_NO_LINES, holds_both_sides
from nmt_core.corpora.local import measure_file
from nmt_core.corpora.parallel_text import Text
from nmt_core.corpora.splitting import Split
from nmt_core.corpora.text_files import STAR, fill_part, find_parts, require_pinned


class MonolingualCorpus(Corpus):
    """Text of one of the two languages, on this machine.

    It has no training pairs: tokenizers learn from it if ``tokenize.subwords.monolingual`` says so,
    and language models if ``nmt learn --text`` names ``data/monolingual``. Every line is read as a
    pair with itself, so that it is repaired, filtered and compared as pairs are.
    """

    is_parallel: ClassVar[bool] = False

    kind: Literal["text"]
    """The name of this choice."""

    role: Literal["monolingual"] = "monolingual"
    """The use of the text; ``kind`` may be omitted beside it."""

    language: str
    """Code of its language, the source or the target of ``download.languages``."""

    path: Path
    """One sentence a line, UTF-8; with one ``*`` all such files. Any may be compressed."""

    sha256: str = ""
    """Digest of the content when params.yaml was written; ``make repro`` fills it in."""

    on_bad_line: OnBadLine = "error"
    """Stop at a line that is not UTF-8 or contains NUL, or drop it."""

    train_only: bool = True
    """Always true: it has no pairs to validate and test on."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tag or self.weight != 1 or not self.train_only:
            raise ValueError(
                "monolingual text has no training pairs, so weight, tag and train_only do not "
                "apply; remove them"
            )
        if str(self.path).count(STAR) > 1:
            raise ValueError(f"path {self.path} must hold one {STAR}, or none")
        if holds_both_sides(self.path):
            raise ValueError(f"path {self.path} {PAIRS_NO_LINES}")
        return self

    @override
    def __str__(self) -> str:
        return str(self.path)

    @override
    def check(self, languages: Languages) -> None:
        if self.language not in languages.codes:
            raise ValueError(
                f"language {self.language!r} is neither of {' and '.join(languages.codes)}"
            )

    @override
    def choose_filter(self, default: FilterConfig) -> FilterConfig:
        chosen = super().choose_filter(default)  # a line is its own copy
        return chosen.model_copy(update={"remove_untranslated": False})

    @override
    def list_languages(self, languages: Languages) -> tuple[str, ...]:
        return (self.language,)

    @override
    def obtain(self, languages: Languages, *, fetch: Fetch, scratch: Path) -> dict[Split, Text]:
        del languages, fetch, scratch
        drop = list_dropped(self.on_bad_line)
        return {"train": Text(tuple((path, path) for path in self.expand()), drop)}

    @override
    def find_origins(self, languages: Languages, *, fetch: Fetch) -> list[dict[str, Any]]:
        del languages, fetch
        require_pinned(self)
        return [*map(measure_file, self.expand())]

    @override
    def origin(self, split: str, languages: Languages) -> Origin:
        del split, languages
        return Origin("local", str(self.path))

    @override
    def describe(self) -> Description:
        text = (
            f"Text of {self.language} alone, of whoever trained the model, who alone know its "
            f"licence; no pair of training is of it."
        )
        return Description("text", {"license": "unknown"}, text)

    @override
    def pins(self) -> dict[str, str]:
        return {str(self): self.sha256}

    @override
    def pinned(self) -> Self:
        return self.model_copy(update={"sha256": self.digest()})

    @override
    def absolute(self) -> Self:
        return self.model_copy(update={"path": self.path.absolute()})

    def expand(self) -> list[Path]:
        """Return the files, in the order of their names.

        Raises:
            CorpusError: if there is none.
        """
        if STAR not in str(self.path):
            return [self.path]
        paths = [fill_part(self.path, part) for part in find_parts(self.path)]
        if not paths:
            raise CorpusError(f"no file matches {self.path}; check the name and the folder")
        return sorted(paths, key=str)

    def digest(self) -> str:
        """Return the SHA-256 of the files' names and digests.

        Raises:
            CorpusError: if a file cannot be read.
        """
        digests = {path.name: measure_file(path)["sha256"] for path in self.expand()}
        return hashlib.sha256(json.dumps(digests).encode()).hexdigest()
