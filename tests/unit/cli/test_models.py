"""``nmt verify`` and ``align``: models and aligners are checked and used alone."""

import shutil

import pytest

from nmt_core.base.seal import digest_bundle
from nmt_core.text.aligner.aligner import format_links, load_aligner
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.tiny import tiny_translator

SOURCES = ["das haus", "das rote haus", "", "er sieht das haus", "er sieht das rote haus"]
TARGETS = ["the house", "the house red", "", "he sees the house", "he sees the house red"]


def test_verify_lists_files_and_checks_golden_sentences(bundle, monkeypatch):
    result = run("verify", "--model", bundle)

    assert result.exit_code == 0
    assert f"bundle_sha256: {digest_bundle(bundle)}\n" in result.stdout
    assert "torch: all golden sentences are translated as at the time of export." in result.stdout

    loaded = iter([tiny_translator(seed=5), tiny_translator()])  # the first has changed
    monkeypatch.setattr(Translator, "load", lambda *_, **__: next(loaded))
    monkeypatch.setattr("nmt_core.cli.verify.list_usable_engines", lambda _: ["torch"] * 2)
    result = run("verify", "--model", bundle)
    assert (result.exit_code, "was translated as" in result.stdout) == (1, True)
    assert "translates 3 golden sentences differently" in result.stderr


def test_error_is_one_line(tmp_path):
    message = refuse("verify", "--model", tmp_path / "[red]none")

    assert message.startswith(f"nmt: {tmp_path}/[red]none is not an exported model")
    assert message.count("\n") == 1


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for name, lines in (("de", SOURCES), ("en", TARGETS)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return "--source", folder / "de", "--target", folder / "en"


@pytest.fixture(scope="module")
def aligner(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("aligner") / "aligner"
    result = run("align", *texts, "--learn", folder, "--out", folder.parent / "links")
    assert (result.exit_code, result.stdout) == (0, "")
    return folder


def test_align_writes_a_line_of_links_a_pair(texts, aligner):
    links = (aligner.parent / "links").read_text()
    read = links.splitlines()
    again = aligner.parent / "again"
    result = run("align", *texts, "--aligner", aligner, "--out", again)

    assert (read[0], read[2]) == ("0-0 1-1", "")
    expected = load_aligner(aligner).align(list(zip(SOURCES, TARGETS, strict=True)))
    assert read == [format_links(each) for each in expected]
    assert (result.exit_code, result.output, again.read_text()) == (0, "", links)


def test_align_refuses_contradictory_options(texts, aligner, tmp_path):
    (tmp_path / "short").write_text("the house\n")
    refused = {
        "align requires either": (*texts, "--out", tmp_path / "links"),
        "requires --out": (*texts, "--aligner", aligner),
        "has 5 lines": (*texts[:3], tmp_path / "short", "--learn", tmp_path / "aligner"),
        "contains other files than one aligner": (*texts, "--learn", tmp_path),
    }
    for message, arguments in refused.items():
        assert message in refuse("align", *arguments)
    assert not (tmp_path / "aligner").exists()
    assert run("align", *texts, "--learn", aligner).exit_code == 0


def test_verify_checks_every_file_of_an_aligner(aligner, tmp_path):
    result = run("verify", "--model", aligner)
    assert result.exit_code == 0
    assert "All files are intact." in result.stdout

    shutil.copytree(aligner, tmp_path / "altered")
    (tmp_path / "altered" / "words.json").write_text("{}")
    assert "words.json was altered" in refuse("verify", "--model", tmp_path / "altered")
