"""Measure markup kept around single words, and changes that glossary terms cause elsewhere.

Usage: python -m benchmarks.terms --model DIR --source FILE --terms FILE

Each line of the terms has a source word, its usual translation by the model (``|`` between several)
and the translation that a glossary wants, separated by tabs. A sentence counts for a word if the
word occurs in it once, and one usual translation in its plain translation once, in any case. Then
markup around the word must enclose that translation alone (or with ``'s``), and the glossary must
exchange it and nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape, unescape
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from nmt_core.base import files
from nmt_core.documents.html import read_html
from nmt_core.documents.plan import DocumentTranslator
from nmt_core.literals.glossary import Glossary
from nmt_core.translation.texts import open_documents, translate_texts
from nmt_core.translation.translator import Translator


class Case(NamedTuple):
    """A sentence with a word whose translation is known."""

    line: str
    plain: str
    usual: str

    def expect(self, form: str) -> str:
        """Return the plain translation with another form in the place of the usual one, folded."""
        return find_word(self.usual).sub(lambda _: form, self.plain).casefold()


def find_word(word: str) -> re.Pattern[str]:
    """Return what finds a word or several, in any case."""
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


def choose_cases(
    word: str, usual: Sequence[str], lines: Sequence[str], plain: Sequence[str]
) -> Iterator[Case]:
    """Yield the sentences in which a word and one of its usual translations occur once."""
    for line, translation in zip(lines, plain, strict=True):
        met = [(form, len(find_word(form).findall(translation))) for form in usual]
        forms = [form for form, count in met for _ in range(count)]
        if len(find_word(word).findall(line)) == len(forms) == 1:
            yield Case(line, translation, forms[0])


def mark(documents: DocumentTranslator, word: str, cases: Sequence[Case]) -> list[str]:
    """Return the translations of sentences with markup around a word."""
    marked = (find_word(word).sub(r"<b>\g<0></b>", escape(one.line, quote=False)) for one in cases)
    page = documents.translate(read_html("".join(f"<p>{line}</p>\n" for line in marked)))
    return [unescape(line) for line in re.findall("<p>(.*)</p>", page)]


def main(
    *,
    model: Annotated[Path, typer.Option(help="An exported model.")],
    source: Annotated[Path, typer.Option(help="Sentences, one a line.")],
    terms: Annotated[Path, typer.Option(help="Words, usual and wanted translations.")],
    show: Annotated[int, typer.Option(help="Failures to show of each word.")] = 0,
) -> None:
    """Print for each word how often its markup and its term come out as expected."""
    translator = Translator.load(model)
    assert translator.languages is not None
    documents = open_documents(translator)
    lines = [*files.read_lines(source)]
    plain = translator.translate(lines)
    console = Console(width=120)
    columns = ("sentences", "markup exact", "term used", "otherwise unchanged", "broken, unflagged")
    table = Table("term", *columns)
    totals = [0] * len(columns)
    for row in files.read_lines(terms):
        word, usual, form = row.split("\t")
        cases = [*choose_cases(word, usual.split("|"), lines, plain)]
        own = translator.add_glossary(Glossary({word: (form,)}, translator.languages.codes))
        hypotheses = translate_texts(own, [case.line for case in cases])
        marked = mark(documents, word, cases)
        exact, unchanged, used, silent = [], [], [], []
        for case, best, text in zip(cases, hypotheses, marked, strict=True):
            around = rf"<b>{re.escape(case.usual)}(['’]s?)?</b>"
            exact.append(bool(re.search(around, text, re.IGNORECASE)))
            unchanged.append(best.text.casefold() == case.expect(form))
            used.append(form.lower() in best.text.lower())
            silent.append(not unchanged[-1] and not best.breaches)
        counts = [len(cases), *map(sum, (exact, used, unchanged, silent))]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        table.add_row(f"{word} = {form}", *map(str, counts))
        failures = [n for n in range(len(cases)) if not (exact[n] and unchanged[n])]
        for number in failures[:show]:
            console.print(
                cases[number], marked[number], hypotheses[number].text, sep="\n", markup=False
            )
    table.add_section()
    shares = (f"{count} ({count / max(1, totals[0]):.1%})" for count in totals[1:])
    table.add_row("all", str(totals[0]), *shares)
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
