"""``--from`` and ``--to`` choose a direction of a multilingual model, in every command."""

import pytest

from nmt_core.cli import options
from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.multilingual import (
    ENGLISH,
    FRENCH,
    GERMAN,
    export_multilingual,
    multilingual_translator,
)
from tests.support.scripted import scripted_translator
from tests.support.tiny import LINES

IN_TARGET = "already in the target language"


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: multilingual_translator())


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("whole", [[], ["--whole-lines"]])
def test_lines_of_mixed_languages_need_only_the_target(tmp_path, whole):
    lines = [GERMAN, ENGLISH, "", FRENCH, "42"]
    words = ("translate", "--model", tmp_path, "--to", "en", "--checks", *whole)
    (tmp_path / "terms").write_text("Haus\thut\n")
    result = run(*words, lines="".join(f"{line}\n" for line in lines))

    assert result.stdout.splitlines() == [
        f"EN {GERMAN}\tkept",
        f"{ENGLISH}\t{IN_TARGET}",
        "\tkept",
        f"EN {FRENCH}\tkept",
        "42\tkept",
    ]
    assert result.stderr == f"1 of 5 lines needs review: line 2: {IN_TARGET}\n"
    named = run(*words, "--from", "de", "--glossary", tmp_path / "terms", "Haus")
    assert named.stdout == "EN hut\tkept\n"


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("command", "given", "message"),
    [
        ("translate", [], "name the target language (--to or target)"),
        ("translate", ["--to", "es"], "does not translate into es; it translates de-en, fr-en"),
        ("translate", ["--from", "es"], "does not translate from es; it"),
        ("translate", ["--from", "de"], "translates de-en, de-fr; name the target"),
        ("translate", ["--to", "en", "--glossary", "terms"], "the source language (--from or sou"),
        ("translate-file", ["--from", "fr", "--to", "de"], "does not translate from fr into de"),
        ("translate-file", ["--to", "en", "--review", "r.xlf"], "name the source language"),
        ("explain", ["--to", "en"], "name the source language (--from or source)"),
        ("explain", ["--from", "de", "--to", "fr", "--attention", "none"], "de-fr in two steps"),
        ("explain", ["--from", "de", "--to", "fr", "--search"], "choose de-en or en-fr"),
        ("sample", [], "name the target language"),
        ("sample", ["--from", "de", "--to", "fr"], "de-fr in two steps; choose de-en or en-fr"),
        ("next", ["--to", "en"], "name the source language"),
        ("next", ["--from", "en", "--to", "en"], "source and target are the same language"),
    ],
)
def test_missing_or_unknown_language_is_named(tmp_path, command, given, message):
    for lines in (b"Hund\n", b"") if command == "translate" else (b"Hund\n",):
        assert message in refuse(command, "--model", tmp_path, *given, lines=lines)


@pytest.mark.parametrize("command", ["translate", "translate-file", "explain", "sample", "next"])
def test_bilingual_model_may_be_asked_for_its_languages(tmp_path, monkeypatch, command):
    monkeypatch.setattr(options.Translator, "load", lambda *_, **__: scripted_translator(str.upper))
    monkeypatch.setattr(options.Translator, "next_tokens", lambda *_: [("x", 0.5)])
    monkeypatch.setattr(
        options.Translator, "sample", lambda self, lines, *_, **__: self.search(lines)
    )
    words = (command, "--model", tmp_path)
    plain = run(*words, lines="das haus").stdout

    assert plain
    assert run(*words, "--from", "de", "--to", "en", lines="das haus").stdout == plain
    assert "it translates de-en" in refuse(*words, "--to", "fr", lines="das haus")


@pytest.mark.usefixtures("scripted")
def test_each_document_has_its_own_source(tmp_path):
    texts = {"a": GERMAN, "b": FRENCH, "c": ENGLISH}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(f"{text}\n")
    paths = [tmp_path / f"{name}.txt" for name in texts]
    words = ("translate-file", "--model", tmp_path, "--to", "en")
    result = run(*words, *paths)

    written = [(tmp_path / f"{name}.en.txt").read_text() for name in texts]
    assert written == [f"EN {GERMAN}\n", f"EN {FRENCH}\n", f"{ENGLISH}\n"]
    reports = [line for line in result.stderr.splitlines() if "review" in line]
    assert reports == [f"{paths[2]}: 1 of 1 segment needs review: segment 1: {IN_TARGET}"]
    assert run(*words, lines=FRENCH).stdout == f"EN {FRENCH}"
    assert "is not a file" in refuse(*words, tmp_path / "none.txt")


@pytest.mark.slow
def test_commands_on_an_export_agree_with_python(tmp_path):
    exported, _ = export_multilingual(tmp_path / "models")
    line, chosen = LINES[0], Translator.load(exported, engine="torch").choose("en", "fr")
    pair = ("--model", exported, "--from", "en", "--to", "fr")
    torch = (*pair, "--engine", "torch")
    [[best]], [[drawn]] = chosen.search([line], n_best=1), chosen.sample([line])
    token, share = chosen.next_tokens(line, "", 1)[0]
    for name, text in (("source", line), ("reference", chosen.translate_sentences([line])[0])):
        (tmp_path / name).write_text(f"{text}\n")
    sides = ("--source", tmp_path / "source", "--reference", tmp_path / "reference")

    assert run("translate", *torch, line).stdout == f"{chosen.translate(line)}\n"
    assert run("explain", *torch, line).stdout.split("\t")[2:4] == [f"{best.score:.4f}", best.text]
    assert run("sample", *pair, line).stdout.split("\t")[2] == f"{drawn.score:.4f}"
    assert run("next", *pair, "-k", 1, line).stdout == f"{token}\t{share:.4f}\n"
    assert "100.0 to 100.0" in run("evaluate", *torch, *sides, "--metric", "chrf").stdout
    assert "torch: all golden sentences are" in run("verify", "--model", exported).stdout
