from pathlib import Path

import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.documents import files as module
from nmt_core.documents.files import name_translation, translate_data, translate_file
from nmt_core.documents.formats import FORMATS, find_format, list_suffixes
from tests.support.echoes import Echo

SHOUT = Echo(str.upper).translator


@pytest.mark.parametrize("kind", ["text", "html", "markdown", "subtitles"])
def test_text_must_be_utf8(kind):
    with pytest.raises(DocumentError, match=r"not UTF-8 \(byte 3 is 0xff\)"):
        translate_data(b"ab\xff", kind, SHOUT)


def test_a_byte_order_mark_stays():
    for kind, before, after in (
        ("text", "Ä b\r\n", "Ä B\r\n"),
        ("markdown", "---\nkey: a\n---\nb", "---\nkey: a\n---\nB"),
        ("json", '{"key": "a"}', '{"key": "A"}'),
    ):
        done = translate_data(f"\ufeff{before}".encode(), kind, SHOUT)
        assert done.data.decode() == f"\ufeff{after}"


def test_a_byte_order_mark_is_no_text():
    echo = Echo(str.upper)

    translate_data("\ufeffa".encode(), "text", echo.translator)

    assert [lines for lines, _ in echo.calls] == [["a"]]


def test_messages_that_stay_as_they_are_are_counted():
    choice = "{n, plural, one {a file} other {files}}"
    po = f'#, fuzzy\nmsgid "x {choice}"\nmsgid_plural "a {choice}"\nmsgstr[0] ""\n\n'
    po += f'msgid "b {choice}"\nmsgstr "done"\n'
    po += f'\nmsgid "x"\nmsgid_plural "b {choice}"\nmsgstr[0] ""\n'
    for kind, data, left in (
        ("arb", f'{{"a": "{choice}", "b": "a {choice}", "@b": "c {choice}"}}', 1),
        ("json", f'["{choice}", ["{choice} d", "{{N}}"], "{choice}\'{{"]', 2),
        ("po", po, 3),
        ("json", '["a {n}", "b"]', 1),
        ("text", f"a {choice}", 0),
    ):
        assert translate_data(data.encode(), kind, SHOUT).untranslated.total() == left, kind


def test_too_long_a_document_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_DOCUMENT_BYTES", 3)

    with pytest.raises(DocumentError, match="has 4 bytes, more than 3"):
        translate_data(b"abcd", "text", SHOUT)


@pytest.mark.parametrize("kind", [*FORMATS])
def test_every_format_refuses_damaged_files(kind):
    with pytest.raises(DocumentError):
        translate_data(b"\xff{", kind, SHOUT)


def test_the_kind_is_known_by_the_end_of_the_name():
    assert find_format("Letter.HTM") == "html"
    assert {find_format(f"x{suffix}") for suffix in list_suffixes()} == {*FORMATS}
    with pytest.raises(DocumentError, match=r"letter.pdf .* \.txt, .*, \.docx$"):
        find_format("letter.pdf")


def test_a_translation_is_named_after_its_language():
    assert name_translation(Path("a/my.letter.docx"), "en") == Path("a/my.letter.en.docx")


def test_a_file_is_translated_to_another(tmp_path):
    source, out = tmp_path / "letter.md", tmp_path / "letter.en.md"
    source.write_text("# One *two*\n")

    assert translate_file(source, out, SHOUT)[:2] == (out, b"# ONE *TWO*\n")
    assert out.read_text() == "# ONE *TWO*\n"
    assert source.read_text() == "# One *two*\n"


def test_nothing_is_written_over(tmp_path):
    """Which is found out before anything is translated."""
    (tmp_path / "a.txt").write_text("b")
    echo = Echo(str.upper)

    with pytest.raises(DocumentError, match="is there already"):
        translate_file(tmp_path / "a.txt", tmp_path / "a.txt", echo.translator)
    assert echo.calls == []
    assert (tmp_path / "a.txt").read_text() == "b"
    translate_file(tmp_path / "a.txt", tmp_path / "a.txt", echo.translator, force=True)
    assert (tmp_path / "a.txt").read_text() == "B"


def test_a_folder_that_takes_no_file_is_found_out_before_anything_is_translated(
    tmp_path, monkeypatch
):
    (tmp_path / "a.txt").write_text("b")
    echo = Echo(str.upper)
    monkeypatch.setattr("os.access", lambda folder, _: folder != tmp_path)

    for out in ("b.txt", "new/b.txt", "a.txt/b.txt"):
        with pytest.raises(DocumentError, match="cannot be written; name another by --output"):
            translate_file(tmp_path / "a.txt", tmp_path / out, echo.translator)
    assert echo.calls == []
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_what_fails_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xff")

    with pytest.raises(DocumentError, match=r"a\.txt: .* is not UTF-8"):
        translate_file(tmp_path / "a.txt", tmp_path / "b.txt", SHOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
