"""``nmt translate --alignments``: word alignments of translations."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli.translate_options import Keep
from nmt_core.text.aligner.aligner import format_links
from nmt_core.text.aligner.bundle import load_aligner
from nmt_core.translation.translator import Translator


@contextmanager
def keep_links(translator: Translator, path: Path, aligner: Path | None) -> Iterator[Keep]:
    """Yield a function that writes the links of each line to a file, whole only at the end.

    Args:
        translator: the one that translates.
        path: the file.
        aligner: None takes the aligner of the model.

    Raises:
        ConfigError: if the model has no aligner, and none is given.
        BundleError: if the aligner is not what was learnt.
    """
    chosen = load_aligner(aligner) if aligner else translator.aligner
    if chosen is None:
        raise ConfigError(
            "this model was exported without an aligner; give one by --aligner DIR (see nmt align "
            "--help), or export the model again"
        )
    with files.whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield lambda line, translations: file.writelines(
            f"{format_links(links)}\n"
            for links in chosen.align([(line, best.text) for best in translations])
        )
