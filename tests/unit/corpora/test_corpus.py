import gzip
import hashlib
import os
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.corpora import parallel_text as corpus
from nmt_core.corpora.fetch.vectors import copy_model
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.parallel_text import (
    DAMAGED,
    UNUSABLE,
    CorpusReading,
    Pair,
    Text,
    cut_rows,
    write_pairs,
)
from nmt_core.corpora.text_files import ReferenceFiles, TextFiles, require_pinned

ALL = (*DAMAGED, *UNUSABLE)


@pytest.fixture
def text(tmp_path):
    def text(source, target=None, *, name="a"):
        paths = [tmp_path / f"{name}.tsv"]
        if target is not None:
            paths = [tmp_path / f"{name}.de", tmp_path / f"{name}.en"]
            paths[1].write_bytes(target)
        paths[0].write_bytes(source)
        return TextFiles(source=paths[0], target=None if target is None else paths[1])

    return text


def read_pairs(given, *, drop=(), reading=None):
    """All pairs there are at the call, read two rows at a time."""
    text = Text(tuple(given.expand().values()), tuple(drop))
    return read_rows(text, CorpusReading() if reading is None else reading)


def read_rows(text, reading):
    with tempfile.TemporaryDirectory() as scratch:
        for rows in cut_rows(text, 2, scratch=Path(scratch)):
            found = corpus.read_pairs(rows, drop=text.drop, reading=reading)
            yield from (pair for _, pair in found)


def refusal(given, **options):
    with pytest.raises(CorpusError) as caught:
        list(read_pairs(given, **options))
    return str(caught.value).replace(f"{given.source.parent}/", "")


sentences = st.text(
    st.characters(
        exclude_categories=["Cs"], exclude_characters="\n\0\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    ),
    max_size=20,
).map(lambda line: f"x{line}")


@given(pairs=st.lists(st.builds(Pair, sentences, sentences)))
def test_what_is_written_is_read(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("pairs")
    written = TextFiles(source=folder / "a.de", target=folder / "a.en")

    assert len(pairs) == write_pairs(pairs, *written.paths)
    assert pairs == list(read_pairs(written))


def test_a_line_end_inside_a_line_is_never_written(tmp_path):
    with pytest.raises(ValueError, match="pair 1 contains a line end"):
        write_pairs([Pair("a\nb", "c")], tmp_path / "a.de", tmp_path / "a.en")
    assert not list(tmp_path.iterdir())


def test_other_line_breaks_never_shift_the_alignment(text):
    breaks = "\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
    source = "".join(f"eins{character}eins\nzwei\n" for character in breaks).encode()
    target = b"one one\ntwo\n" * len(breaks)
    reading = CorpusReading()

    pairs = list(read_pairs(text(source, target), reading=reading))
    assert [("eins eins", "one one"), ("zwei", "two")] * len(breaks) == pairs
    assert {"inner_line_break": len(breaks)} == reading.repaired


def test_windows_line_ends_and_byte_order_marks_are_taken_off(text):
    reading = CorpusReading()
    pairs = read_pairs(text(b"\xef\xbb\xbfja\r\nnein\r\n", b"yes\nno"), reading=reading)

    assert list(pairs) == [("ja", "yes"), ("nein", "no")]
    assert reading.repaired == {"byte_order_mark": 1, "crlf": 2}


def test_a_line_has_the_number_that_it_has_in_the_file(text):
    """Wherever text is cut; only the file as a whole begins with a byte-order mark."""
    lines = [b"eins", b"zwei", b"\xef\xbb\xbfdrei", b"vier \xff"]
    given = text(b"\n".join(lines), b"one\ntwo\nthree\nfour")
    reading = CorpusReading()

    pairs = list(read_pairs(given, drop=["invalid_utf8"], reading=reading))
    assert pairs[2:] == [("\ufeffdrei", "three")]
    assert reading.repaired == {}
    assert "line 4 of a.de is not UTF-8 (byte 6 is 0xff)" in refusal(given)


def test_spaces_and_composition_stay_as_they_are(text):
    line = "  Ko\u0308ln \u00a0 "
    assert [(line, "Cologne")] == list(read_pairs(text(f"{line}\n".encode(), b"Cologne\n")))


@pytest.mark.parametrize(("source", "target"), [(3, 1), (1, 3), (2, 0)])
def test_misaligned_files_are_refused(text, source, target):
    told = refusal(text(b"ja\n" * source, b"yes\n" * target), drop=ALL)

    assert told.startswith(f"a.de has {source} lines but a.en has {target};")


BAD = {
    "invalid_utf8": (b"sch\xf6n", "line 2 of a.de is not UTF-8 (byte 4 is 0xf6)"),
    "nul_character": (b"sch\0n", "a.de line 2 contains a NUL character"),
    "empty_side": (b" \t\xe2\x80\x8b", "a.de line 2 is empty"),
    "line_too_long": (b"x" * 1_000_000, "a.de line 2 is too long for a sentence"),
}


@pytest.mark.parametrize("problem", BAD)
def test_a_bad_line_is_named(text, problem):
    line, expected = BAD[problem]
    given = text(b"ja\n" + line + b"\nnein\n", b"yes\nwell\nno\n")

    told = refusal(given, drop=[other for other in BAD if other != problem])
    assert told.startswith(expected)
    assert told.endswith("set on_bad_line to drop")


@pytest.mark.parametrize("problem", BAD)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_bad_line_is_dropped_with_its_translation(text, problem, swapped):
    sides = [b"ja\n" + BAD[problem][0] + b"\nnein\n", b"yes\nwell\nno\n"]
    reading = CorpusReading()

    pairs = read_pairs(text(*(sides[::-1] if swapped else sides)), drop=[problem], reading=reading)
    expected = [("ja", "yes"), ("nein", "no")]
    assert [pair[::-1] for pair in expected] == list(pairs) if swapped else expected == list(pairs)
    assert {problem: 1} == reading.dropped


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("lines", [b"yes\n", b"yes\n\n"])
def test_utf_16_is_told(text, code, lines):
    """With a mark or without, however many lines it seems to have: none is what it looks like."""
    told = refusal(text("ja, ja\n".encode(code), lines))

    assert told.startswith("a.de is not UTF-8, but looks like UTF-16")
    assert refusal(text(b"yes\n", "ja\n".encode(code))).startswith("a.en is not UTF-8, but looks")
    assert refusal(text(b"", "ja\n".encode(code))).startswith("a.en is not UTF-8, but looks")


def test_text_of_windows_is_told_with_what_converts_it(text):
    told = refusal(text("süß\n".encode("cp1252"), b"sweet\n"))

    assert "line 1 of a.de is not UTF-8" in told
    assert "iconv -f WINDOWS-1252 -t UTF-8" in told


@given(
    lines=st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)),
    limit=st.integers(1, 8),
)
def test_lines_are_split_at_line_feeds_alone(tmp_path_factory, lines, limit):
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(b"".join(line + b"\n" for line in lines))

    expected = [line if len(line) <= limit else None for line in lines]
    assert expected == list(read_raw_lines(path, max_line_bytes=limit))


