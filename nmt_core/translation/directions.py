"""The directions of a multilingual model, and the choice of one of them."""

from collections.abc import Callable, Sequence

from pydantic import Field

from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import LanguageCode, LanguagePair
from nmt_core.text.side import Tokenized
from nmt_core.translation.confidence import ConfidenceModel
from nmt_core.translation.translation import Translation, join_steps


class DirectionConfig(Config):
    """A direction of a multilingual model, with what was fitted on its validation text."""

    languages: LanguagePair
    """Source and target language."""
    trained: bool = True
    """Whether the model was trained in this direction."""
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

    Raises:
        ConfigError: if there is none, or more than one.
    """
    found = [
        direction
        for direction in directions
        if source in (None, direction.languages.source)
        and target in (None, direction.languages.target)
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(direction.languages) for direction in found or directions)
    if found:
        asked = "target" if target is None else "source"
        raise ConfigError(f"the model translates {names}; name the {asked} language")
    wanted = f"from {source or 'any language'} into {target or 'any language'}"
    raise ConfigError(f"the model does not translate {wanted}; it translates {names}")


def list_sources(directions: Sequence[DirectionConfig], target: str | None) -> list[str]:
    """Return the source languages of a target language, or of all for None."""
    return [d.languages.source for d in directions if target in (None, d.languages.target)]


def search_twice(
    first: Callable[[Sequence[str | Tokenized]], list[Translation]],
    second: Callable[[Sequence[str]], list[list[Translation]]],
    lines: Sequence[str | Tokenized],
) -> list[list[Translation]]:
    """Return translations of translations: ``first`` into a pivot language, ``second`` out of it.

    A translation keeps the tokens of the second step, the reports of both, and the lower
    confidence.
    """
    steps = first(lines)
    found = second([each.text for each in steps])
    return [
        [join_steps(step, each) for each in several]
        for step, several in zip(steps, found, strict=True)
    ]
