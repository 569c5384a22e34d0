"""Lines translated to records, as ``nmt translate`` writes them, and its warnings."""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count

import typer

from nmt_core.cli.lines import show_progress
from nmt_core.cli.translate_options import Beginnings, Keep, Search
from nmt_core.documents.review import TranslatedSegment, report_doubts
from nmt_core.literals.checking import Breach
from nmt_core.translation.translation import Translation


def translate_lines(
    portions: Iterable[list[str]],
    search: Search,
    beginnings: Beginnings,
    write: Callable[[int, list[Translation]], Iterable[str]],
    flag_below: float,
    keep: Keep,
) -> list[TranslatedSegment]:
    """Translate lines portion by portion, to standard output; return them with translations.

    Args:
        portions: the lines.
        search: translates them.
        beginnings: prefixes of the translations.
        write: makes records of the number of a line and its translations.
        flag_below: the confidence below which a line is named.
        keep: takes each line with its translations, for their links.
    """
    numbers = count(1)
    segments: list[TranslatedSegment] = []
    with show_progress() as advance:
        for portion in portions:
            best: dict[int, Translation] = {}
            found_all = search(portion, beginnings.next(len(portion)))
            for line, translations in zip(portion, found_all, strict=True):
                number = next(numbers)
                keep(line, translations)
                for record in write(number, translations):
                    sys.stdout.buffer.write(f"{record}\n".encode())
                best[number] = translations[0]
                segments.append(TranslatedSegment(line, translations[0]))
            sys.stdout.buffer.flush()
            for told in report_doubts(best, flag_below, "line"):
                typer.echo(told, err=True)
            advance(len(portion))
    beginnings.end()
    return segments


def format_records(
    number: int,
    translations: list[Translation],
    *,
    ranked: bool,
    scores: bool,
    checks: bool = False,
    confidence: bool = False,
) -> Iterator[str]:
    """Yield the output lines of one line of input; see ``nmt translate --help``."""
    for rank, best in enumerate(translations, start=1):
        fields = [str(number), str(rank), f"{best.score:.4f}"] if ranked else []
        fields.append(best.text)
        if scores:
            fields.append(format_probabilities(best.token_probabilities))
        if scores and not ranked:
            fields.append(f"Score: {best.score:.4f}")
        if checks:
            fields.append(format_breaches(best.breaches))
        if confidence:
            fields.append(format_confidence(best.confidence))
        yield "\t".join(fields)


def format_probabilities(probabilities: Iterable[float]) -> str:
    """Return probabilities as ``[0.898 0.937]``."""
    return f"[{' '.join(f'{probability:.3f}' for probability in probabilities)}]"


def format_breaches(breaches: Iterable[Breach]) -> str:
    """Return what did not come through, as ``missing 94, repeated {name}``, or ``kept``."""
    return ", ".join(f"{breach.problem} {breach.text}".rstrip() for breach in breaches) or "kept"


def format_confidence(confidence: float | None) -> str:
    """Return a confidence as ``0.87``, or ``-`` where there is none."""
    return "-" if confidence is None else f"{confidence:.2f}"
