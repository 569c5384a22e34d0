"""``nmt explain``: alternatives, scores, attention and word alignments of translations."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli.options import (
    BeamSize,
    Device,
    EngineName,
    GlossaryFile,
    LineArguments,
    Model,
    Prefix,
    PrefixFile,
    TagName,
    Threads,
    open_portions,
    open_translator,
)
from nmt_core.cli.records import (
    Prefixes,
    format_breaches,
    format_confidence,
    format_probabilities,
    format_ranks,
    write_portions,
)
from nmt_core.text.aligner.aligner import Aligner, format_links, load_aligner
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator

if TYPE_CHECKING:
    from nmt_core.evaluation.pictures import Look

MOST_PICTURES = 100
"""Limit of lines whose attention is drawn."""

MOST_TOKENS = 100
"""Limit of tokens on a side of a picture."""


def explain(
    *,
    lines: LineArguments = None,
    model: Model,
    n_best: Annotated[
        int, typer.Option(metavar="N", min=1, help="Translations per line, best first.")
    ] = 1,
    beam_size: BeamSize = None,
    diversity: Annotated[
        float | None,
        typer.Option(metavar="D", min=0, help="Diversity of the N translations: 0 none, 1 much."),
    ] = None,
    prefix: Prefix = None,
    prefix_file: PrefixFile = None,
    attention: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the attention of each best one there.")
    ] = None,
    alignments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write word alignments, as 0-0 2-1.")
    ] = None,
    aligner: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Aligner of nmt align. \\[default: the model's own]"),
    ] = None,
    glossary: GlossaryFile = None,
    tag: TagName = None,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Show alternatives of translations, their scores, attention and word alignments.

    Each line is one sentence.

    **Examples**

        nmt explain --n-best 5 --diversity 1 'Ein Haus.'

        nmt explain --attention pictures --alignments out.links < in.txt

    **Output**, with tabs between the fields: number of the line, rank, score, translation, `kept`
    or lost literals, confidence, and the probabilities of the tokens and the end.

    The score is the mean log-probability of the tokens (for a length penalty other than 1, their
    sum over the length to that power). `--attention` writes 1.png for line 1: a row for each token
    of the translation, a column for each of the line, dark where attention is high.
    """
    if beam_size and n_best > beam_size:
        raise ConfigError(f"--n-best {n_best} needs a beam at least as wide; use --beam-size")
    if aligner and not alignments:
        raise ConfigError("--aligner finds word alignments; add --alignments FILE to keep them")
    if attention and attention.exists():
        raise ConfigError(f"--attention {attention} exists; name a new folder")
    portions, prefixes = open_portions(lines), Prefixes(prefix, prefix_file)
    translator = open_translator(model, device, threads, engine=engine, glossary=glossary, tag=tag)
    size = max(beam_size or translator.config.beam.beam_size, n_best)
    explainer = Explainer(translator, prefixes, size, n_best, diversity)
    explainer.search([])  # refuses what is out of range before any line comes
    with ExitStack() as stack:
        if attention:
            explainer.pictures = AttentionPictures(translator)
        if alignments:
            explainer.aligner = choose_aligner(translator, aligner)
            part = stack.enter_context(files.whole_file(alignments))
            explainer.links = stack.enter_context(part.open("w", encoding="utf-8", newline=""))
        write_portions(portions, explainer.search, format_explanation, flag_below=0.0)
        prefixes.end()
    if attention and explainer.pictures:
        explainer.pictures.draw(attention)


@dataclass
class Explainer:
    """A search that also draws attention and writes word alignments."""

    translator: Translator
    prefixes: Prefixes
    beam_size: int
    n_best: int
    diversity: float | None
    pictures: "AttentionPictures | None" = None
    aligner: Aligner | None = None
    links: TextIO | None = None
    """The file of word alignments."""

    def search(self, lines: list[str]) -> list[list[Translation]]:
        """Return the translations of each line, best first."""
        translations = self.translator.search(
            lines,
            beam_size=self.beam_size,
            n_best=self.n_best,
            diversity=self.diversity,
            prefixes=self.prefixes.take(len(lines)),
        )
        for line, own in zip(lines, translations, strict=True):
            if self.pictures:
                self.pictures.add(line, own[0])
            if self.aligner and self.links:
                links = self.aligner.align([(line, each.text) for each in own])
                self.links.writelines(f"{format_links(each)}\n" for each in links)
        return translations


@dataclass
class AttentionPictures:
    """Attention maps of translations."""

    translator: Translator
    looks: "dict[int, Look]" = field(default_factory=dict)
    """By the number of the line."""
    lines: int = 0
    left_out: int = 0

    def add(self, line: str, best: Translation) -> None:
        """Add the attention of a line's translation.

        Raises:
            ConfigError: if the model has no attention.
        """
        self.lines += 1
        text = self.translator.source.tokenize(line)
        if not text.tokens:
            return
        is_long = max(len(text.tokens), len(best.tokens)) > MOST_TOKENS
        if is_long or len(self.looks) == MOST_PICTURES:
            self.left_out += 1
            return
        from nmt_core.translation.forced_decoding import trace_attention  # needs matplotlib

        look = trace_attention(self.translator, text, best)
        if look is None:
            raise ConfigError("this model has no attention; leave --attention out")
        self.looks[self.lines] = look

    def draw(self, folder: Path) -> None:
        """Write the pictures, and report the number of lines that are left out."""
        from nmt_core.evaluation.pictures import draw_looks

        draw_looks(folder, self.looks)
        if self.left_out:
            typer.echo(
                f"{self.left_out} lines are not drawn in {folder}: more than {MOST_PICTURES} "
                f"lines, or {MOST_TOKENS} tokens",
                err=True,
            )


def choose_aligner(translator: Translator, folder: Path | None) -> Aligner:
    """Return the aligner in a folder, or else that of the model.

    Raises:
        ConfigError: if there is none.
        BundleError: if the folder is damaged.
    """
    aligner = load_aligner(folder) if folder else translator.aligner
    if aligner is None:
        raise ConfigError(
            "this model was exported without an aligner; give one by --aligner DIR (see nmt align "
            "--help), or export the model again"
        )
    return aligner


def format_explanation(number: int, translations: Sequence[Translation]) -> Iterator[str]:
    """Yield the record of each translation of a line."""
    for ranked, each in zip(format_ranks(number, translations), translations, strict=True):
        checks, confidence = format_breaches(each.breaches), format_confidence(each.confidence)
        probabilities = format_probabilities(each.token_probabilities)
        yield f"{ranked}\t{checks}\t{confidence}\t{probabilities}"
