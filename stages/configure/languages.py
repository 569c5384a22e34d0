"""Find the languages of text by the names of files, by declarations in them, or by their words."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from babel import Locale, UnknownLocaleError

from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import (
    explain_damage,
    list_members,
    open_raw,
    plain_name,
    read_raw_lines,
)
from nmt_core.corpora.formats.paired_units import ARCHIVE
from nmt_core.corpora.formats.tables import read_sheet
from nmt_core.text.language_codes import pick_code
from nmt_core.text.language_detection import load_scorer

SAMPLED_LINES = 500
"""Number of lines by whose words the language of a file is identified."""

SAMPLED_BYTES = 1 << 16
"""Number of bytes of a file that are searched for declared languages."""

DECLARED = re.compile(
    rb"""\b(?:xml:lang|lang|src[lL]ang|trgLang|source-language|target-language)"""
    rb"""\s*=\s*["']([A-Za-z][\w-]*)["']"""
)
"""An attribute of TMX or XLIFF that declares a language."""

KEY = re.compile(r'"([\w-]+)"\s*:')
"""A key of a JSON object."""


@cache
def list_codes() -> dict[str, str]:
    """Return language codes by name, in English and in the language itself, in lower case."""
    names = {str(code): name for code, name in Locale("en").languages.items()}
    codes = {name.casefold(): code for code, name in names.items()}
    for code in names:
        try:
            name = Locale.parse(code).get_language_name()
        except (ValueError, UnknownLocaleError):  # babel has no texts in this language
            continue
        codes.setdefault(str(name).casefold(), code)
    return codes


def is_code(word: str) -> bool:
    """Tell whether a word is the code of a language, such as de or pt-BR."""
    return re.split("[-_]", word)[0] in Locale("en").languages


def split_name(path: Path) -> tuple[str, str]:
    """Return the stem of a file's name, and the code that the name ends in; "" without a code.

    For example train and de for train.de.gz, train_de.txt and train.de.
    """
    parts = re.split("[._]", plain_name(path))
    for end in (len(parts) - 1, len(parts) - 2):
        if end >= 0 and is_code(parts[end]):
            return "_".join(parts[:end]), parts[end]
    return "_".join(parts[:-1]) or parts[0], ""


def find_languages(paths: Sequence[Path]) -> Languages | None:
    """Return the languages in the names of two aligned files, or the ones that one file declares.

    Raises:
        CorpusError: if a file cannot be read.
    """
    aligned = len(paths) > 1
    codes = [split_name(path)[1] for path in paths] if aligned else list_declared(paths[0])
    return make_languages(
        [code for at, code in enumerate(codes) if pick_code(codes[:at], code) is None]
    )


def make_languages(codes: Sequence[str]) -> Languages | None:
    """Return the languages of two codes; None for another number of codes or an empty code."""
    match [code.replace("_", "-") for code in codes]:
        case [source, target] if source and target:
            return Languages(source=source, target=target)
    return None


def list_declared(path: Path) -> list[str]:
    """Return the codes that a file with both sides declares: by attributes, keys or a header.

    Raises:
        CorpusError: if the file cannot be read.
    """
    name = plain_name(path).lower()
    if path.suffix.lower() == ARCHIVE and len(members := list_members(path)) > 1:
        return [code for member in members if is_code(code := Path(member).suffix[1:])]
    if name.endswith(".xlsx"):
        return read_header(next(read_sheet(path), []))
    with explain_damage(path), open_raw(path) as file:
        start = file.read(SAMPLED_BYTES)
    if codes := DECLARED.findall(start):
        return [code.decode() for code in codes]
    first = start.decode(errors="replace").partition("\n")[0]
    cells = KEY.findall(first) if name.endswith(".jsonl") else re.split("[,;\t]", first)
    return read_header(cells)


def read_header(cells: Iterable[str]) -> list[str]:
    """Return the codes of the languages in a header, which names them in words or by codes."""
    words = [re.split(r"[\W_]+", cell.strip()) for cell in cells]
    names = [
        list_codes()[part.casefold()]
        for parts in words
        for part in parts
        if part.casefold() in list_codes()
    ]
    return names or [part for parts in words for part in parts if is_code(part)]


def identify_languages(paths: Sequence[Path]) -> Languages | None:
    """Return the languages that py3langid recognizes in two aligned files; None if it finds none.

    Raises:
        CorpusError: if a file cannot be read, or py3langid is missing.
    """
    scorer = load_scorer()
    codes = []
    for path in paths:
        lines = [line or b"" for line in islice(read_raw_lines(path), SAMPLED_LINES)]
        scores = scorer.score([line.decode(errors="replace") for line in lines]).sum(axis=0)
        codes.append(scorer.codes[scores.argmax()] if scores.any() else "")
    return make_languages(codes)
