"""Tags on the command line: of lines, documents, pictures and test sets."""

import pytest

from nmt_core.translation.translator import Translator
from tests.support.commands import refuse, run
from tests.support.tagged import tagged_translator
from tests.support.tiny import export

LINE = "Der Hund sieht Haus."


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    return export(tmp_path_factory.mktemp("tagged") / "export", translator=tagged_translator())


def test_lines_and_documents_are_read_with_the_tag_that_is_chosen(tagged):
    translator = Translator.load(tagged)
    for option in ((), ("--tag", "own"), ("--tag", "news")):
        [wanted] = translator.translate([LINE], tag=option[1] if option else None)
        assert run("translate", "--model", tagged, *option, LINE).stdout == f"{wanted}\n"
        document = run("translate", "--model", tagged, "--paragraphs", *option, lines=LINE)
        assert document.stdout == wanted


def test_attention_of_a_line_with_a_tag_is_drawn(tagged, tmp_path):
    folder = tmp_path / "pictures"
    asked = ("--model", tagged, "--tag", "own", "--attention", folder, LINE)
    assert run("translate", *asked).exit_code == 0
    assert (folder / "1.png").exists()


def test_a_test_set_is_translated_with_a_tag(tagged, tmp_path):
    for name in ("source", "reference"):
        (tmp_path / name).write_text(f"{LINE}\n")
    files = ("--source", tmp_path / "source", "--reference", tmp_path / "reference")
    out = tmp_path / "out"
    assert not run(
        "evaluate", "--model", tagged, *files, "--tag", "own", "--language", "en", "--out", out
    ).exit_code
    [wanted] = Translator.load(tagged).translate([LINE], tag="own")
    assert out.read_text().splitlines()[1].split("\t")[2] == wanted.replace("\t", " ")


def test_an_unknown_tag_is_refused_and_so_is_any_of_a_model_without(tagged, bundle):
    said = refuse("translate", "--model", tagged, "--tag", "Own", LINE)
    assert "there is no tag 'Own'; choose one of news, own, or none" in said
    assert "had a tag" in refuse("translate", "--model", bundle, "--tag", "own", LINE)