@pytest.mark.parametrize(("line", "columns"), [(b"zwei", 1), (b"zwei\ttwo\t0.9", 3)])
def test_a_wrong_number_of_columns_is_named(text, line, columns):
    given = text(b"ja\tyes\n" + line + b"\n")

    assert refusal(given).startswith(f"a.tsv line 2 has {columns} columns, needs 2")
    assert list(read_pairs(given, drop=["wrong_columns"])) == [("ja", "yes")]


def test_an_empty_column_is_named(text):
    assert refusal(text(b"ja\t\n")).startswith("the target of a.tsv line 1 is empty;")


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.TSV.gz"])
def test_compressed_files_are_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"ja\tyes\n"))

    assert list(read_pairs(TextFiles(source=path))) == [("ja", "yes")]


def test_a_missing_file_or_a_folder_in_its_place_is_named(tmp_path):
    missing = TextFiles(source=tmp_path / "a.tsv")
    assert refusal(missing).startswith("a.tsv does not exist")
    missing.source.mkdir()
    assert refusal(missing).startswith("a.tsv is no ordinary file")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            {"source": "a.de"},
            "target is missing; a.de is of no known format of parallel text; its name must end in "
            ".tsv, .csv, ",
        ),
        ({"source": "a.tsv", "target": "b"}, "a.tsv holds both sides; set it as source"),
        (
            {"source": "a.de", "target": "b.tmx.zst"},
            "b.tmx.zst holds both sides; set it as source",
        ),
        ({"source": "a.de", "target": "a.de"}, "source and target are the same file, a.de"),
        ({"source": "*.de", "target": "*.de"}, "source and target are the same file, *.de"),
        ({"source": "*.de", "target": "all.en"}, "*.de and all.en must hold one *"),
        ({"source": "a.de", "target": "*.en"}, "a.de and *.en must hold one *"),
        ({"source": "*/*.de", "target": "*/*.en"}, "*/*.de and */*.en must hold one *"),
        ({"source": "**.tsv"}, "**.tsv must hold one *"),
    ],
)
def test_one_side_alone_is_no_text(values, expected):
    with pytest.raises(ConfigError) as caught:
        build(TextFiles, values, at="train")
    assert str(caught.value).startswith(f"train: {expected}")


