"""Options of ``nmt translate``: the search, prefixes, and lines or documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice, repeat
from pathlib import Path
from typing import NamedTuple

from nmt_core.base import config
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.cli.lines import decode_argument, open_lines
from nmt_core.documents.formats import list_suffixes
from nmt_core.search.settings import SamplingConfig
from nmt_core.translation.texts import recall, translate_texts
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

Search = Callable[[Sequence[str], Sequence[str]], list[list[Translation]]]
"""Takes lines and the prefixes of their translations."""

FLAG_BELOW = 0.1
"""Confidence below which a line is named."""

OF_SENTENCES = ("--checks", "--confidence", "--flag-below")
"""Options for lines that tell the same of a line's sentences."""


class DocumentOptions(NamedTuple):
    """Options for documents, as given."""

    kind: str | None = None
    """The name of their format; None by their names, and of standard input plain text."""
    output: Path | None = None
    """The file of the translation; None for standard output, or beside the input file."""
    encoding: str | None = None
    """The encoding of the documents; None to read it from them, or for UTF-8."""
    force: bool = False
    """Overwrite a translation that exists."""
    review: Path | None = None
    """The XLIFF file for the review of each segment; None to write none."""


Keep = Callable[[str, Sequence[Translation]], object]
"""Takes a line and its translations."""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options as given, None where not; contradictory ones are refused.

    Raises:
        ConfigError: if two options contradict each other.
    """

    beam_size: int | None = None
    n_best: int | None = None
    diversity: float | None = None
    sample: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.n_best and self.beam_size and self.n_best > self.beam_size:
            raise ConfigError(
                f"--n-best {self.n_best} needs a beam at least as wide; "
                f"use --beam-size {self.n_best}"
            )
        if self.sample is None:
            for option in self._given("temperature", "top_k", "top_p", "seed"):
                raise ConfigError(f"{option} is for drawing translations; add --sample 1")
        else:
            for option in self._given("beam_size", "n_best", "diversity"):
                raise ConfigError(
                    f"--sample draws translations and {option} is for searching the best; "
                    f"leave one of them out"
                )

    @property
    def ranked(self) -> bool:
        """Tell whether a line of input may give several of output."""
        return self.n_best is not None or (self.sample or 1) > 1

    def search(self, translator: Translator, *, probabilities: bool) -> Search:
        """Return the search of these options.

        Args:
            translator: searches.
            probabilities: whether to return those of the tokens.

        Raises:
            ConfigError: if an option is out of its range.
        """
        if self.sample is not None:
            values = {
                name: value
                for name in ("temperature", "top_k", "top_p", "seed")
                if (value := getattr(self, name)) is not None
            }
            sampling = config.build(SamplingConfig, {"samples": self.sample} | values, at="sample")
            return lambda lines, begin: translator.sample(lines, sampling, prefixes=begin)
        best = self.n_best or 1
        return lambda lines, begin: translator.search(
            lines,
            beam_size=max(self.beam_size or translator.config.beam.beam_size, best),
            n_best=best,
            diversity=self.diversity,
            prefixes=begin,
            probabilities=probabilities,
        )

    def _given(self, *names: str) -> Iterator[str]:
        return (f"--{n.replace('_', '-')}" for n in names if getattr(self, n) is not None)


def choose_flag(translator: Translator, flag_below: float | None, *, confidence: bool) -> float:
    """Return the confidence below which a line is named.

    Args:
        translator: translates.
        flag_below: as given; None if it is not.
        confidence: whether confidence is to be written.

    Raises:
        ConfigError: if either is asked for, and the translator has none.
    """
    if translator.confidence_model is None and (confidence or flag_below):
        raise ConfigError(
            "this model has no confidence: its card may say why; leave out "
            "--confidence and --flag-below"
        )
    return FLAG_BELOW if flag_below is None else flag_below


def refuse_in_conversation(**options: object) -> None:
    """Make sure that a conversation is asked for nothing but translations.

    Raises:
        ConfigError: if it is.
    """
    for name, value in options.items():
        if value:
            other = "the lines" if name == "lines" else f"--{name}"
            raise ConfigError(
                f"--interactive asks for lines, and shows no more than translations; leave it or "
                f"{other} out"
            )


def keeps_whole(only_lines: Mapping[str, object]) -> bool:
    """Tell whether lines are translated as they are, even those of several sentences.

    Args:
        only_lines: options as given that are for lines.
    """
    return any(value for name, value in only_lines.items() if name not in OF_SENTENCES)


def recall_first(
    search: Search, translator: Translator, lines: Sequence[str], prefixes: Sequence[str]
) -> list[list[Translation]]:
    """Return approved translations of lines, and what a search finds for the others.

    Lines whose translation has a given prefix are translated.

    Args:
        search: translates the others.
        translator: has a memory, or none.
        lines: each is translated as a whole.
        prefixes: beginnings of their translations; none at all for none.
    """
    known = [
        None if prefix else recall(translator, line)
        for line, prefix in zip(lines, prefixes or [""] * len(lines), strict=True)
    ]
    left = [number for number, one in enumerate(known) if one is None]
    given = [prefixes[number] for number in left] if prefixes else []
    found = iter(search([lines[number] for number in left], given))
    return [[one] if one else next(found) for one in known]


def search_texts(
    translator: Translator, beam_size: int | None, lines: Sequence[str], prefixes: Sequence[str]
) -> list[list[Translation]]:
    """Return the translation of each line, sentence by sentence."""
    assert not any(prefixes), "a prefix belongs to a whole line"
    return [[one] for one in translate_texts(translator, lines, beam_size=beam_size)]


class Beginnings:
    """Prefixes of successive translations: the same for all, or the lines of a file.

    Raises:
        ConfigError: if both are given, or one is not UTF-8.
    """

    def __init__(self, prefix: str | None, file: Path | None) -> None:
        if prefix is not None and file is not None:
            raise ConfigError("--prefix and --prefix-file contradict each other; give one of them")
        self.file = file
        given = decode_argument(prefix or "", name="--prefix")
        self._prefixes = repeat(given) if file is None else open_lines(file)

    def next(self, count: int) -> list[str]:
        """Return the beginnings of the next lines.

        Raises:
            CorpusError: if the file has fewer lines than the input.
        """
        prefixes = list(islice(self._prefixes, count))
        if len(prefixes) < count:
            raise CorpusError(f"{self.file} has fewer lines than the input; it needs as many")
        return prefixes

    def end(self) -> None:
        """Make sure that no beginning is left over.

        Raises:
            CorpusError: if the file has more lines than the input.
        """
        if self.file is not None and next(self._prefixes, None) is not None:
            raise CorpusError(f"{self.file} has more lines than the input; it needs as many")


NO_LINES = (".pdf", ".doc", ".rtf", ".ppt", ".xls", ".csv", ".tsv", ".tmx")
"""Endings of files that are no documents here; a word that ends so is taken for a file's name."""

