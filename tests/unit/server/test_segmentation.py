"""Texts are cut into segments within limits, and written again."""

import pytest

from nmt_core.base.errors import DocumentError
from nmt_core.server.segmentation import (
    SAMPLE_CHARACTERS,
    CutSettings,
    SourceText,
    count_costs,
    cut_text,
    take_sample,
    write_texts,
)
from nmt_core.translation.translation import EMPTY_TRANSLATION
from tests.support.tasks import Words

SETTINGS = CutSettings(("en", "de"), Words(), 100, 9)
TEXT = "one two three four five.\nSix. Seven."


@pytest.mark.parametrize(
    ("format_", "content", "segments"),
    [
        ("text", TEXT, [("one two three four five.", False, 5), ("Six.", False, 4),
                        ("Seven.", False, 4)]),
        ("html", "<p>A <b>big</b> one.</p>", [("A big one.", True, 4)]),
        ("text", b"One.\n", [("One.", False, 4)]),
        ("po", b'msgid "One"\nmsgstr ""\n', [("One", False, 4)]),
        ("text", "", []),
    ],
)  # fmt: skip
def test_text_is_cut_into_segments(format_, content, segments):
    settings = SETTINGS._replace(max_tokens=13)

    assert cut_text(SourceText(format_, content), settings).segments == segments


def test_no_segment_is_longer_than_the_model_reads():
    settings = SETTINGS._replace(segment_tokens=5, max_tokens=99)
    segments = cut_text(SourceText("text", "word " * 12), settings).segments

    lengths = [len(segment.line.split()) for segment in segments]
    assert (max(lengths) <= 5, sum(lengths)) == (True, 12)


def test_passages_may_stay_whole():
    source, settings = SourceText("text", "Six. Seven.\nOne."), SETTINGS._replace(max_tokens=20)

    assert cut_text(source, settings).passages == ["Six. Seven."]
    whole = cut_text(source, settings._replace(whole=frozenset(["Six. Seven."])))
    assert [segment.line for segment in whole.segments] == ["Six. Seven.", "One."]


@pytest.mark.parametrize(
    ("text", "limit", "reason"),
    [
        ("One. Two.", 7, "has 8 tokens, and 7 tokens may be sent at once"),
        ("a" * 10**4, 1, "10,000 characters, and 1 tokens may"),
        ("word " * 10, 9, "10 tokens"),
    ],
)
def test_text_has_a_limit_of_tokens(text, limit, reason):
    with pytest.raises(DocumentError, match=reason):
        cut_text(SourceText("text", text), SETTINGS._replace(max_tokens=limit))


def test_segment_counts_only_as_far_as_it_is_read():
    assert [4, 7, 10] == count_costs(Words(), ["one", "word " * 7, "word " * 1000], 10)


def test_text_is_written_with_the_last_translation_for_missing_ones():
    source = SourceText("text", "- One.\n- Two.\n")
    first, second, third = (EMPTY_TRANSLATION._replace(text=text) for text in ("A.", "B.", "C."))

    assert write_texts(source, SETTINGS, [[first], [second, third]], 0.5, 3) == [
        "- A.\n- B.\n",
        "- A.\n- C.\n",
        "- A.\n- C.\n",
    ]


@pytest.mark.parametrize("text", ["word " * 10**5, "word\n" * 10**4])
def test_sample_is_short(text):
    assert 100 < len(take_sample(SourceText("text", text))) <= SAMPLE_CHARACTERS + 5


def test_document_names_what_stays_untranslated():
    content = b'msgid "ja {n, plural, other {#}}"\nmsgstr ""\n'

    assert cut_text(SourceText("po", content), SETTINGS).untranslated == 1
