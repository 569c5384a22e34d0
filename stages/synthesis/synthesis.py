"""Translate text in chunks, and keep the pairs that are worth learning from.

What a teacher has made of a chunk lies in a file named after all that decided it: teacher, search
and lines. So whoever is stopped goes on, whoever has more text translates the rest alone, and
several machines that see one folder share the chunks.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path

import numpy as np

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.screening.findings import settle_findings
from nmt_core.corpora.screening.inspection import inspect_sample
from nmt_core.corpora.screening.settings import LookConfig
from nmt_core.text.subwords import sample_evenly
from stages import paths
from stages.reporting.markdown import quote_text, render_pipe_table
from stages.synthesis.settings import SynthesisConfig
from stages.synthesis.teachers import TaughtLine, Teacher, find_teacher
from stages.synthesis.texts import read_texts

EXAMPLES = 3
"""Pairs that are shown of those that were dropped, for each reason."""

SAMPLE_LINES = 20_000
"""Lines of a text that are looked at before it is translated."""

LEAST_KEPT = 10
"""Pairs below which there is nothing to learn from."""

Say = Callable[[int, int], object]
"""Takes how many lines are translated, and of how many."""


class WrittenSynthesis(Config):
    """The corpus on the disk, and what was left out of it."""

    teacher: str
    """What decided the translations."""
    backward: bool
    lines: int
    kept: int
    dropped: dict[str, int]
    """Translations that are not learnt, by reason."""
    least_score: float | None
    """Score below which they are dropped; None where the teacher tells none."""
    examples: dict[str, list[tuple[str, str]]]
    """Some of the dropped, with their text."""


def synthesize(
    config: SynthesisConfig,
    languages: Languages,
    *,
    corpus: Path = paths.CORPUS,
    monolingual: Path = paths.MONOLINGUAL,
    look: LookConfig | None = None,
    say: Say = lambda *_: None,
) -> WrittenSynthesis | None:
    """Let a teacher translate text, and write the pairs that are kept as files of a corpus.

    Args:
        config: settings.
        languages: of the model that will learn from them.
        corpus: the training pairs.
        monolingual: the text of one language alone.
        look: at the pairs, and before they are made at files of settings, which nobody else looks
            at; None for none.
        say: takes progress.

    Returns:
        None if other machines have not translated their parts yet.

    Raises:
        ConfigError: if there is no such teacher, or it translates other languages.
        CorpusError: if there is no text, all of it is wrong, or hardly anything is kept.
        DownloadError: if a server does not translate.
    """
    texts = config.text or list_texts(config, languages, corpus, monolingual)
    total = sum(1 for _ in read_texts(texts))
    if not total:
        raise CorpusError(f"there is no text to translate in {', '.join(map(str, texts))}")
    if config.text and look:
        look_at_texts(texts, total, config, languages, look)
    teacher = open_teacher(config, languages)
    chunks = translate_part(teacher, config, texts, lambda done: say(done, total))
    if not all(path.exists() for path in chunks):
        return None
    return write_pairs(teacher, config, texts, chunks)


def open_teacher(config: SynthesisConfig, languages: Languages) -> Teacher:
    """Return the teacher of a training in these languages, of the other direction if backward.

    Raises:
        ConfigError: if there is no such teacher, or it translates other languages.
        BundleError: if an export is not sound.
        DownloadError: if an address is none.
    """
    turned = Languages(source=languages.target, target=languages.source)
    return find_teacher(config, turned if config.backward else languages)


def check_inputs(config: SynthesisConfig, languages: Languages) -> None:
    """Look whether the teacher and the texts that are named can be had.

    Raises:
        ConfigError: if there is no such teacher, or it translates other languages.
        BundleError: if an export is not sound.
        CorpusError: if a text is not there.
        DownloadError: if an address is none.
    """
    read_texts(config.text)
    open_teacher(config, languages)


def look_at_texts(
    texts: Sequence[Path],
    total: int,
    config: SynthesisConfig,
    languages: Languages,
    look: LookConfig,
) -> None:
    """Stop for what is wrong with all of a text, before hours of translating.

    Raises:
        CorpusError: if something is.
    """
    code = languages.target if config.backward else languages.source
    sample = [(line,) for line in sample_evenly(read_texts(texts), total, SAMPLE_LINES)]
    settle_findings(config.corpus, inspect_sample(sample, (code,)), look.accepted)


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


def translate_part(
    teacher: Teacher, config: SynthesisConfig, texts: Sequence[Path], say: Callable[[int], object]
) -> list[Path]:
    """Translate the chunks of this machine's part that are not translated yet.

    Args:
        teacher: translates.
        config: which part, and how many lines a chunk has.
        texts: files of lines.
        say: takes how many lines are done.

    Returns:
        The files of all chunks, also of those that other machines have not translated yet.
    """
    number, parts = map(int, config.part.split("/"))
    lines, done, chunks = read_texts(texts), 0, list[Path]()
    while chunk := [*islice(lines, config.chunk_lines)]:
        path = config.folder / "chunks" / f"{name_chunk(teacher, chunk)}.jsonl"
        if len(chunks) % parts == number - 1 and not path.exists():
            taught = teacher.teach(chunk)
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_lines(path, map(json.dumps, taught))
        chunks.append(path)
        done += len(chunk)
        say(done)
    return chunks


def name_chunk(teacher: Teacher, lines: Sequence[str]) -> str:
    """Return a name for the translations of lines, which holds all that decides them."""
    decided = json.dumps([teacher.identity, 0, *lines])  # 0: names of earlier chunks stay
    return hashlib.sha256(decided.encode()).hexdigest()[:32]


def read_taught(chunks: Sequence[Path]) -> Iterator[TaughtLine]:
    """Yield the translations in files of chunks, in order."""
    lines = chain.from_iterable(files.read_lines(path) for path in chunks)
    return (TaughtLine(*json.loads(line)) for line in lines)


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
        for line, taught in zip(read_texts(texts), read_taught(chunks), strict=True):
            if reason := find_reason(taught, least):
                dropped[reason] += 1
                if dropped[reason] <= EXAMPLES:
                    examples.setdefault(reason, []).append((line, taught.text))
                continue
            kept += 1
            pair = (taught.text, line) if config.backward else (line, taught.text)
            print(pair[0], file=source)
            print(pair[1], file=target)
        written = WrittenSynthesis(
            teacher=teacher.identity,
            backward=config.backward,
            lines=kept + dropped.total(),
            kept=kept,
            dropped=dict(sorted(dropped.items())),
            least_score=least,
            examples=examples,
        )
        require_pairs(written)
        files.write_json(part / "synthesis.json", written.model_dump(mode="json"))
    return written


def require_pairs(written: WrittenSynthesis) -> None:
    """Check that there is something to learn from.

    Raises:
        CorpusError: if hardly anything was kept.
    """
    if written.kept < LEAST_KEPT:
        reasons = ", ".join(f"{count} {reason}" for reason, count in written.dropped.items())
        raise CorpusError(
            f"of {written.lines} translations {written.kept} are worth learning from "
            f"({reasons or 'there are no more'}); take another teacher, or other text"
        )


def find_least_score(chunks: Sequence[Path], lowest: float) -> float | None:
    """Return the score below which a share of the translations without a flaw lies."""
    sound = (one.score for one in read_taught(chunks) if not one.flaw and one.score is not None)
    scores = np.fromiter(sound, dtype=np.float32)
    return float(np.quantile(scores, lowest)) if scores.size and lowest else None


def find_reason(taught: TaughtLine, least: float | None) -> str:
    """Return why a translation is not learnt; nothing if it is."""
    if taught.flaw:
        return taught.flaw
    unsure = least is not None and taught.score is not None and taught.score < least
    return "low score" if unsure else ""


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
