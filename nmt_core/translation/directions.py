"""The directions of a multilingual model, and the choice of one of them."""

from collections.abc import Sequence

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import LanguageCode, LanguagePair, Languages
from nmt_core.translation.confidence import ConfidenceModel


class DirectionConfig(Config):
    """A direction of a multilingual model, with what was fitted on its validation text."""

    languages: LanguagePair
    """Source and target language."""
    trained: bool = True
    """The training text had this direction."""
    pivot: LanguageCode | None = None
    """Language through which the model translates; None translates directly."""
    length_penalty: float | None = Field(None, ge=0)
    """Length penalty of beam search; None uses that of the model."""
    confidence: ConfidenceModel | None = None
    """Quality estimation, if it could be fitted."""


def find_direction(
    directions: Sequence[DirectionConfig], source: str | None, target: str | None
) -> DirectionConfig:
    """Return the only direction with these languages; None stands for any language.

    If source and target are the same language of the model, so are those of the direction.

    Raises:
        ConfigError: if there is none, or more than one.
    """
    found = select_directions(directions, source, target)
    if len(found) == 1:
        return found[0]
    if source and source == target and select_directions(directions, None, target):
        return DirectionConfig(languages=Languages(source=source, target=target))
    names = ", ".join(str(direction.languages) for direction in found or directions)
    if found:
        is_open = len({direction.languages.target for direction in found}) > 1
        side, option = ("target", "--to") if is_open else ("source", "--from")
        missing = f"{side} language ({option} or {side})"
        raise ConfigError(f"the model translates {names}; name the {missing}")
    wanted = " ".join(
        f"{word} {code}" for word, code in (("from", source), ("into", target)) if code
    )
    raise ConfigError(f"the model does not translate {wanted}; it translates {names}")


def select_directions(
    directions: Sequence[DirectionConfig], source: str | None, target: str | None
) -> list[DirectionConfig]:
    """Return the directions with these languages; None stands for any language."""
    return [
        direction
        for direction in directions
        if source in (None, direction.languages.source)
        and target in (None, direction.languages.target)
    ]


def list_candidates(
    directions: Sequence[DirectionConfig], source: str | None, target: str | None
) -> list[str]:
    """Return the languages among which to detect that of a text: sources, then the target.

    The list is empty if no detection is necessary, or if it would not decide the direction.
    """
    possible = [each.languages for each in select_directions(directions, source, target)]
    targets = {each.target for each in possible}
    if source or len(possible) == 1 or len(targets) != 1:
        return []
    return [*(each.source for each in possible), *targets]


def detect_directions(
    directions: Sequence[DirectionConfig],
    texts: Sequence[str],
    source: str | None,
    target: str | None,
) -> list[Languages]:
    """Return the direction of each text, whose source is detected if None allows several.

    Source and target are the same language for a text that is already in the target language.

    Raises:
        ConfigError: if the model lacks the direction, or needs a ``target``.
        CorpusError: if py3langid is missing.
    """
    candidates = list_candidates(directions, source, target)
    if not candidates:
        return [find_direction(directions, source, target).languages] * len(texts)
    from nmt_core.text.language_detection import load_scorer  # slow to import

    rank, into = load_scorer().rank, candidates[-1]
    sources = [rank(text, candidates)[0][0] for text in texts]
    return [Languages(source=code, target=into) for code in sources]
