"""Lines translated to records, as ``nmt translate`` writes them, and its warnings."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count

import typer

from nmt_core.cli.lines import show_progress
from nmt_core.cli.translate_options import Beginnings, Keep, Search
from nmt_core.literals.checking import Breach
from nmt_core.translation.confidence import is_unlike_training
from nmt_core.translation.translation import Translation

MOST_NUMBERS = 10
"""Line numbers that one message names."""

RESTORED = "read in another case or with accents"
"""Said of words."""

UNKNOWN = "never read in training, so that nobody can tell whether the translation is good"
"""Said of words."""


def translate_lines(
    portions: Iterable[list[str]],
    search: Search,
    beginnings: Beginnings,
    write: Callable[[int, list[Translation]], Iterable[str]],
    flag_below: float,
    keep: Keep,
) -> None:
    """Translate lines portion by portion, to standard output.

    Args:
        portions: the lines.
        search: translates them.
        beginnings: prefixes of the translations.
        write: makes records of the number of a line and its translations.
        flag_below: the confidence below which a line is named.
        keep: takes each line with its translations, for their links.
    """
    numbers = count(1)
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
            sys.stdout.buffer.flush()
            for warning in warn_of_lines(best, flag_below=flag_below):
                typer.echo(warning, err=True)
            advance(len(portion))
    beginnings.end()


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


def format_unknown_words(translation: Translation) -> str:
    """Return the first words of a line that training never had."""
    return name_first(translation.unknown_words, ", ")


def format_confidence(confidence: float | None) -> str:
    """Return a confidence as ``0.87``, or ``-`` where there is none."""
    return "-" if confidence is None else f"{confidence:.2f}"


def is_doubtful(translation: Translation, flag_below: float) -> bool:
    """Tell whether a translation has a confidence, and one below a bound."""
    return translation.confidence is not None and translation.confidence < flag_below


def warn_of_lines(best: Mapping[int, Translation], *, flag_below: float) -> Iterator[str]:
    """Yield warnings that name the lines whose translations need a second look.

    Args:
        best: the translation of each line, by its number.
        flag_below: the confidence below which one is named.
    """
    broken = {n: format_breaches(one.breaches) for n, one in best.items() if one.breaches}
    restored = {
        n: name_first(one.restored_words, ", ") for n, one in best.items() if one.restored_words
    }
    unknown = {n: format_unknown_words(one) for n, one in best.items() if is_unlike_training(one)}
    for what, told in (
        ("not as in the source", broken),
        (RESTORED, restored),
        (UNKNOWN, unknown),
    ):
        if told:
            lines = [f"line {number}: {words}" for number, words in told.items()]
            yield f"{what}: {name_first(lines, '; ')}"
    remembered = [str(number) for number, one in best.items() if one.origin == "memory"]
    if remembered:
        noun = "line" if len(remembered) == 1 else "lines"
        yield f"{noun} {name_first(remembered, ', ')}: translated by the memory"
    doubtful = [str(number) for number, one in best.items() if is_doubtful(one, flag_below)]
    if doubtful:
        noun = "line" if len(doubtful) == 1 else "lines"
        yield f"{noun} {name_first(doubtful, ', ')}: {describe_doubt(flag_below)}"


def describe_doubt(flag_below: float) -> str:
    """Return what is told of a translation whose confidence is below a bound."""
    return (
        f"the translation is good with a probability of less than {flag_below:g}; the text may be "
        f"unlike what the model was trained on"
    )


def name_first(things: Sequence[str], between: str) -> str:
    """Join the first of some things, and tell how many more there are."""
    more = f" and {len(things) - MOST_NUMBERS} more" if len(things) > MOST_NUMBERS else ""
    return f"{between.join(things[:MOST_NUMBERS])}{more}"
