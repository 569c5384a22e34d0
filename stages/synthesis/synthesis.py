"""Translate text in chunks by a teacher model, and select pairs for training.

The translations of a chunk are in a file that is named by a digest of teacher, search and lines. So
a stopped run continues, and only new text is translated.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import BYTE_ORDER_MARK, decode_utf8, read_raw_lines
from nmt_core.base.seal import digest_bundle
from nmt_core.corpora.formats.paired_units import PAIRS_NO_LINES, holds_both_sides
from nmt_core.translation.protection import is_flaw
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator
from stages import paths
from stages.reporting.pages import quote_text, render_pipe_table
from stages.synthesis.composition import SynthesisConfig

EXAMPLES = 3
"""Pairs that are shown of those that were dropped, for each reason."""

LEAST_KEPT = 10
"""Pairs below which there is nothing to learn from."""


class TeacherLine(NamedTuple):
    """A translation of a line by a teacher."""

    text: str
    score: float
    """Length-normalised log-probability."""
    flaw: str
    """The first problem of the translation, such as ``looping`` or ``literals``; empty if sound."""


class Teacher:
    """An exported model that translates text for training, backward if settings say so.

    Args:
        config: the export, and its search.
        languages: of the model that will learn.

    Raises:
        BundleError: if the export is not sound.
        ConfigError: if there is no export, or it translates other languages.
    """

    def __init__(self, config: SynthesisConfig, languages: Languages) -> None:
        if config.backward:
            languages = Languages(source=languages.target, target=languages.source)
        folder = config.teacher
        if not folder.is_dir():
            raise ConfigError(f"teacher {folder} is missing; name the folder of an exported model")
        self._translator = Translator.load(folder)
        known = self._translator.languages
        if known is not None and known != languages:
            raise ConfigError(
                f"{folder} translates {known.source} to {known.target}, but the teacher has to "
                f"translate {languages.source} to {languages.target}; name another one"
            )
        self._config = config
        self.identity = f"model {digest_bundle(folder)} beam {config.beam_size}"

    def translate(self, lines: Sequence[str]) -> list[TeacherLine]:
        """Return the translation of every line."""
        size = self._config.beam_size
        outputs = self._translator.search(lines, beam_size=size, n_best=1, probabilities=False)
        return [TeacherLine(best.text, best.score, find_flaw(best)) for best, *_ in outputs]


def find_flaw(best: Translation) -> str:
    """Return the first problem of a translation; empty if it is sound."""
    for breach in best.breaches:
        return breach.problem if is_flaw(breach) else "literals"
    return ""


class WrittenSynthesis(Config):
    """The corpus on the disk, and what was left out of it."""

    teacher: str
    """Digest of the model and settings of its search."""
    backward: bool
    lines: int
    kept: int
    dropped: dict[str, int]
    """Translations that are not learnt, by reason."""
    least_score: float | None
    """Score below which translations are dropped; None if the score drops none."""
    examples: dict[str, list[tuple[str, str]]]
    """Some dropped translations with their text, by reason."""


def synthesize(
    config: SynthesisConfig,
    languages: Languages,
    *,
    corpus: Path = paths.CORPUS,
    monolingual: Path = paths.MONOLINGUAL,
    say: Callable[[int, int], object] = lambda *_: None,
) -> WrittenSynthesis:
    """Let a teacher translate text, and write the selected pairs as files of a corpus.

    Args:
        config: settings.
        languages: of the model that will learn from the pairs.
        corpus: the training pairs.
        monolingual: the text of one language alone.
        say: takes the number of translated lines, and of all lines.

    Raises:
        ConfigError: if there is no such teacher, or it translates other languages.
        CorpusError: if there is no text, or hardly any translation is selected.
    """
    texts = config.text or list_texts(config, languages, corpus, monolingual)
    total = sum(1 for _ in read_texts(texts))
    if not total:
        raise CorpusError(f"there is no text to translate in {', '.join(map(str, texts))}")
    teacher = Teacher(config, languages)
    chunks = translate_chunks(teacher, config, texts, lambda done: say(done, total))
    return write_pairs(teacher, config, texts, chunks)


def check_inputs(config: SynthesisConfig, languages: Languages) -> None:
    """Check that the teacher and the named texts exist.

    Raises:
        ConfigError: if there is no such teacher, or it translates other languages.
        BundleError: if the teacher's export is not sound.
        CorpusError: if a text is missing.
    """
    read_texts(config.text)
    Teacher(config, languages)


def list_texts(
    config: SynthesisConfig, languages: Languages, corpus: Path, monolingual: Path
) -> list[Path]:
    """Return the files that are translated where none are named.

    Raises:
        CorpusError: if there are none.
    """
    alone = monolingual / f"{languages.target if config.backward else languages.source}.txt"
    texts = [alone] if config.backward else [corpus / "train.source", alone]
    if there := [path for path in texts if path.exists()]:
        return there
    raise CorpusError(
        f"{alone} is not there: name files of {alone.stem} to translate, or give "
        f"download.corpora one with role: monolingual and language: {alone.stem}"
    )


def read_texts(texts: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of files that are not blank; a line that is too long for text is left out.

    Raises:
        CorpusError: if a file is missing, holds pairs or is damaged, or a line is not UTF-8.
    """
    for path in texts:
        if not path.is_file():
            raise CorpusError(f"{path} is missing; text must name files with a sentence a line")
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