def test_references_are_pinned_and_found_from_any_folder(project):
    for name in ("a.de", "a.en", "b.en"):
        (project / name).write_text("x\n")
    values = {"source": "a.de", "target": "a.en", "references": ["b.en"]}
    given = build(ReferenceFiles, values, at="test")
    before = given.digest()
    (project / "b.en").write_text("y\n")

    assert given.digest() != before
    assert given.absolute()["references"] == [project / "b.en"]
    for changes, expected in (
        ({"target": None, "source": "a.tsv"}, "references belong to one source"),
        ({"references": ["b.en", "b.en"]}, "references name b.en twice"),
        ({"references": ["*.en"]}, "references name *.en; give files"),
    ):
        with pytest.raises(ConfigError, match=re.escape(expected)):
            build(ReferenceFiles, values | changes, at="test")


def test_validation_and_test_are_given_where_they_have_files(text):
    files = text(b"ja\n", b"yes\n")

    assert FilesCorpus(kind="files", train=files, validation=files).list_given() == {"validation"}


def lines_of(path):
    """What a file must hold so that each of its lines says where it stands."""
    return f"{path.name} 1\n{path.name} 2\n"


@pytest.fixture
def many(tmp_path):
    """Files of both languages, each of two lines that say where they stand."""

    def many(*names, source="*.de", target="*.en"):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(lines_of(path))
        return TextFiles(source=tmp_path / source, target=tmp_path / target)

    return many


def test_a_single_path_is_pinned_as_it_ever_was(text):
    """Or everybody's first stage would run again."""
    given = text(b"ja\n", b"yes\n")

    digests = [hashlib.sha256(content).hexdigest() for content in (b"ja\n", b"yes\n")]
    assert hashlib.sha256("".join(digests).encode()).hexdigest() == given.digest()


def test_all_files_that_fit_are_read_in_order(many):
    given = many("9.de", "10.de", "9.en", "10.en", "9.fr", "notes.txt", "10.de.old", ".new.de")

    expected = [(f"{name}.de {n}", f"{name}.en {n}") for name in ("10", "9") for n in (1, 2)]
    assert expected == list(read_pairs(given))


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), max_size=8)


@given(
    folder=NAMES.map(lambda name: f"x{name}".replace("*", "")),
    parts=st.lists(NAMES.map(lambda name: f"x{name}"), min_size=1, max_size=4, unique=True),
)
def test_names_may_hold_what_names_may_hold(tmp_path_factory, folder, parts):
    """Spaces, brackets, question marks; in what the star stands for, also stars."""
    top = tmp_path_factory.mktemp("text") / folder
    top.mkdir()
    for part in parts:
        (top / f"a[1] {part}.de?").write_text(f"Satz {part}\n")
        (top / f"a[1] {part}.en?").write_text(f"sentence {part}\n")
    given = TextFiles(source=top / "a[1] *.de?", target=top / "a[1] *.en?")

    expected = [(f"Satz {part}", f"sentence {part}") for part in sorted(parts)]
    assert expected == list(read_pairs(given))


def test_a_star_may_stand_for_a_folder(many):
    given = many(
        *("may/text.de", "may/text.en", "june/text.de", "june/text.en", "july/other.de"),
        source="*/text.de",
        target="*/text.en",
    )
    assert ["june", "may"] == list(given.expand())
    assert len(list(read_pairs(given))) == 4


def test_many_files_may_hold_both_sides(tmp_path):
    for name, content in (("a", b"ja\tyes\n"), ("b", b"\xef\xbb\xbfnein\tno\r\n")):
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(content))
    reading = CorpusReading()

    given = TextFiles(source=tmp_path / "*.tsv.gz")
    assert [("ja", "yes"), ("nein", "no")] == list(read_pairs(given, reading=reading))
    assert reading.repaired == {"byte_order_mark": 1, "crlf": 1}


