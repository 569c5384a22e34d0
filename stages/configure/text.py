"""Read the value of TEXT=: files, corpora by name, URLs, or a project file."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from nmt_core.base import config
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, suggest
from nmt_core.base.languages import Languages, read_languages, summarize_directions
from nmt_core.corpora.formats.paired_units import may_hold_both_sides, pick_pair
from nmt_core.corpora.named import SHORT_NAMES, expand_name
from nmt_core.corpora.text_files import STAR, expand_paths
from stages.configure.directions import (
    Settings,
    add_held_out_sets,
    choose_directions,
    name_languages,
    names_several,
)
from stages.configure.languages import find_languages, identify_languages, split_name
from stages.runtime.params_file import read

PROJECT_FILES = (".yaml", ".yml")

ENTRY = "text"
"""Key of a corpus in a project file that names its text."""


class ProjectFile(Config):
    """A project file, for more text than fits into a line."""

    languages: str = ""
    """Two languages, such as de-en, or several directions; if empty, found in the text."""

    corpora: dict[str, str | Settings] = Field(min_length=1)
    """Corpora by name: a value of TEXT=, or a mapping of that as ``text`` and further settings."""

    validation: str = ""
    """A validation set, as in TEXT=; if empty, split off train."""

    test: str = ""
    """A test set, as in TEXT=; if empty, split off train."""


class NamedText(NamedTuple):
    """The text of a run."""

    languages: Languages
    reason: str
    """How the languages were found."""
    corpora: dict[str, Settings]
    """Settings of the corpora by name."""
    directions: tuple[Languages, ...] = ()
    """Directions of a multilingual model; empty for one."""


def read_text(text: str, *, languages: str = "", validation: str = "", test: str = "") -> NamedText:
    """Return the corpora that a text names, and their languages.

    Args:
        text: paths of two aligned files or of one that holds both sides, names such as europarl or
            opus:Books/v1, and URLs; or the path of a project file.
        languages: such as de-en, or several directions such as "de-en fr-en" or "*-en"; if empty,
            found in the text.
        validation: two aligned files, or one that holds both sides; if empty, split off train. For
            several directions, sets of some of their languages.
        test: a test set, likewise.

    Raises:
        ConfigError: if a word names no text, or the languages are unknown.
        CorpusError: if a file cannot be read.
    """
    words = split_words(text)
    if len(words) == 1 and words[0].endswith(PROJECT_FILES):
        path = Path(words[0])
        project = config.build(ProjectFile, read(path), at=str(path))
        corpora = {name: read_entry(name, entry) for name, entry in project.corpora.items()}
        languages = languages or project.languages
        validation, test = validation or project.validation, test or project.test
    else:
        corpora = name_corpora(read_corpora(words))
    sets = {"validation": validation, "test": test}
    held_out = {split: words for split, words in sets.items() if words}
    for settings in corpora.values() if len(corpora) > 1 else ():
        is_own = settings.get("kind", "text") in ("files", "text")
        settings.setdefault("licence", "own" if is_own else "other")
    languages = languages.replace(",", " ")
    if names_several(languages):
        return name_directions(corpora, languages, held_out)
    add_held_out(corpora, held_out)
    if languages:
        pair, reason = read_languages(languages), "LANGUAGES="
    else:
        pair, reason = find_common_languages(corpora)
    for files in list_aligned(corpora):
        codes = [split_name(Path(files[side]))[1] for side in ("source", "target")]
        if pick_pair(codes, pair) == (1, 0):
            files["source"], files["target"] = files["target"], files["source"]
    return NamedText(pair, reason, corpora)


def name_directions(
    corpora: dict[str, Settings], languages: str, held_out: Mapping[str, str]
) -> NamedText:
    """Return the text of several directions; each corpus names its languages.

    Raises:
        ConfigError: if the languages of a corpus or a held-out set are unknown.
    """
    pairs = name_languages(corpora, find_common_languages)
    for split, words in held_out.items():
        sets = [*read_corpora(split_words(words))]
        add_held_out_sets(corpora, split, sets, find_common_languages)
    directions = choose_directions(languages, pairs.values())
    several = tuple(directions) if len(directions) > 1 else ()
    return NamedText(summarize_directions(directions), "LANGUAGES=", corpora, several)


def split_words(text: str) -> list[str]:
    """Return the words of a line; quotes enclose words with spaces.

    Raises:
        ConfigError: if the line is empty, or a quotation mark is not closed.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"TEXT={text!r} cannot be split into words: {error}") from None
    if not words:
        raise ConfigError('TEXT= names no text; write it as in TEXT="my/train.de my/train.en"')
    return words


