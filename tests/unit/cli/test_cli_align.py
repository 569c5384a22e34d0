"""``nmt align`` and ``nmt translate --alignments``: links of words, a line a pair."""

import shutil
from dataclasses import replace

import pytest

from nmt_core.text.aligner.aligner import read_links
from nmt_core.text.aligner.bundle import load_aligner
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
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


@pytest.fixture(scope="module")
def aligning(texts, aligner):
    """A model with an aligner of its own."""
    own = replace(tiny_translator(), aligner=load_aligner(aligner))
    return export(texts / "model", translator=own)


def test_each_of_several_translations_has_a_line_of_links(aligning, tmp_path):
    for option in (("--n-best", 2), ("--sample", 2)):
        asked = ("--alignments", tmp_path / "links", *LINES[:2])
        result = run("translate", "--model", aligning, *option, *asked)

        assert result.exit_code == 0
        assert (tmp_path / "links").read_text().count("\n") == result.stdout.count("\n") == 4


@pytest.mark.parametrize("named", [True, False])
def test_an_aligner_links_translations(bundle, aligning, aligner, tmp_path, named):
    model = (bundle, "--aligner", aligner) if named else (aligning,)
    result = run("translate", "--alignments", tmp_path / "links", "--model", *model, *LINES)
    written = load_aligner(aligner).align(
        list(zip(LINES, Translator.load(bundle).translate(LINES), strict=True))
    )

    assert result.exit_code == 0
    lines = (tmp_path / "links").read_text().splitlines()
    assert written == [read_links(line) for line in lines]


def test_a_model_without_an_aligner_says_so(bundle, aligner, tmp_path):
    command = "translate", "--model", bundle, "--alignments", tmp_path / "links", "Haus"

    assert "exported without an aligner" in refuse(*command)
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
