"""``nmt translate --alignments``: which word of a translation stands for which of its source."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from nmt_core.alignment.links import format_links
from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli.translate_options import Keep
from nmt_core.documents.alignment import UNALIGNED, align_words
from nmt_core.documents.sentences import Span
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator


class Linking(Protocol):
    """Says which words of a line and of its translations go together."""

    def __call__(self, line: str, found: Sequence[Translation]) -> Iterator[str]:
        """Yield the links of each translation in Pharaoh format."""


def choose_linking(translator: Translator, aligner: Path | None) -> Linking:
    """Return what finds links: an aligner, or the model's attention.

    Raises:
        ConfigError: if the model has no attention.
        BundleError: if the aligner is not what was learnt.
    """
    if aligner is None:
        return link_by_attention(translator)
    learnt = resolve_name("nmt_core.alignment.bundle:load_aligner")(aligner)  # needs safetensors
    return lambda line, found: map(format_links, learnt.align([(line, one.text) for one in found]))


def link_by_attention(translator: Translator) -> Linking:
    """Return what links each word of a translation to the source word that it looked at most.

    Raises:
        ConfigError: if the model has no attention.
    """
    if not translator.has_attention:
        raise ConfigError(
            "this model has no attention, which would tell which words translate which; "
            "give an aligner by --aligner DIR (see nmt align --help)"
        )

    def link(line: str, found: Sequence[Translation]) -> Iterator[str]:
        source = [Span(*word.span()) for word in re.finditer(r"\S+", line)]
        tokens = translator.source.tokens(line)[: translator.config.max_source_tokens]
        for one in found:
            target = [Span(*word.span()) for word in re.finditer(r"\S+", one.text)]
            if not source or not target:
                yield ""
                continue
            looked = one
            if one.attention is None:
                looked = one._replace(attention=translator.attention(line, one))
            stands = align_words(line, source, tokens, looked, one.text, target)
            yield format_links(
                (word, place) for place, word in enumerate(stands) if word != UNALIGNED
            )

    return link


@contextmanager
def keep_links(translator: Translator, path: Path, aligner: Path | None) -> Iterator[Keep]:
    """Yield what writes the links of each line to a file, which appears whole at the end.

    Raises:
        ConfigError: if there is no aligner, and the model has no attention.
        BundleError: if the aligner is not what was learnt.
    """
    linking = choose_linking(translator, aligner)
    with files.whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield lambda line, found: file.writelines(f"{links}\n" for links in linking(line, found))
