from dataclasses import replace

import pytest
from typer.testing import CliRunner

from nmt_core import cli
from nmt_core.base.languages import Languages
from nmt_core.documents.html import read_html
from nmt_core.translation.texts import open_documents
from nmt_core.translation.translator import Translator
from tests.support.processes import run_python
from tests.support.tiny import export, tiny_translator


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    translator = replace(tiny_translator(), languages=Languages(source="de", target="en"))
    return export(tmp_path_factory.mktemp("models") / "export", translator=translator)


def run(bundle, *arguments, data=b""):
    arguments = ["translate", "--model", *map(str, [bundle, *arguments])]
    return CliRunner().invoke(cli.app, arguments, input=data)


def refuse(bundle, *arguments, data=b""):
    result = run(bundle, *arguments, data=data)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_running_text_keeps_its_lines(bundle):
    hund, haus, brot = Translator.load(bundle).translate(["Der Hund.", "Ein Haus!", "Brot"])

    result = run(bundle, "--paragraphs", data=b"- Der Hund. Ein Haus!\r\n\n  Brot \n")

    assert result.exit_code == 0
    assert result.stdout_bytes.decode() == f"- {hund} {haus}\r\n\n  {brot} \n"


def test_a_format_says_how_standard_input_is_read(bundle):
    html = "<p>Der <b>Hund</b>.</p>"
    documents = open_documents(Translator.load(bundle))

    result = run(bundle, "--format", "html", data=html.encode())

    assert result.stdout == documents.translate(read_html(html))
    assert result.stdout.count("<b>") == 1


def test_files_are_translated_beside_themselves(bundle, tmp_path):
    [hund] = Translator.load(bundle).translate(["Der Hund."])
    for name in ("a.txt", "b.md"):
        (tmp_path / name).write_text("Der Hund.\n")

    result = run(bundle, tmp_path / "a.txt", tmp_path / "b.md")

    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "a.en.txt").read_text() == f"{hund}\n"
    assert "b.en.md" in result.stderr
    assert "is there already" in refuse(bundle, tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(b"Der Hund.\n\x85")
    run(bundle, "--force", "--encoding", "windows-1252", tmp_path / "a.txt")
    assert (tmp_path / "a.en.txt").read_text() == f"\ufeff{hund}\n…"


def test_messages_that_stay_as_they_are_are_told_at_the_end(bundle, tmp_path):
    left = '"a {n, plural, one {b} other {c}}"'
    names = [tmp_path / f"{name}.json" for name in "abc"]
    for path, held in zip(names, (f"[{left}, {left}]", "[]", left), strict=True):
        path.write_text(held)

    told = run(bundle, *names).stderr.splitlines()
    piped = run(bundle, "--format", "json", data=left.encode())

    assert [line.endswith(".en.json") for line in told] == [True] * 3 + [False] * 2
    assert f"{names[0]}: not translated: 2 texts with a plural" in told[3]
    assert f"{names[2]}: not translated: 1 text with a plural" in told[4]
    assert (piped.stdout, "standard input: not translated: 1 text" in piped.stderr) == (left, True)
    assert run(bundle, "--format", "json", data=b"[]").stderr == ""


def test_doubts_about_files_are_reported(bundle, tmp_path):
    (tmp_path / "a.txt").write_text("Der Hund hat 94 Brote.\nEin Haus!\n")
    translated = run(bundle, tmp_path / "a.txt", "--review", tmp_path / "review.xlf")
    piped = run(bundle, "--paragraphs", data=b"Der Hund hat 94 Brote.")
    lines = run(bundle, "Der Hund hat 94 Brote.", "--review", tmp_path / "lines.xlf")

    assert f"{tmp_path / 'a.txt'}: 2 of 2 segments need review: segment 1: " in translated.stderr
    assert "standard input: 1 of 1 segment needs review: segment 1: " in piped.stderr
    assert "1 of 1 line needs review: line 1: " in lines.stderr
    assert "missing 94" in translated.stderr
    assert (tmp_path / "review.xlf").read_text().count("<trans-unit ") == 2
    assert (tmp_path / "lines.xlf").read_text().count("missing 94</note>") == 1
    again = refuse(bundle, "Ein Haus!", "--review", tmp_path / "lines.xlf")
    assert "is there already" in again


def test_an_output_may_be_named(bundle, tmp_path):
    (tmp_path / "a.txt").write_text("Der Hund.\n")

    for data, arguments in ((b"", [tmp_path / "a.txt"]), (b"Der Hund.\n", ["--paragraphs"])):
        out = tmp_path / f"out{len(data)}"
        assert run(bundle, *arguments, "--output", out, data=data).exit_code == 0
        assert out.read_text().endswith("\n")


def test_an_output_that_is_there_is_refused_before_anything_is_read(bundle, tmp_path):
    (tmp_path / "a.html").write_text("mine")

    told = refuse(bundle, "--format", "html", "--output", tmp_path / "a.html", data=b"\xff")

    assert "is there already" in told


def test_a_line_is_no_file(bundle):
    """Not even if it ends like one, as long as it has several words."""
    assert run(bundle, "Wo ist letter.docx").stdout.count("\n") == 1


def test_a_file_whose_ending_says_no_format_is_no_line(bundle, tmp_path):
    paper = tmp_path / "paper.pdf"
    paper.write_text("Der Hund.")
    [hund] = Translator.load(bundle).translate(["Der Hund."])

    assert f"{paper} is a file with an ending that says no format" in refuse(bundle, paper)
    assert [paper] == [*tmp_path.iterdir()]
    assert run(bundle, "--format", "text", paper).exit_code == 0
    assert (tmp_path / "paper.en.pdf").read_text() == hund
    assert run(bundle, "Ein Haus " * 500).stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["letter.docs"], "letter.docs does not exist"),
        (["none.docx"], "none.docx is not a file"),
        (
            ["none.pdf"],
            "none.pdf does not exist; give a file in a format of .t",
        ),
        (["letter.docx", "Ein Haus"], "letter.docx is a file, and 'Ein Haus' a line"),
        (["--paragraphs", "Ein Haus"], "'Ein Haus' is a line, and --paragraphs"),
        (["--n-best", "2", "a.txt"], "--n-best is for lines"),
        (["--scores", "--paragraphs"], "--scores is for lines"),
        (["--format", "pdf"], "--format pdf is not known; it is one of text, html"),
        (["a.txt", "b.txt", "--output", "c.txt"], "--output names one file, not 2"),
    ],
)
def test_what_is_not_meant_is_refused(bundle, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)

    assert message in refuse(bundle, *arguments)
    assert [*tmp_path.iterdir()] == []


def test_what_is_no_text_is_refused(bundle):
    assert "is not UTF-8" in refuse(bundle, "--paragraphs", data=b"a\xff")


def test_a_translation_needs_a_name(tmp_path):
    unnamed = export(tmp_path / "export")
    (tmp_path / "a.txt").write_text("Hund")

    assert "give one by --output" in refuse(unnamed, tmp_path / "a.txt")


def test_lines_wait_for_no_parser():
    parsers = "{'lxml', 'markdown_it'}"
    program = f"import sys, nmt_core.cli.translate; print(*{parsers} & {{*sys.modules}})"

    assert run_python(program) == "\n"
