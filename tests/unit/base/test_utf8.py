"""Text from bytes, and where it is none."""

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
def test_the_place_of_a_byte_that_is_no_text_is_told(lines, first, before):
    """Wherever it stands: its line in the file, and its byte in the line."""
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


def test_utf_16_is_told():
    with pytest.raises(CorpusError, match=r"a\.txt .*UTF-16"):
        decode_utf8("ä\n".encode("utf-16"), "a.txt")


@given(st.text("ab .äßÁéčœ“’–…жЖяΩعש", min_size=1).filter(lambda text: not text.isascii()))
def test_mojibake_is_mended_and_sound_text_stays(text):
    once = read_as_windows(text)
    assert fix_mojibake(once) == fix_mojibake(read_as_windows(once)) == text
    assert fix_mojibake(text) == text


@given(st.text("日本語ไทย한국", min_size=3))
def test_so_is_text_of_asia(text):
    assert fix_mojibake(read_as_windows(text)) == fix_mojibake(text) == text


@pytest.mark.parametrize(
    "text", ["", "a", "passé…»", "Ã", "für Ã¼", "À «", "“Ä“ und ”Ö”", "Ñ…é", "Spaß–"]
)
def test_sound_text_is_no_mojibake_whatever_signs_meet(text):
    assert fix_mojibake(text) == text
