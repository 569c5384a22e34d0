"""Text is decoded from bytes, and errors name their place."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.files import decode_utf8, looks_like_utf16
from nmt_core.base.raw_lines import fix_mojibake
from tests.support.formats import read_as_windows


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_is_decoded(text):
    assert decode_utf8(text.encode(), "x") == text


@given(st.lists(st.text("aä\r", max_size=4), max_size=4), st.integers(1, 9), st.text("aä"))
def test_an_invalid_byte_is_reported_with_its_place(lines, first, before):
    """The place is the line in the file and the byte in the line."""
    data = "".join(f"{line}\n" for line in lines).encode() + before.encode() + b"\xff\n"
    assume(not looks_like_utf16(data))
    with pytest.raises(ConfigError) as told:
        decode_utf8(data, "a.txt", line=first, error=ConfigError)

    assert f"line {first + len(lines)} of a.txt " in str(told.value)
    assert f"byte {len(before.encode()) + 1} is 0xff" in str(told.value)


@given(st.text("abcäöü", min_size=1), st.sampled_from(["utf-16", "utf-16-le", "utf-16-be"]))
def test_utf_16_is_recognised(text, code):
    assert looks_like_utf16(text.encode(code))
    assert not looks_like_utf16(text.encode())


def test_utf_16_is_reported():
    with pytest.raises(CorpusError, match=r"a\.txt .*UTF-16"):
        decode_utf8("ä\n".encode("utf-16"), "a.txt")


@given(st.text("ab .äßÁéčœ“’–…жЖяΩعש", min_size=1).filter(lambda text: not text.isascii()))
def test_mojibake_is_repaired_and_valid_text_stays(text):
    once = read_as_windows(text)
    assert fix_mojibake(once) == fix_mojibake(read_as_windows(once)) == text
    assert fix_mojibake(text) == text


@given(st.text("日本語ไทย한국", min_size=3))
def test_mojibake_of_asian_text_is_repaired(text):
    assert fix_mojibake(read_as_windows(text)) == fix_mojibake(text) == text


@pytest.mark.parametrize(
    "text", ["", "a", "passé…»", "Ã", "für Ã¼", "À «", "“Ä“ und ”Ö”", "Ñ…é", "Spaß–"]
)
def test_valid_text_is_never_taken_for_mojibake(text):
    assert fix_mojibake(text) == text