@pytest.mark.parametrize("alone", ["b.de", "b.en"])
def test_a_file_without_its_translation_is_named(many, alone):
    given = many("a.de", "a.en", "c.de", "c.en", alone)
    missing = "b.de" if alone == "b.en" else "b.en"

    assert refusal(given).startswith(f"{alone} exists but {missing} does not;")
    with pytest.raises(CorpusError, match=alone):
        given.digest()


def test_no_file_at_all_is_said(many):
    assert refusal(many("a.tsv", ".b.de", ".b.en")).startswith("no file matches *.de and *.en;")


def test_a_bad_line_is_named_in_its_own_file(many):
    given = many("a.de", "a.en", "b.de", "b.en")
    (given.source.parent / "b.en").write_text("b.en 1\n\n")
    assert refusal(given).startswith("b.en line 2 is empty;")

    (given.source.parent / "b.en").write_text("b.en 1\n")
    assert refusal(given).startswith("b.de has 2 lines but b.en has 1;")


def test_a_folder_that_fits_is_no_file(many):
    given = many("a.de", "a.en")
    for name in ("b.de", "b.en"):
        (given.source.parent / name).mkdir()

    assert refusal(given).startswith("b.de is no ordinary file")
    with pytest.raises(CorpusError, match=r"b\.de is no ordinary file"):
        given.digest()


def test_a_pin_holds_names_and_contents(many):
    given = many("a.de", "a.en", "b.de", "b.en")
    top = given.source.parent
    digests = [given.digest()]
    assert digests == [given.digest()]

    def changed():
        digests.append(given.digest())

    (top / "b.en").write_text("b.en 1\nother\n")
    changed()
    for side in ("de", "en"):
        (top / f"b.{side}").rename(top / f"c.{side}")
    changed()
    for side in ("de", "en"):
        (top / f"d.{side}").write_bytes((top / f"c.{side}").read_bytes())
    changed()
    for side in ("de", "en"):
        (top / f"a.{side}").unlink()
    changed()
    assert len({*digests}) == len(digests) == 5


def test_a_pin_does_not_depend_on_where_the_files_are(many, monkeypatch):
    given = many("a.de", "a.en")
    monkeypatch.chdir(given.source.parent)

    assert given.digest() == TextFiles(source=Path("*.de"), target=Path("*.en")).digest()


def test_a_file_that_comes_while_text_is_read_waits_for_the_next_time(many):
    given = many("a.de", "a.en")
    pinned = given.model_copy(update={"sha256": given.digest()})
    pairs = read_pairs(pinned)
    require_pinned(pinned)
    many("b.de", "b.en")

    assert len(list(pairs)) == 2
    with pytest.raises(CorpusError, match=r"\*\.de and .*\*\.en changed since params\.yaml"):
        require_pinned(pinned)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_last_line_may_be_as_long_as_any(tmp_path, end):
    (tmp_path / "a").write_bytes(b"ab\nabcde" + end)

    assert [*read_raw_lines(tmp_path / "a", max_line_bytes=5)] == [b"ab", b"abcde"]
    assert [*read_raw_lines(tmp_path / "a", max_line_bytes=4)] == [b"ab", None]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["zero", "pipe", "pipe.gz"])
def test_what_never_ends_is_not_read(tmp_path, name):
    """A device or a pipe, also by another name."""
    path = tmp_path / name
    if name == "zero":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    text = TextFiles(source=path, target=tmp_path / "other")

    for read in (
        text.digest,
        lambda: next(read_raw_lines(path)),
        lambda: cut_rows(Text((text.paths,)), 9, scratch=tmp_path),
        lambda: find_files(text, tmp_path),
        lambda: copy_model(path, tmp_path / "copy"),
    ):
        with pytest.raises(CorpusError, match="is no ordinary file"):
            read()


def find_files(text, folder):
    corpus = FilesCorpus(kind="files", train=text)
    languages = Languages(source="de", target="en")
    return corpus.find_origins(languages, fetch=must_not_fetch)


def must_not_fetch(source):
    raise AssertionError(source)


def test_the_size_of_files_is_counted_by_pairs_and_bytes_of_their_targets(text):
    languages = Languages(source="de", target="en")
    texts = text(b"ja\nnein\n", b"yes!\nno\n"), text(b"ja\tyes\nnein\tno\n", name="b")
    corpora = [FilesCorpus(kind="files", train=one) for one in texts]

    assert [tuple(one.estimate_size(languages)) for one in corpora] == [(2, 6), (2, 5)]
