"""``nmt translate``: lines in, translations out."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nmt_core.base.errors import ConfigError
from nmt_core.cli.lines import await_lines, decode_argument
from nmt_core.cli.options import (
    Device,
    EngineName,
    GlossaryFile,
    Model,
    ReviewBelow,
    TagName,
    Threads,
    open_translator,
    use_memory,
)
from nmt_core.cli.records import format_records, translate_lines
from nmt_core.cli.translate_options import (
    FLAG_BELOW,
    Beginnings,
    DocumentOptions,
    Keep,
    Search,
    SearchOptions,
    choose_flag,
    keeps_whole,
    recall_first,
    refuse_in_conversation,
    search_texts,
    wants_documents,
)
from nmt_core.documents.formats import FORMATS
from nmt_core.documents.review import REVIEW_BELOW, write_review
from nmt_core.translation.translator import Translator


def translate(
    *,
    lines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LINE|FILE", help="Lines or documents to translate. \\[default: from stdin]"
        ),
    ] = None,
    model: Model,
    beam_size: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Beam size. \\[default: the model's]"),
    ] = None,
    n_best: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Write the N best: line, rank, score, text."),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(metavar="D", min=0, help="Diversity of the N best: 0 none, 1 much."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Sample N translations; some may be equal."),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(metavar="T", min=0, help="Sampling temperature. \\[default: 1]"),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Sample from the K likeliest tokens only."),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(metavar="P", help="Nucleus: the likeliest tokens of probability P."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Random seed of sampling. \\[default: 1]")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Prefix of every translation.")
    ] = None,
    prefix_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Prefixes, one a line, as many as lines.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write token probabilities and the score, too.")
    ] = False,
    checks: Annotated[
        bool,
        typer.Option("--checks", help="Write which numbers, placeholders and the like are lost."),
    ] = False,
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Write the probability that a translation is good."),
    ] = False,
    flag_below: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help=f"Name lines of a confidence below P; 0 for none. \\[default: {FLAG_BELOW}]",
        ),
    ] = None,
    attention: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write attention maps to this folder."),
    ] = None,
    interactive: Annotated[
        bool,
        typer.Option("--interactive", "-i", help="Ask for lines, and show the model's confidence."),
    ] = False,
    batch_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Source tokens per batch. \\[default: the model's]"),
    ] = None,
    alignments: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write word alignments to this file, as 0-0 2-1."),
    ] = None,
    aligner: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Aligner of nmt align for --alignments. \\[default: the model's own]",
        ),
    ] = None,
    whole_lines: Annotated[
        bool,
        typer.Option(
            "--whole-lines", help="Translate a line as it is, even if it has several sentences."
        ),
    ] = False,
    paragraphs: Annotated[
        bool,
        typer.Option(
            "--paragraphs", help="Read running text, wrapped or in paragraphs: --format text."
        ),
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Read a document of this format: {', '.join(FORMATS.ours)}. "
            "\\[default: by a file's name]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a document's translation there. \\[default: letter.en.docx]",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Encoding of the documents, as windows-1252. \\[default: UTF-8]"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a translation that is there.")
    ] = False,
    review: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write what is known of each segment to this XLIFF."),
    ] = None,
    review_below: ReviewBelow = REVIEW_BELOW,
    glossary: GlossaryFile = None,
    memory: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take approved translations of nmt memory import."),
    ] = None,
    tag: TagName = None,
    engine: EngineName = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate lines, given as arguments or by standard input, to standard output.

    One line in gives one line out, in the same order; an empty line stays empty. Lines that come in
    slowly are translated as they come.

    Each sentence of a line is translated by itself, for a model loses some of several at once; list
    markers, tabs and spaces around it stay. What needs a search of the whole
    line leaves it whole: `--whole-lines`, `--interactive`, `--n-best`, `--diversity`,
    `--sample`, `--prefix`, `--prefix-file`, `--scores`, `--alignments` and `--attention`. The
    confidence of a line that is cut is the lowest of its sentences.

    **Examples**

        nmt translate --model models/export 'Ein Haus.'

        nmt translate --model models/export < in.txt > out.txt

        nmt translate --model models/export --interactive

        nmt translate --model models/export --n-best 5 --diversity 1 < in.txt

        nmt translate --model models/export --sample 3 --temperature 0.8 --top-p 0.9 < in.txt

        nmt translate --model models/export --prefix 'This is' 'Ein Haus.'

        nmt translate --model models/export --attention pictures 'Ein Haus.'

        nmt translate --model models/export --paragraphs < letter > translated

        nmt translate --model models/export --format html < page > translated

        nmt translate --model models/export letter.docx page.html README.md film.srt

    **Documents** are an argument that ends like one (.txt, .html, .md, .srt, .docx, .po, .xlf,
    .json, and more), or standard input with `--paragraphs` or `--format`. They are cut into
    sentences; line ends, lists, tags, links, code and times stay as they are. letter.docx
    becomes letter.en.docx, by the target language; `--force` overwrites a file that is there. A
    line of one word that ends like that is translated by standard input. What somebody has
    translated in .po and .xlf stays; new units that are below `--review-below` (or without
    confidence), or lost a number or a placeholder, are marked for a person to look at.

    **What is written**, with tabs between fields:

    - plainly: the translation

    - `--scores`: translation, `[0.898 0.937 ...]`, `Score: -0.128`

    - `--n-best N`: number of the line, rank, score, translation; from 1

    - `--sample N`, N above 1: the same, in the order drawn

    - `--checks`, with any of these: then `kept`, or what of the line is not in the translation,
    such as `missing 94, unit 5`

    - `--confidence`, with any of these: last the confidence, such as `0.87`, or `-` where there is
    none

    - `--scores` with either: the same, then `[0.898 0.937 ...]`

    Probabilities are those of the tokens, and last that of the end of the sentence. The score is
    the mean of their logarithms (for a length penalty other than 1, their sum over the length to
    that power); higher is better. Both are the model's own, however a translation was found.

    With `--alignments`, the file gets a line for each translation: which word of the line (by
    number, from 0) goes with which of the translation; spaces separate words. The
    model's own aligner finds them, or another one: `nmt align --help`.

    `--attention` writes 1.png for line 1, and so on: a row for each token of its best translation,
    a column for each token of the line, dark where attention is high.

    Numbers with their units, dates, placeholders, addresses, files and emoji come through,
    numbers in the form of the target language. Lines, and segments of documents, that need review
    are named on standard error: what was lost, a low confidence, words read in another case or with
    accents. `--review` writes all of it as XLIFF; correct that and `nmt corrections import` it.

    A `--glossary` has a term, its translation and further forms that count on each line, with tabs
    between them. Inflected forms of a term are met, too, and those of its translation count. A term
    alone stays as it is, and so does what a regular expression between slashes finds. What is not
    in the translation by itself is put there.

    With `--memory`, a line, or else a sentence, whose translation was approved gets that one; lines
    with nothing else are named on standard error. `nmt memory search` shows what is like a line.

    A model that was trained on corpora with tags reads with `--tag` as if lines, or documents, were
    from one of them. Its card names its tags; without one, it is not told where a line is from.

    Confidence is the probability that a translation is good: that its chrF beside a reference
    reaches a bound, which the model card names beside how far that can be trusted. Lines below
    `--flag-below` are named on standard error. Empty lines, samples and translations with a prefix
    have none.

    A sample depends only on the text of its line and the random seed. A prefix is whole words in
    the target language; an empty one, or an empty line of its file, leaves the translation free.
    """
    options = SearchOptions(
        beam_size=beam_size,
        n_best=n_best,
        diversity=diversity,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    beginnings = Beginnings(prefix, prefix_file)
    only_lines = {
        "--interactive": interactive,
        "--n-best": n_best,
        "--diversity": diversity,
        "--sample": sample,
        "--prefix": prefix,
        "--prefix-file": prefix_file,
        "--scores": scores,
        "--checks": checks,
        "--confidence": confidence,
        "--flag-below": flag_below,
        "--alignments": alignments,
        "--aligner": aligner,
        "--attention": attention,
        "--whole-lines": whole_lines,
    }
    if interactive:
        refuse_in_conversation(lines=lines, alignments=alignments, attention=attention)
    given = [decode_argument(line, name="LINE") for line in lines or []]
    reads_text = paragraphs or force or encoding is not None
    documents = wants_documents(given, only_lines, paragraphs=reads_text, kind=kind, output=output)
    translator = open_translator(
        model,
        device,
        threads,
        engine=engine,
        batch_tokens=batch_tokens,
        glossary=glossary,
        tag=tag,
    )
    translator = use_memory(translator, memory)
    if review:
        from nmt_core.cli.documents import refuse_review  # slow to import

        refuse_review(review, translator, force=force)
    if documents:
        from nmt_core.cli.documents import translate_documents  # slow to import

        translate_documents(
            translator,
            given,
            options=DocumentOptions(kind, output, encoding, force, review),
            beam_size=beam_size,
            review_below=review_below,
        )
        return
    search = options.search(translator, probabilities=scores or interactive)
    search([], [])  # refuses what is out of range before any line comes
    if keeps_whole(only_lines):
        search = partial(recall_first, search, translator)
    else:
        search = partial(search_texts, translator, beam_size)
    below = choose_flag(translator, flag_below, confidence=confidence)
    write = partial(format_records, ranked=options.ranked, scores=scores, checks=checks)
    write = partial(write, confidence=confidence)
    with (
        _keep_links(translator, alignments, aligner) as keep,
        _draw_attention(translator, attention, search) as search,
    ):
        if interactive:
            from nmt_core.cli.conversation import translate_interactively

            translate_interactively(search, beginnings, below)
        else:
            portions = iter([given]) if lines is not None else await_lines()
            segments = translate_lines(portions, search, beginnings, write, below, keep)
            if review and translator.languages:
                write_review(review, {"lines": segments}, translator.languages.codes, below)


def _keep_links(
    translator: Translator, path: Path | None, aligner: Path | None
) -> AbstractContextManager[Keep]:
    """Return a function that writes the links of each line to a file, if one is given.

    Raises:
        ConfigError: if an aligner has nothing to do, or the model has none.
        BundleError: if the aligner is not what was learnt.
    """
    if path is not None:
        from nmt_core.cli.alignments import keep_links  # imports torch

        return keep_links(translator, path, aligner)
    if aligner is not None:
        raise ConfigError("--aligner finds links of words; add --alignments FILE to keep them")
    return nullcontext(lambda _line, _found: None)


def _draw_attention(
    translator: Translator, folder: Path | None, search: Search
) -> AbstractContextManager[Search]:
    """Return the same search; with a folder, where translations looked is drawn at its end.

    Raises:
        ConfigError: if the folder is there.
    """
    if folder is None:
        return nullcontext(search)
    from nmt_core.cli.attention import draw_attention  # imports Matplotlib

    return draw_attention(translator, folder, search)
