"""Records of translations, as ``nmt translate`` writes them, and its warnings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from nmt_core.literals.checking import Breach
from nmt_core.translation.translation import Translation

DOUBT = (
    "the model is less sure of this than of 99 in 100 of its test sentences, so the text may be "
    "unlike what it was trained on, and the translation wrong"
)

MOST_NUMBERS = 10
"""Line numbers that one message names."""


def format_records(
    number: int,
    translations: list[Translation],
    *,
    ranked: bool,
    scores: bool,
    checks: bool = False,
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
        yield "\t".join(fields)


def format_probabilities(probabilities: Iterable[float]) -> str:
    """Return probabilities as ``[0.898 0.937]``."""
    return f"[{' '.join(f'{probability:.3f}' for probability in probabilities)}]"


def format_breaches(breaches: Iterable[Breach]) -> str:
    """Return what did not come through, as ``missing 94, repeated {name}``, or ``kept``."""
    return ", ".join(f"{breach.problem} {breach.text}" for breach in breaches) or "kept"


def warn_of_breaches(breaches: Mapping[int, Sequence[Breach]]) -> str:
    """Say what of some lines, by their numbers, did not come through."""
    told = [
        f"line {number}: {format_breaches(several)}"
        for number, several in islice(breaches.items(), MOST_NUMBERS)
    ]
    more = f"; and {len(breaches) - MOST_NUMBERS} more" if len(breaches) > MOST_NUMBERS else ""
    return f"not as in the source: {'; '.join(told)}{more}"


def warn_of_unsure(numbers: Sequence[int]) -> str:
    """Return a warning that names the lines of doubtful translations."""
    first = ", ".join(str(number) for number in numbers[:MOST_NUMBERS])
    more = f" and {len(numbers) - MOST_NUMBERS} more" if len(numbers) > MOST_NUMBERS else ""
    return f"{'line' if len(numbers) == 1 else 'lines'} {first}{more}: {DOUBT}"