def translate_chunks(
    teacher: Teacher, config: SynthesisConfig, texts: Sequence[Path], say: Callable[[int], object]
) -> list[Path]:
    """Translate the chunks that are not translated yet, and return the files of all chunks.

    Args:
        teacher: translates.
        config: how many lines a chunk has.
        texts: files of lines.
        say: takes how many lines are done.
    """
    lines, done, chunks = read_texts(texts), 0, list[Path]()
    while chunk := [*islice(lines, config.chunk_lines)]:
        # a name holds all that decides the translations; the 0 keeps the names of earlier chunks
        decided = json.dumps([teacher.identity, 0, *chunk])
        name = hashlib.sha256(decided.encode()).hexdigest()[:32]
        path = config.folder / "chunks" / f"{name}.jsonl"
        if not path.exists():
            translated = teacher.translate(chunk)
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_lines(path, map(json.dumps, translated))
        chunks.append(path)
        done += len(chunk)
        say(done)
    return chunks


def read_chunks(chunks: Sequence[Path]) -> Iterator[TeacherLine]:
    """Yield the translations in files of chunks, in order."""
    lines = chain.from_iterable(files.read_lines(path) for path in chunks)
    return (TeacherLine(*json.loads(line)) for line in lines)


def write_pairs(
    teacher: Teacher, config: SynthesisConfig, texts: Sequence[Path], chunks: Sequence[Path]
) -> WrittenSynthesis:
    """Write the pairs that are kept, and what was left out.

    Args:
        teacher: has translated.
        config: what is kept.
        texts: files of lines.
        chunks: files of their translations.

    Raises:
        CorpusError: if hardly any are kept.
    """
    least = find_least_score(chunks, config.lowest)
    dropped, kept = Counter[str](), 0
    examples: dict[str, list[tuple[str, str]]] = {}
    with files.whole_folder(config.folder / "pairs") as part, ExitStack() as opened:
        source, target = (
            opened.enter_context((part / f"train.{side}").open("w", encoding="utf-8"))
            for side in paths.SIDES
        )
        for line, output in zip(read_texts(texts), read_chunks(chunks), strict=True):
            if reason := output.flaw or ("low score" if output.score < least else ""):
                dropped[reason] += 1
                if dropped[reason] <= EXAMPLES:
                    examples.setdefault(reason, []).append((line, output.text))
                continue
            kept += 1
            pair = (output.text, line) if config.backward else (line, output.text)
            print(pair[0], file=source)
            print(pair[1], file=target)
        written = WrittenSynthesis(
            teacher=teacher.identity,
            backward=config.backward,
            lines=kept + dropped.total(),
            kept=kept,
            dropped=dict(sorted(dropped.items())),
            least_score=None if least == -math.inf else least,
            examples=examples,
        )
        if kept < LEAST_KEPT:
            reasons = ", ".join(f"{count} {reason}" for reason, count in written.dropped.items())
            raise CorpusError(
                f"of {written.lines} translations {kept} are usable as training pairs "
                f"({reasons or 'there are no more'}); take another teacher, or other text"
            )
        files.write_json(part / "synthesis.json", written.model_dump(mode="json"))
    return written


def find_least_score(chunks: Sequence[Path], lowest: float) -> float:
    """Return the score below which a share of the translations without a flaw lies."""
    sound = (output.score for output in read_chunks(chunks) if not output.flaw)
    scores = np.fromiter(sound, dtype=np.float32)
    return float(np.quantile(scores, lowest)) if scores.size and lowest else -math.inf


def render_synthesis(written: WrittenSynthesis) -> str:
    """Return what was kept and what was not, as Markdown."""
    direction = " backward" if written.backward else ""
    rows = [["kept", f"{written.kept:,}"]]
    rows += [[reason, f"{count:,}"] for reason, count in written.dropped.items()]
    shown = [
        [reason, quote_text(line), quote_text(translation)]
        for reason, pairs in written.examples.items()
        for line, translation in pairs
    ]
    lines = [f"{written.lines:,} lines were translated{direction}. Teacher: {written.teacher}", ""]
    lines += render_pipe_table(["translations", "lines"], rows)
    if shown:
        head = ["left out as", "text", "translation"]
        lines += ["", *render_pipe_table(head, shown, numbers="---")]
    return "\n".join([*lines, ""])
