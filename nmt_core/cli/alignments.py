"""``nmt translate --alignments``: word alignments of translations."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from nmt_core.alignment.links import format_links
from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli.translate_options import Keep
from nmt_core.text.alignment import UNALIGNED
from nmt_core.translation.linking import link_translated
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator


class Linking(Protocol):
    """Links the words of a line with those of its translations."""

    def __call__(self, line: str, translations: Sequence[Translation]) -> Iterator[str]:
        """Yield the links of each translation in Pharaoh format."""


def choose_linking(translator: Translator, aligner: Path | None) -> Linking:
    """Return the source of links: an aligner, or the model's attention.

    Raises:
        ConfigError: if the model has no attention.
        BundleError: if the aligner is not what was learnt.
    """
    if aligner is None:
        return link_by_attention(translator)
    learnt = resolve_name("nmt_core.alignment.bundle:load_aligner")(aligner)  # needs safetensors
    return lambda line, translations: map(
        format_links, learnt.align([(line, best.text) for best in translations])
    )


def link_by_attention(translator: Translator) -> Linking:
    """Return a function that links each target word to the source word of most attention.

    Raises:
        ConfigError: if the model has no attention.
    """
    if not translator.has_attention:
        raise ConfigError(
            "this model has no attention, which would tell which words translate which; "
            "give an aligner by --aligner DIR (see nmt align --help)"
        )

    def link(line: str, translations: Sequence[Translation]) -> Iterator[str]:
        for translation in translations:
            links = link_translated(translator, line, translation)
            yield format_links(
                (word, number) for number, word in enumerate(links) if word != UNALIGNED
            )

    return link


@contextmanager
def keep_links(translator: Translator, path: Path, aligner: Path | None) -> Iterator[Keep]:
    """Yield a function that writes the links of each line to a file, whole only at the end.

    Raises:
        ConfigError: if there is no aligner, and the model has no attention.
        BundleError: if the aligner is not what was learnt.
    """
    linking = choose_linking(translator, aligner)
    with files.whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield lambda line, translations: file.writelines(
            f"{links}\n" for links in linking(line, translations)
        )
