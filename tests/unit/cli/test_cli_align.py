"""``nmt align`` and ``nmt translate --alignments``: links of words, a line a pair."""

import shutil

import pytest

from nmt_core.alignment.bundle import load_aligner
from nmt_core.alignment.links import read_links
from nmt_core.text.alignment import align_words
from nmt_core.text.sentences import Span
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.presets import tiny_config
from tests.support.tiny import LINES, export, tiny_translator

SOURCES = ["das haus", "das rote haus", "", "er sieht das haus", "er sieht das rote haus"]
TARGETS = ["the house", "the house red", "", "he sees the house", "he sees the house red"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for name, lines in (("de", SOURCES), ("en", TARGETS)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def aligner(texts):
    folder = texts / "aligner"
    result = run("align", *pair(texts), "--learn", folder, "--out", texts / "links")
    assert (result.exit_code, result.stdout) == (0, "")
    return folder


def pair(texts):
    return "--source", texts / "de", "--target", texts / "en"


def test_links_are_written_a_line_a_pair(texts, aligner):
    links = (texts / "links").read_text().splitlines()

    assert {(0, 0), (1, 1)} == read_links(links[0])
    assert "" == links[2]
    assert load_aligner(aligner).align(list(zip(SOURCES, TARGETS, strict=True))) == [
        read_links(line) for line in links
    ]


def test_a_learnt_aligner_gives_the_same_links_again(texts, aligner, tmp_path):
    result = run("align", *pair(texts), "--aligner", aligner, "--out", tmp_path / "again")

    assert (result.exit_code, result.output) == (0, "")
    assert (texts / "links").read_text() == (tmp_path / "again").read_text()


def test_what_cannot_be_meant_is_told(texts, aligner, tmp_path):
    assert "say which aligner" in refuse("align", *pair(texts), "--out", tmp_path / "links")
    assert "add --out" in refuse("align", *pair(texts), "--aligner", aligner)
    (tmp_path / "short").write_text("the house\n")
    short = ("--source", texts / "de", "--target", tmp_path / "short")
    assert "has 5 lines" in refuse("align", *short, "--learn", tmp_path / "aligner")
    assert not (tmp_path / "aligner").exists()
    assert "holds short, which belongs to no aligner" in refuse(
        "align", *pair(texts), "--learn", tmp_path
    )
    assert run("align", *pair(texts), "--learn", aligner).exit_code == 0


def test_attention_links_words_of_translations(bundle, tmp_path):
    """Every word of a translation has a link, to the word that documents would take."""
    text = "".join(f"{line}\n" for line in LINES)
    result = run("translate", "--model", bundle, "--alignments", tmp_path / "links", lines=text)
    translator = Translator.load(bundle)
    links = [read_links(line) for line in (tmp_path / "links").read_text().splitlines()]

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == translator.translate(LINES)
    found = [best for [best] in translator.search(LINES, n_best=1, attention=True)]
    for line, best, own in zip(LINES, found, links, strict=True):
        assert {target for _, target in own} == set(range(len(best.text.split())))
        if line and best.text:
            spans = [cut(line), cut(best.text)]
            assert best.source_tokens == (*translator.source.tokens(line),)
            stands = align_words(line, spans[0], best, best.text, spans[1])
            assert own == frozenset((word, place) for place, word in enumerate(stands))


def cut(text):
    spans, end = [], 0
    for word in text.split():
        start = text.index(word, end)
        end = start + len(word)
        spans.append(Span(start, end))
    return spans


def test_each_of_several_translations_has_a_line_of_links(bundle, tmp_path):
    for option in (("--n-best", 2), ("--sample", 2)):
        asked = ("--alignments", tmp_path / "links", *LINES[:2])
        result = run("translate", "--model", bundle, *option, *asked)

        assert result.exit_code == 0
        assert (tmp_path / "links").read_text().count("\n") == result.stdout.count("\n") == 4


def test_an_aligner_links_translations(bundle, aligner, tmp_path):
    asked = ("--alignments", tmp_path / "links", "--aligner", aligner)
    result = run("translate", "--model", bundle, *asked, *LINES)
    written = load_aligner(aligner).align(
        list(zip(LINES, Translator.load(bundle).translate(LINES), strict=True))
    )

    assert result.exit_code == 0
    lines = (tmp_path / "links").read_text().splitlines()
    assert written == [read_links(line) for line in lines]


@pytest.mark.parametrize(
    ("options", "attention", "probabilities"),
    [
        ([], False, False),
        (["--scores"], False, True),
        (["--alignments", "links"], True, False),
        (["--alignments", "links", "--aligner"], False, False),
    ],
)
def test_no_more_is_asked_of_a_search_than_is_written(
    bundle, aligner, project, monkeypatch, options, attention, probabilities
):
    """Attention and probabilities take time, and some engines have none."""
    asked, search = [], Translator.search

    def watched(translator, lines, **wanted):
        asked.append((wanted["attention"], wanted["probabilities"]))
        return search(translator, lines, **wanted)

    monkeypatch.setattr(Translator, "search", watched)
    given = [*options, aligner] if "--aligner" in options else options
    assert run("translate", "--model", bundle, *given, *LINES).exit_code == 0
    assert {*asked} == {(attention, probabilities)}


def test_a_model_without_attention_says_so(aligner, tmp_path):
    plain = tiny_config("rnn_plain")
    model = export(tmp_path / "plain", translator=tiny_translator(model=plain), model=plain)
    command = "translate", "--model", model, "--alignments", tmp_path / "links", "Haus"

    assert "this model has no attention" in refuse(*command)
    assert not (tmp_path / "links").exists()
    assert run(*command, "--aligner", aligner).exit_code == 0


def test_links_that_go_nowhere_are_refused(bundle, aligner, tmp_path):
    assert "add --alignments" in refuse("translate", "--model", bundle, "--aligner", aligner, "a")
    told = refuse("translate", "--model", bundle, "--alignments", tmp_path / "x", "--paragraphs")
    assert "--alignments is for lines" in told


def test_verify_checks_every_file_of_an_aligner(aligner, tmp_path):
    result = run("verify", "--model", aligner)
    assert (result.exit_code, "Every file is as it was written (aligner 1)" in result.stdout) == (
        0,
        True,
    )

    altered = tmp_path / "altered"
    shutil.copytree(aligner, altered)
    (altered / "words.json").write_text("{}")
    assert "words.json was altered" in refuse("verify", "--model", altered)
