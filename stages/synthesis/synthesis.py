"""Translate text in chunks by a teacher model, and write usable pairs of one direction.

The translations of a chunk are in a file that is named by a digest of teacher, search and lines. So
a stopped run continues, and only new text is translated.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, compress, islice, repeat
from pathlib import Path

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.files import BYTE_ORDER_MARK, decode_utf8
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.base.seal import digest_bundle
from nmt_core.corpora.formats.paired_units import PAIRS_NO_LINES, holds_both_sides
from nmt_core.text.translation import Translation
from nmt_core.translation.protection import is_flaw
from nmt_core.translation.translator import Translator
from stages import paths
from stages.paths import Inputs
from stages.reporting.pages import render_pipe_table
from stages.synthesis.composition import SynthesisConfig, find_folder

CHUNK_LINES = 1000
"""Lines per chunk; translations are saved after each chunk."""

MIN_KEPT = 10
"""Minimum number of usable pairs."""

Translate = Callable[[Sequence[str]], list[tuple[str, str]]]
"""Returns the translation of each line with its first flaw, such as ``looping``; "" if usable."""


def load_teacher(config: SynthesisConfig, languages: Languages) -> tuple[str, Translate]:
    """Return an identity of the teacher with its search, and a function that translates lines.

    ``languages`` are those of the synthetic pairs.

    Raises:
        BundleError: if the export is damaged.
        ConfigError: if the export is missing, or lacks the direction.
    """
    folder, direction = config.teacher, languages.reversed if config.backward else languages
    if not folder.is_dir():
        raise ConfigError(f"teacher {folder} is missing; name the folder of an exported model")
    translator, identity = Translator.load(folder), f"model {digest_bundle(folder)}"
    if translator.directions:
        identity += f" {direction}"
    if translator.directions or translator.languages:
        try:
            translator = translator.choose(*direction.codes)
        except ConfigError as error:
            raise ConfigError(
                f"the teacher {folder} must translate {direction}: {error}; name another teacher, "
                f"or another direction"
            ) from None

    def translate(lines: Sequence[str]) -> list[tuple[str, str]]:
        outputs = translator.search_best(lines, beam_size=config.beam_size)
        return [(best.text, find_flaw(best)) for best in outputs]

    return f"{identity} beam {config.beam_size}", translate


def find_flaw(best: Translation) -> str:
    """Return the first problem of a translation; empty if it is usable."""
    for breach in best.breaches:
        return breach.problem if is_flaw(breach) else "literals"
    return ""


class WrittenSynthesis(Config):
    """A synthetic corpus on disk, and the counts of unusable translations."""

    teacher: str
    """Digest of the model, and beam size; of several directions, also that of the teacher."""
    backward: bool
    lines: int
    kept: int
    """Number of usable pairs."""
    dropped: dict[str, int]
    """Number of unusable translations, by reason."""


def synthesize(
    config: SynthesisConfig,
    name: str,
    languages: Languages,
    *,
    say: Callable[[int, int], object] = lambda *_: None,
) -> WrittenSynthesis:
    """Translate text by a teacher, write the usable pairs of a direction, and return the counts.

    ``name`` is that of the synthetic corpus. ``say`` receives the number of translated lines, and
    of all lines.

    Raises:
        ConfigError: if the teacher is missing, or lacks the direction.
        CorpusError: if there is no text, or fewer than ``MIN_KEPT`` translations are usable.
    """
    present = paths.CORPUS, paths.MONOLINGUAL
    total = sum(1 for _ in open_text(config, languages, *present))
    if not total:
        texts = config.text or list_texts(config, languages, *present)
        raise CorpusError(f"there is no text to translate in {', '.join(map(str, texts))}")
    identity, translate = load_teacher(config, languages)
    lines, dropped, written = open_text(config, languages, *present), Counter[str](), 0
    with files.whole_folder(find_folder(name) / "pairs") as part, ExitStack() as opened:
        source, target = (
            opened.enter_context((part / f"train.{side}").open("w", encoding="utf-8"))
            for side in paths.SIDES
        )
        if config.backward:
            source, target = target, source
        while chunk := [*islice(lines, CHUNK_LINES)]:
            for line, (text, flaw) in zip(
                chunk, translate_chunk(find_folder(name), identity, translate, chunk), strict=True
            ):
                written += 1
                if flaw:
                    dropped[flaw] += 1
                else:
                    print(line, file=source)
                    print(text, file=target)
            say(written, total)
        result = WrittenSynthesis(
            teacher=identity,
            backward=config.backward,
            lines=written,
            kept=written - dropped.total(),
            dropped=dict(sorted(dropped.items())),
        )
        if result.kept < MIN_KEPT:
            reasons = ", ".join(f"{count} {reason}" for reason, count in result.dropped.items())
            raise CorpusError(
                f"only {result.kept} of {result.lines} translations are usable as training pairs "
                f"({reasons or 'there are no more'}); use another teacher, or other text"
            )
        files.write_json(part / "synthesis.json", result.model_dump(mode="json"))
    return result


def translate_chunk(
    folder: Path, identity: str, translate: Translate, lines: list[str]
) -> list[tuple[str, str]]:
    """Return the translations of a chunk with their flaws; read them from disk if they exist."""
    name = hashlib.sha256(json.dumps([identity, *lines]).encode()).hexdigest()[:32]
    path = folder / "chunks" / f"{name}.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_lines(path, map(json.dumps, translate(lines)))
    return [(text, flaw) for text, flaw in map(json.loads, files.read_lines(path))]


def check_inputs(config: SynthesisConfig, directions: Iterable[Languages]) -> None:
    """Check that the teacher and the named texts exist.

    Raises:
        ConfigError: if the teacher is missing, or lacks one of the directions.
        BundleError: if the teacher's export is damaged.
        CorpusError: if a text is missing.
    """
    read_texts(config.text)
    for languages in directions:
        load_teacher(config, languages)


def list_texts(
    config: SynthesisConfig, languages: Languages, corpus: Path, monolingual: Path
) -> list[Path]:
    """Return the default files to translate.

    Raises:
        CorpusError: if they do not exist.
    """
    code = languages.target if config.backward else languages.source
    monolingual_text = monolingual / f"{code}.txt"
    texts = [monolingual_text] if config.backward else [corpus / "train.source", monolingual_text]
    if existing := [path for path in texts if path.exists()]:
        return existing
    raise CorpusError(
        f"{monolingual_text} is missing; name files in {code} to translate, or add a corpus with "
        f"role: monolingual and language: {code} to download.corpora"
    )


def open_text(
    config: SynthesisConfig, languages: Languages, corpus: Path, monolingual: Path
) -> Iterator[str]:
    """Return the lines to translate; of training sources, those of one direction."""
    if config.text:
        return read_texts(config.text)
    lines = read_texts(list_texts(config, languages, corpus, monolingual))
    if config.backward:
        return lines
    inputs = Inputs(corpus=corpus, directions=paths.read_directions(corpus))
    chosen = (each == languages for each in paths.list_directions(inputs, "train"))
    return compress(lines, chain(chosen, repeat(True)))  # monolingual text follows


def read_texts(texts: Sequence[Path]) -> Iterator[str]:
    """Return the lines of files, without blank and overlong lines.

    Raises:
        CorpusError: if a file is missing, has pairs or is damaged, or a line is not UTF-8.
    """
    for path in texts:
        if not path.is_file():
            raise CorpusError(f"{path} is missing; text must name files with one sentence per line")
        if holds_both_sides(path):
            raise CorpusError(f"{path} {PAIRS_NO_LINES}")
    return (
        line
        for path in texts
        for number, raw in enumerate(read_raw_lines(path), start=1)
        if (line := _decode(raw, path, number)).strip()
    )


def _decode(raw: bytes | None, path: Path, number: int) -> str:
    line = decode_utf8((raw or b"").removesuffix(b"\r"), path, line=number)
    return line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line


def render_synthesis(written: Sequence[WrittenSynthesis]) -> str:
    """Return a table of the usable and unusable translations of each corpus, as Markdown."""
    lines = []
    for each in written:
        direction = " backward" if each.backward else ""
        rows = [["kept", f"{each.kept:,}"]]
        rows += [[reason, f"{count:,}"] for reason, count in each.dropped.items()]
        lines += [f"{each.lines:,} lines were translated{direction}. Teacher: {each.teacher}", ""]
        lines += [*render_pipe_table(["translations", "lines"], rows), ""]
    return "\n".join(lines)
