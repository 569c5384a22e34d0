"""``nmt explain``: alternatives, scores, attention and word alignments of translations."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, TextIO

import typer

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.cli import options
from nmt_core.cli.lines import (
    decode_argument,
    format_breaches,
    format_confidence,
    format_probabilities,
    format_ranks,
    open_portions,
    write_portions,
)
from nmt_core.text.aligner.aligner import format_links
from nmt_core.text.translation import Translation
from nmt_core.translation.translator import Translator


def explain(
    *,
    lines: options.LineArguments = None,
    model: options.Model,
    n_best: Annotated[
        int, typer.Option(metavar="N", min=1, help="Translations per line, best first.")
    ] = 1,
    beam_size: options.BeamSize = None,
    diversity: Annotated[
        float | None,
        typer.Option(metavar="D", min=0, help="Diversity of the N translations: 0 off, 1 high."),
    ] = None,
    prefix: options.Prefix = "",
    attention: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Draw attention of the best translation here."),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="Draw each head, and the encoder's attention, too.")
    ] = False,
    alignments: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write word alignments, as 0-0 2-1.")
    ] = None,
    show_search: Annotated[
        bool, typer.Option("--search", help="Show the beams after each token instead.")
    ] = False,
    glossary: options.GlossaryFile = None,
    source: options.SourceLanguage = None,
    target: options.TargetLanguage = None,
    tag: options.TagName = None,
    engine: options.EngineName = "auto",
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Show alternatives, attention and scores.

    Each line is one sentence.

    **Examples**

        nmt explain --n-best 5 --diversity 1 'Ein Haus.'

        nmt explain --attention pictures --alignments out.links < in.txt

    **Output**, with tabs between the fields: line number, rank, score, translation, `kept`
    or lost literals, confidence, and the probabilities of the tokens and the end.

    The score is the mean log-probability of the tokens (for a length penalty other than 1, their
    sum over the length to that power). `--attention` writes 1.png for line 1: a row for each token
    of the translation, a column for each token of the line, dark where attention is high. `--heads`
    adds 1-heads.png, with the heads of the decoder, and 1-encoder.png, with the heads of the
    encoder, where rows are tokens of the line. `--search` writes line number, number of tokens so
    far, rank (`end` if finished), log-probability and text.
    """
    if attention and attention.exists():
        raise ConfigError(f"--attention {attention} exists; give a new folder")
    if show_search and (file := attention or alignments):
        raise ConfigError(f"--search prints to the screen only; omit {file}")
    if heads and not attention:
        raise ConfigError("--heads draws into a folder; add --attention DIR")
    portions, beginning = open_portions(lines), decode_argument(prefix, name="--prefix")
    translator = options.open_translator(
        model,
        device,
        threads,
        engine=engine,
        glossary=glossary,
        tag=tag,
        direction=(source, target),
    )
    if show_search:
        write_search(translator, portions, beam_size, beginning)
        return
    size = beam_size or max(translator.config.beam.beam_size, n_best)
    explainer = Explainer(translator, beginning, size, n_best, diversity)
    explainer.search([])  # checks the options before any line is read
    if alignments and translator.load_aligner() is None:
        raise ConfigError("this model was exported without an aligner; export it again")
    if attention:  # before any work
        translator.text_search.make_tasks([])  # raises an error if there are two steps
        from nmt_core.evaluation import pictures  # noqa: F401
    with ExitStack() as stack:
        if alignments:
            part = stack.enter_context(files.whole_file(alignments))
            explainer.links = stack.enter_context(part.open("w", encoding="utf-8", newline=""))
        write_portions(portions, explainer.search, format_explanation, flag_below=0.0)
    if attention:
        draw_attention(attention, explainer, heads=heads)


def write_search(
    translator: Translator, portions: Iterable[list[str]], beam_size: int | None, prefix: str
) -> None:
    """Print the hypotheses of each line after each token of the search."""
    for number, line in enumerate(chain.from_iterable(portions), start=1):
        steps = translator.trace_search(line, beam_size=beam_size, prefix=prefix)
        for length, step in enumerate(steps, start=1):
            for rank, (text, log_prob, has_ended) in enumerate(step, start=1):
                place = "end" if has_ended else rank
                typer.echo(f"{number}\t{length}\t{place}\t{log_prob:.4f}\t{text}")


@dataclass
class Explainer:
    """A search that also writes word alignments, and records translations for attention maps."""

    translator: Translator
    prefix: str
    beam_size: int
    n_best: int
    diversity: float | None
    links: TextIO | None = None
    """The file of word alignments."""
    count: int = 0
    """Number of lines so far."""
    best: dict[int, tuple[str, Translation]] = field(default_factory=dict)
    """Nonempty lines by number, with their best translations."""

    def search(self, lines: list[str]) -> list[list[Translation]]:
        """Return the translations of each line, best first."""
        translations = self.translator.search(
            lines,
            beam_size=self.beam_size,
            n_best=self.n_best,
            diversity=self.diversity,
            prefixes=[self.prefix] * len(lines),
        )
        for line, own in zip(lines, translations, strict=True):
            self.count += 1
            if own[0].tokens:
                self.best[self.count] = line, own[0]
            if self.links and (aligner := self.translator.load_aligner()):
                links = aligner.align([(line, each.text) for each in own])
                self.links.writelines(f"{format_links(each)}\n" for each in links)
        return translations


def draw_attention(folder: Path, explainer: Explainer, *, heads: bool) -> None:
    """Draw the attention of lines into a new folder."""
    from nmt_core.evaluation.attention_heads import trace_heads  # needs torch
    from nmt_core.evaluation.pictures import Look, draw_looks  # needs matplotlib
    from nmt_core.translation.forced_decoding import trace_attention

    translator, looks = explainer.translator, dict[str, Look]()
    for number, (line, best) in explainer.best.items():
        look = trace_attention(translator, translator.source.tokenize(line), best)
        if look is None:
            raise ConfigError("this model has no attention; leave --attention out")
        looks[f"{number}"] = look
        if heads:
            [task] = translator.text_search.make_tasks([line])
            traced = trace_heads(translator.full.model, task.request.source, best.ids)
            if traced is None:
                raise ConfigError("this model has no attention heads; leave --heads out")
            size = len(look.source)  # a tag before them is left out
            encoder, decoder = traced[0][..., -size:, -size:], traced[1][..., -size:]
            looks[f"{number}-encoder"] = replace(look, target=look.source, weights=encoder)
            looks[f"{number}-heads"] = replace(look, weights=decoder)
    draw_looks(folder, looks)


def format_explanation(number: int, translations: Sequence[Translation]) -> Iterator[str]:
    """Yield the record of each translation of a line."""
    for ranked, each in zip(format_ranks(number, translations), translations, strict=True):
        checks, confidence = format_breaches(each.breaches), format_confidence(each.confidence)
        probabilities = format_probabilities(each.token_probabilities)
        yield f"{ranked}\t{checks}\t{confidence}\t{probabilities}"
