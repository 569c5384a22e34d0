"""``nmt translate-file``: documents to files beside them, to other files and by streams."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from nmt_core.base.languages import Languages
from nmt_core.documents.formats import translate_data
from nmt_core.translation.translator import Translator
from tests.support import commands
from tests.support.scripted import scripted_translator
from tests.support.tiny import export, tiny_translator


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    translator = replace(tiny_translator(), languages=Languages(source="de", target="en"))
    return export(tmp_path_factory.mktemp("models") / "export", translator=translator)


def run(bundle, *arguments, data=b""):
    return commands.run("translate-file", "--model", bundle, *arguments, lines=data)


def refuse(bundle, *arguments, data=b""):
    return commands.refuse("translate-file", "--model", bundle, *arguments, lines=data)


def test_standard_input_is_text_or_of_a_format(german):
    hund, haus, brot = Translator.load(german).translate(["Der Hund.", "Ein Haus!", "Brot"])
    text = run(german, data=b"- Der Hund. Ein Haus!\r\n\n  Brot \n")
    page = "<p>Der <b>Hund</b>.</p>"

    assert text.stdout_bytes.decode() == f"- {hund} {haus}\r\n\n  {brot} \n"
    translated = translate_data(page.encode(), "html", Translator.load(german).open_documents())
    assert run(german, "--format", "html", data=page.encode()).stdout_bytes == translated.data
    assert translated.data.count(b"<b>") == 1


def test_too_large_standard_input_is_refused(german, monkeypatch):
    for name in ("nmt_core.cli.translate_file", "nmt_core.documents.formats"):
        monkeypatch.setattr(f"{name}.MAX_DOCUMENT_BYTES", 9)

    assert run(german, data=b"Der Hund\n").exit_code == 0
    assert "; split it" in refuse(german, data=b"Der Hund.\n")


def test_files_are_translated_beside_themselves(german, tmp_path):
    [hund] = Translator.load(german).translate(["Der Hund."])
    for name in ("a.txt", "b.md"):
        (tmp_path / name).write_text("Der Hund.\n")
    result = run(german, tmp_path / "a.txt", tmp_path / "b.md")

    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "a.en.txt").read_text() == (tmp_path / "b.en.md").read_text() == f"{hund}\n"
    assert "b.en.md" in result.stderr
    assert "already exists" in refuse(german, tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(b"Der Hund.\n\x85")
    run(german, "--force", "--encoding", "windows-1252", tmp_path / "a.txt")
    assert (tmp_path / "a.en.txt").read_text() == f"\ufeff{hund}\n…"


def test_format_may_be_named(german, tmp_path):
    (paper := tmp_path / "paper.pdf").write_text("Der Hund.")

    assert run(german, "--format", "text", paper, "--beam-size", 1).exit_code == 0
    expected = Translator.load(german).translate("Der Hund.", beam_size=1)
    assert (tmp_path / "paper.en.pdf").read_text() == expected
    assert "beam_size must be" in refuse(german, "--beam-size", 10**6, data=b"Haus")


@pytest.mark.parametrize(("below", "fuzzy"), [(0.5, True), (0.2, False)])
def test_units_below_a_confidence_are_marked(german, tmp_path, monkeypatch, below, fuzzy):
    def judge(_, translations):
        return [[each._replace(confidence=0.3) for each in own] for own in translations]

    judging = replace(scripted_translator(str.upper), confidence_model=SimpleNamespace(judge=judge))
    monkeypatch.setattr(Translator, "load", lambda *_, **__: judging)
    (tmp_path / "a.po").write_text('msgid "Haus"\nmsgstr ""\n')
    assert run(german, tmp_path / "a.po", "--review-below", below).exit_code == 0
    written = (tmp_path / "a.en.po").read_text()
    assert 'msgstr "HAUS"' in written
    assert ("fuzzy" in written) is fuzzy


@pytest.mark.parametrize("named", [True, False])
def test_output_may_be_named(german, tmp_path, named):
    (tmp_path / "a.txt").write_text("Der Hund.\n")
    out = tmp_path / "out"
    arguments = [tmp_path / "a.txt"] if named else []

    assert run(german, *arguments, "--output", out, data=b"Der Hund.\n").exit_code == 0
    assert out.read_text().endswith("\n")
    assert "already exists" in refuse(german, *arguments, "--output", out, data=b"\xff")


def test_untranslated_texts_are_reported_at_the_end(german, tmp_path):
    plural = '"a {n, plural, one {b} other {c}}"'
    names = [tmp_path / f"{name}.json" for name in "abc"]
    for path, held in zip(names, (f"[{plural}, {plural}]", "[]", plural), strict=True):
        path.write_text(held)
    reports = run(german, *names).stderr.splitlines()
    piped = run(german, "--format", "json", data=plural.encode())

    assert [line.endswith(".en.json") for line in reports] == [True] * 3 + [False] * 2
    assert f"{names[0]}: not translated: 2 texts with a plural" in reports[3]
    assert f"{names[2]}: not translated: 1 text with a plural" in reports[4]
    assert (piped.stdout, "standard input: not translated: 1 text" in piped.stderr) == (
        plural,
        True,
    )


def test_doubts_are_reported_and_written_for_review(german, tmp_path):
    (tmp_path / "a.txt").write_text("Der Hund hat 94 Brote.\nEin Haus!\n")
    review = tmp_path / "review.xlf"
    translated = run(german, tmp_path / "a.txt", "--review", review)
    piped = run(german, data=b"Der Hund hat 94 Brote.")

    assert f"{tmp_path / 'a.txt'}: 2 of 2 segments need review: segment 1: " in translated.stderr
    assert "standard input: 1 of 1 segment needs review: segment 1: " in piped.stderr
    assert review.read_text().count("<trans-unit ") == 2
    assert review.read_text().count("missing 94</note>") == 1
    assert "already exists" in refuse(german, "--review", review)
    assert run(german, "--review", review, "--force", data=b"Haus").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.docx"], "none.docx is not a file"),
        (["none.docs"], "none.docs is not in a format that"),
        (["--format", "pdf"], "--format pdf is not known; it is one of text, html"),
        (["a.txt", "b.txt", "--output", "c.txt"], "--output names one file, not 2"),
        ([], "is not UTF-8"),
    ],
)
def test_refusals_name_what_is_wrong(german, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)

    assert message in refuse(german, *arguments, data=b"a\xff")
    assert [*tmp_path.iterdir()] == []


def test_model_without_languages_names_no_translation(bundle, tmp_path):
    (tmp_path / "a.txt").write_text("Hund")

    assert "needs --output" in refuse(bundle, tmp_path / "a.txt")
    assert "--review requires a model" in refuse(bundle, "--review", tmp_path / "x")
