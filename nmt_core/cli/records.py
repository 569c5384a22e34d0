"""Lines translated portion by portion, written as records with tabs between the fields."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice, repeat
from pathlib import Path

import typer

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.cli.lines import decode_argument, open_lines, show_progress
from nmt_core.documents.review import report_doubts
from nmt_core.literals.checking import Breach
from nmt_core.translation.translation import Translation


class Prefixes:
    """Prefixes of successive translations: the same for all, or the lines of a file.

    Raises:
        ConfigError: if both are given, or one is not UTF-8.
    """

    def __init__(self, prefix: str | None, file: Path | None) -> None:
        if prefix is not None and file is not None:
            raise ConfigError("--prefix and --prefix-file contradict each other; give one of them")
        self.file = file
        same = decode_argument(prefix or "", name="--prefix")
        self._prefixes = repeat(same) if file is None else open_lines(file)

    def take(self, number: int) -> list[str]:
        """Return the prefixes of the next lines.

        Raises:
            CorpusError: if the file has fewer lines than the input.
        """
        prefixes = [*islice(self._prefixes, number)]
        if len(prefixes) < number:
            raise CorpusError(f"{self.file} has fewer lines than the input; it needs as many")
        return prefixes

    def end(self) -> None:
        """Make sure that no prefix is left.

        Raises:
            CorpusError: if the file has more lines than the input.
        """
        if self.file is not None and next(self._prefixes, None) is not None:
            raise CorpusError(f"{self.file} has more lines than the input; it needs as many")


def write_portions(
    portions: Iterable[list[str]],
    search: Callable[[list[str]], list[list[Translation]]],
    format_line: Callable[[int, Sequence[Translation]], Iterable[str]],
    flag_below: float,
) -> None:
    """Translate portions of lines to standard output, and report doubts on standard error.

    Args:
        portions: the lines.
        search: returns the translations of each line, best first.
        format_line: returns the records of a line by its number, from 1.
        flag_below: lines of a lower confidence are reported.
    """
    numbers = count(1)
    with show_progress() as advance:
        for lines in portions:
            numbered = {next(numbers): translations for translations in search(lines)}
            for number, translations in numbered.items():
                for record in format_line(number, translations):
                    sys.stdout.buffer.write(f"{record}\n".encode())
            sys.stdout.buffer.flush()
            best = {number: translations[0] for number, translations in numbered.items()}
            for report in report_doubts(best, flag_below, "line"):
                typer.echo(report, err=True)
            advance(len(lines))


def format_ranks(number: int, translations: Sequence[Translation]) -> Iterator[str]:
    """Yield number of the line, rank, score and text of each of its translations."""
    for rank, each in enumerate(translations, start=1):
        yield f"{number}\t{rank}\t{each.score:.4f}\t{each.text}"


def format_probabilities(probabilities: Iterable[float]) -> str:
    """Return probabilities as ``[0.898 0.937]``."""
    return f"[{' '.join(f'{probability:.3f}' for probability in probabilities)}]"


def format_breaches(breaches: Iterable[Breach]) -> str:
    """Return breaches as ``missing 94, repeated {name}``, or ``kept`` if there are none."""
    return ", ".join(f"{breach.problem} {breach.text}".rstrip() for breach in breaches) or "kept"


def format_confidence(confidence: float | None) -> str:
    """Return a confidence as ``0.87``, or ``-`` if there is none."""
    return "-" if confidence is None else f"{confidence:.2f}"