ALIKE = 0.75
"""Similarity of an ending to a known one, as of .docs to .docx, from which it is a typing error."""


def is_document(argument: str) -> bool:
    """Tell whether an argument is the name of a document: one word with the ending of a format."""
    if len(argument.split()) != 1 and not is_file(argument):
        return False
    return argument.lower().endswith(tuple(list_suffixes()))


def is_file(argument: str) -> bool:
    """Tell whether an argument is the name of an existing file; a line may be any text."""
    with suppress(OSError):  # as for a name that is too long
        return Path(argument).is_file()
    return False


def wants_documents(
    arguments: Sequence[str],
    only_lines: Mapping[str, object],
    *,
    paragraphs: bool,
    kind: str | None,
    output: Path | None,
) -> bool:
    """Tell whether documents are to be translated, and not lines.

    Args:
        arguments: lines, or names of files.
        only_lines: options as given that are for lines.
        paragraphs: whether standard input is plain text.
        kind: the documents' format, if it is given.
        output: where the translation is to go, if it is given.

    Raises:
        ConfigError: if both are asked for.
    """
    files = [argument for argument in arguments if is_file(argument)]
    named = [argument for argument in arguments if is_document(argument)]
    if kind:
        named += [file for file in files if file not in named]
    _refuse_missing(argument for argument in arguments if argument not in files)
    if unknown := [file for file in files if file not in named]:
        raise ConfigError(
            f"{unknown[0]} is a file with an ending that says no format, which would be one of "
            f"{' '.join(list_suffixes())}; name its format by --format, or convert it"
        )
    if arguments and not named and (paragraphs or kind or output):
        raise ConfigError(
            f"{arguments[0]!r} is a line, and --paragraphs, --format, --output, --encoding "
            f"and --force are for documents; give a file, or text by standard input"
        )
    if named and len(named) < len(arguments):
        other = next(argument for argument in arguments if argument not in named)
        raise ConfigError(f"{named[0]} is a file, and {other!r} a line; give either files or lines")
    if output and len(arguments) > 1:
        raise ConfigError(f"--output names one file, not {len(arguments)}; translate one at a time")
    if not (named or paragraphs or kind or output):
        return False
    for option, value in only_lines.items():
        if value:
            raise ConfigError(f"{option} is for lines, not for documents; leave it out")
    return True


def _refuse_missing(arguments: Iterable[str]) -> None:
    known = [*NO_LINES, *list_suffixes()]
    for argument in arguments:
        suffix = Path(argument).suffix.lower()
        is_word = len(argument.split()) == 1 and not is_document(argument)
        if is_word and get_close_matches(suffix, known, cutoff=ALIKE):
            raise ConfigError(
                f"{argument} does not exist; give a file in a format of "
                f"{' '.join(list_suffixes())}, or translate the word by standard input"
            )