def read_entry(name: str, entry: str | Settings) -> Settings:
    """Return the settings of an entry of a project file.

    Raises:
        ConfigError: if its text is not exactly one corpus.
    """
    settings = {ENTRY: entry} if isinstance(entry, str) else dict(entry)
    if ENTRY not in settings:  # only settings, as in params.yaml
        return settings
    corpora = [*read_corpora(split_words(str(settings.pop(ENTRY))))]
    if len(corpora) != 1:
        raise ConfigError(f"corpora.{name}.{ENTRY} names {len(corpora)} corpora; split the entry")
    return {**corpora[0], **settings}


def read_corpora(words: Sequence[str]) -> Iterator[Settings]:
    """Yield the settings of each corpus that words name; aligned files are two words in a row.

    Raises:
        ConfigError: if a word names no text, or a file has no file of the other side.
    """
    unpaired = ""
    for word in words:
        if word in SHORT_NAMES or re.match(r"[A-Za-z0-9]+:", word):
            try:
                yield expand_name(word)
            except ValueError as error:
                raise ConfigError(f"TEXT: {error}") from None
        elif may_hold_both_sides(check_path(word)):
            yield {"kind": "files", "train": {"source": word}}
        elif unpaired:
            yield {"kind": "files", "train": {"source": unpaired, "target": word}}
            unpaired = ""
        else:
            unpaired = word
    if unpaired:
        raise ConfigError(
            f"{unpaired} has no translation; name two files, one for each language, or a file with "
            f"both languages, such as .tmx, .xlsx or .tsv"
        )


def check_path(word: str) -> Path:
    """Return the path that a word names.

    Raises:
        ConfigError: if it is not a file or a pattern of files.
    """
    path = Path(word)
    if path.is_dir():
        raise ConfigError(f"{word} is a folder; name its files, as in {word}/*.de {word}/*.en")
    if STAR not in word and not path.exists():
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        names = [*map(str, siblings), *SHORT_NAMES]
        raise ConfigError(
            f"TEXT names {word}, which is neither a file nor the name of a corpus; "
            f"{suggest(word, names)}"
        )
    return path


def name_corpora(corpora: Iterator[Settings]) -> dict[str, Settings]:
    """Return corpora by name; each is named after its file."""
    named: dict[str, Settings] = {}
    for settings in corpora:
        match settings:
            case {"kind": "opus", "corpus": name}:
                pass
            case {"kind": "url", "url": url}:
                name = Path(url).stem
            case _:
                path = Path(settings["train"]["source"])
                name = split_name(path)[0] or path.absolute().parent.name
        short = re.sub("[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:36] or "text"
        count = sum(other.rstrip("-0123456789") == short for other in named)
        named[f"{short}-{count + 1}" if short in named else short] = settings
    return named


def add_held_out(corpora: Mapping[str, Settings], held_out: Mapping[str, str]) -> None:
    """Add validation and test sets to the first corpus of files.

    Raises:
        ConfigError: if there is no corpus of files, or a set is not exactly one text.
    """
    for split, words in held_out.items():
        first = next((each for each in corpora.values() if each.get("kind") == "files"), None)
        if first is None:
            raise ConfigError(f"a {split} set of files requires a corpus of files in TEXT=")
        sets = [*read_corpora(split_words(words))]
        if len(sets) != 1 or sets[0]["kind"] != "files":
            raise ConfigError(
                f"{split.upper()}={words!r} must name two aligned files or one with both sides"
            )
        first[split] = sets[0]["train"]


def list_aligned(corpora: Mapping[str, Settings]) -> Iterator[Settings]:
    """Yield the settings of all pairs of aligned files, held-out sets included."""
    for settings in corpora.values():
        for split in ("train", "validation", "test"):
            files = settings.get(split)
            if isinstance(files, dict) and files.get("target"):
                yield files


def find_common_languages(corpora: Mapping[str, Settings]) -> tuple[Languages, str]:
    """Return the languages of the files, and how they were found.

    Raises:
        ConfigError: if corpora are in different languages, or the languages are unknown.
        CorpusError: if a file cannot be read.
    """
    texts = [each["train"] for each in corpora.values() if each.get("kind") == "files"]
    sides = [[Path(text[side]) for side in ("source", "target") if side in text] for text in texts]
    files = [next(iter(expand_paths(paths).values())) for paths in sides]
    declared = [(pair, paths) for paths in files if (pair := find_languages(paths))]
    if declared:
        pair, first = min(declared, key=lambda each: len("".join(each[0].codes)))
        for other, paths in declared:
            if pick_pair(other.codes, pair) is None:
                raise ConfigError(
                    f"{first[0]} is {pair} but {paths[0]} is {other}; to train one model of both, "
                    f"add LANGUAGES='{pair} {other}'"
                )
        return pair, f"the name or the header of {first[0]}"
    for paths in files:
        if len(paths) > 1 and (pair := identify_languages(paths)):
            return pair, f"the words of {' and '.join(map(str, paths))}"
    raise ConfigError(
        f"the languages of {', '.join(corpora)} are unknown; add LANGUAGES=, such as "
        f"LANGUAGES=de-en"
    )
