"""What a request asks for: a glossary, a tag, a format of files."""

from functools import lru_cache

from nmt_core.base.config import shorten
from nmt_core.base.errors import ConfigError, DocumentError
from nmt_core.documents.formats import find_format
from nmt_core.literals.glossary import Glossary, is_pattern
from nmt_core.server.errors import RequestError
from nmt_core.server.models import LanguagePair, ServedModel

MOST_GLOSSARY_LINES = 1000
"""Lines of the glossary of a request."""


@lru_cache(maxsize=64)
def read_glossary(text: str, pair: LanguagePair) -> Glossary:
    """Return the glossary of a request; equal ones are one, so that their requests share batches.

    Raises:
        RequestError: if it is wrong, too long, or has regular expressions, which may take for ever.
    """
    lines = text.splitlines()
    if len(lines) > MOST_GLOSSARY_LINES:
        raise RequestError(
            400,
            f"Invalid request: glossary has {len(lines):,} lines, and at most "
            f"{MOST_GLOSSARY_LINES:,} are allowed",
        )
    terms = (line.partition("\t")[0].strip() for line in lines)
    if pattern := next(filter(is_pattern, terms), None):  # which even to compile may take for ever
        shown = shorten(pattern)
        raise RequestError(400, f"Invalid request: glossary may hold no pattern such as {shown}")
    try:
        return Glossary.parse(lines, pair, name="glossary")
    except ConfigError as error:
        raise RequestError(400, f"Invalid request: {error}") from None


def find_tag(tag: str | None, model: ServedModel) -> str | None:
    """Return the tag of a request, None for none.

    Raises:
        RequestError: if the model knows no such tag.
    """
    try:
        if tag is not None:
            model.translator.choose_tag(tag)
    except ConfigError as error:
        raise RequestError(400, f"Invalid request: {error}") from None
    return tag


def find_kind(name: str) -> str:
    """Return the format of a file by the end of its name.

    Raises:
        RequestError: if it is of no kind that is translated, in LibreTranslate's words.
    """
    try:
        return find_format(name)
    except DocumentError:
        raise RequestError(400, "Invalid request: file format not supported") from None
