"""Parallel text is read pair by pair, and the user's files are found, pinned and checked."""

import gzip
import hashlib
import os
import re
import tempfile
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.base.raw_lines import read_raw_lines
from nmt_core.corpora import parallel_text as corpus
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
from nmt_core.corpora.text_files import TextFiles, digest_paths, expand_paths, require_unchanged

LANGUAGES = Languages(source="de", target="en")


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
    """Read all pairs, two rows at a time."""
    text = Text(tuple(expand_paths(given.paths).values()), tuple(drop))
    reading = CorpusReading() if reading is None else reading
    with tempfile.TemporaryDirectory() as scratch:
        return [
            pair
            for rows in cut_rows(text, 2, scratch=Path(scratch))
            for _, pair in corpus.read_pairs(rows, drop=text.drop, reading=reading)
        ]


def refusal(given, **options):
    with pytest.raises(CorpusError) as caught:
        read_pairs(given, **options)
    return str(caught.value).replace(f"{given.source.parent}/", "")


sentences = st.text(
    st.characters(
        exclude_categories=["Cs"], exclude_characters="\n\0\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    ),
    max_size=20,
).map(lambda line: f"x{line}")


@given(pairs=st.lists(st.builds(Pair, sentences, sentences)))
def test_written_pairs_are_read(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("pairs")
    written = TextFiles(source=folder / "a.de", target=folder / "a.en")

    write_pairs(pairs, *written.paths)
    assert pairs == read_pairs(written)


def test_line_ends_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="pair 1 contains a newline"):
        write_pairs([Pair("a\nb", "c")], tmp_path / "a.de", tmp_path / "a.en")
    assert not list(tmp_path.iterdir())


BREAKS = "\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("source", "target", "pairs", "repaired"),
    [
        ("".join(f"eins{character}eins\nzwei\n" for character in BREAKS).encode(),
         b"one one\ntwo\n" * 9, [("eins eins", "one one"), ("zwei", "two")] * 9,
         {"inner_line_break": 9}),
        (b"\xef\xbb\xbfja\r\nnein\r\n", b"yes\nno", [("ja", "yes"), ("nein", "no")],
         {"byte_order_mark": 1, "crlf": 2}),
        (b"eins\nzwei\n\xef\xbb\xbfdrei", b"one\ntwo\nthree",
         [("eins", "one"), ("zwei", "two"), ("\ufeffdrei", "three")], {}),
        ("  Ko\u0308ln \u00a0 \n".encode(), b"Cologne\n", [("  Ko\u0308ln \u00a0 ", "Cologne")],
         {}),
    ],
    ids=["breaks", "windows", "mark inside", "spaces"],
)  # fmt: skip
def test_lines_are_repaired_and_never_shifted(text, source, target, pairs, repaired):
    reading = CorpusReading()
    assert read_pairs(text(source, target), reading=reading) == pairs
    assert reading.repaired == repaired


@pytest.mark.parametrize(("source", "target"), [(3, 1), (1, 3), (2, 0)])
def test_misaligned_files_are_refused(text, source, target):
    given = text(b"ja\n" * source, b"yes\n" * target)
    said = refusal(given, drop=(*DAMAGED, *UNUSABLE))

    assert said.startswith(f"a.de has {source} lines but a.en has {target};")


BAD = {
    "invalid_utf8": (b"sch\xf6n", "line 2 of a.de is not UTF-8 (byte 4 is 0xf6)"),
    "nul_character": (b"sch\0n", "a.de line 2 contains a NUL character"),
    "empty_side": (b" \t\xe2\x80\x8b", "a.de line 2 is empty"),
    "line_too_long": (b"x" * 1_000_000, "a.de line 2 is too long for a sentence"),
}


@pytest.mark.parametrize("problem", BAD)
def test_a_bad_line_is_named_or_dropped(text, problem):
    line, expected = BAD[problem]
    sides = b"ja\n" + line + b"\nnein\n", b"yes\nwell\nno\n"

    said = refusal(text(*sides), drop=[other for other in BAD if other != problem])
    assert said.startswith(expected)
    assert said.endswith("set on_bad_line to drop")
    for order in (1, -1):
        reading = CorpusReading()
        pairs = read_pairs(text(*sides[::order]), drop=[problem], reading=reading)
        assert [pair[::order] for pair in pairs] == [("ja", "yes"), ("nein", "no")]
        assert {problem: 1} == reading.dropped


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("lines", [b"yes\n", b"yes\n\n"])
def test_other_encodings_are_named(text, code, lines):
    said = refusal(text("ja, ja\n".encode(code), lines))

    assert said.startswith("a.de looks like UTF-16")
    for source in (b"yes\n", b""):
        assert refusal(text(source, "ja\n".encode(code))).startswith("a.en looks like")
    said = refusal(text("süß\n".encode("cp1252"), b"sweet\n"))
    assert "line 1 of a.de is not UTF-8" in said
    assert "iconv -f WINDOWS-1252 -t UTF-8" in said


@given(
    lines=st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)),
    limit=st.integers(1, 8),
)
def test_lines_are_split_at_line_feeds_alone(tmp_path_factory, lines, limit):
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(b"".join(line + b"\n" for line in lines))

    expected = [line if len(line) <= limit else None for line in lines]
    assert expected == list(read_raw_lines(path, max_line_bytes=limit))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"ja\tyes\nzwei\n", "a.tsv line 2 has 1 columns instead of 2"),
        (b"ja\tyes\nzwei\ttwo\t0.9\n", "a.tsv line 2 has 3 columns instead of 2"),
        (b"ja\t\n", "the target of a.tsv line 1 is empty;"),
    ],
)
def test_wrong_columns_are_named(text, content, expected):
    given = text(content)
    assert refusal(given).startswith(expected)
    assert read_pairs(given, drop=["wrong_columns", "empty_side"]) == (
        [("ja", "yes")] if b"yes" in content else []
    )


def test_compressed_and_missing_files(tmp_path):
    for name in ("a.tsv.gz", "a.TSV.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"ja\tyes\n"))
        assert read_pairs(TextFiles(source=tmp_path / name)) == [("ja", "yes")]
    missing = TextFiles(source=tmp_path / "a.tsv")
    assert refusal(missing).startswith("a.tsv does not exist")
    missing.source.mkdir()
    assert refusal(missing).startswith("a.tsv is not a regular file")


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (TextFiles, {"source": "a.de"}, "target is missing; a.de is not in a format"),
        (TextFiles, {"source": "a.tsv", "target": "b"}, "a.tsv has both sides"),
        (TextFiles, {"source": "a.de", "target": "b.tmx.zst"}, "b.tmx.zst has both sides"),
        (TextFiles, {"source": "a.de", "target": "a.de"}, "are the same file, a.de"),
        (TextFiles, {"source": "*.de", "target": "*.de"}, "are the same file, *.de"),
        (TextFiles, {"source": "*.de", "target": "all.en"}, "*.de and all.en must contain one *"),
        (TextFiles, {"source": "a.de", "target": "*.en"}, "a.de and *.en must contain one *"),
        (TextFiles, {"source": "*/*.de", "target": "*/*.en"}, "*/*.en must contain one *"),
        (TextFiles, {"source": "**.tsv"}, "**.tsv must contain one *"),
    ],
)
def test_unsuitable_paths_are_refused(kind, values, expected):
    with pytest.raises(ConfigError, match=f"^train: .*{re.escape(expected)}"):
        build(kind, values, at="train")


def test_pins_never_change_between_versions(text):
    """Otherwise the first stage of every user would run again."""
    for sides in permutations([b"ja\n", b"yes\n"]):
        digests = [hashlib.sha256(content).hexdigest() for content in sides]
        expected = hashlib.sha256("".join(digests).encode()).hexdigest()
        assert digest_paths(text(*sides).paths) == expected


@pytest.fixture
def many(tmp_path):
    """Write files of two lines that name their file and place."""

    def many(*names, source="*.de", target="*.en"):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{path.name} 1\n{path.name} 2\n")
        return TextFiles(source=tmp_path / source, target=tmp_path / target)

    return many


def test_matching_files_are_read_in_order(many):
    given = many("9.de", "10.de", "9.en", "10.en", "9.fr", "notes.txt", "10.de.old", ".new.de")
    expected = [(f"{name}.de {n}", f"{name}.en {n}") for name in ("10", "9") for n in (1, 2)]
    assert read_pairs(given) == expected

    names = ("may/text.de", "may/text.en", "june/text.de", "june/text.en", "july/other.de")
    given = many(*names, source="*/text.de", target="*/text.en")
    assert [source.parent.name for source, _ in expand_paths(given.paths).values()] == [
        "june",
        "may",
    ]


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), max_size=8)


@given(
    folder=NAMES.map(lambda name: f"x{name}".replace("*", "")),
    parts=st.lists(NAMES.map(lambda name: f"x{name}"), min_size=1, max_size=4, unique=True),
)
def test_names_may_contain_any_character(tmp_path_factory, folder, parts):
    top = tmp_path_factory.mktemp("text") / folder
    top.mkdir()
    for part in parts:
        (top / f"a[1] {part}.de?").write_text(f"Satz {part}\n")
        (top / f"a[1] {part}.en?").write_text(f"sentence {part}\n")
    given = TextFiles(source=top / "a[1] *.de?", target=top / "a[1] *.en?")

    assert read_pairs(given) == [(f"Satz {part}", f"sentence {part}") for part in sorted(parts)]


@pytest.mark.parametrize("single", ["b.de", "b.en"])
def test_files_without_translation_are_named(many, single):
    given = many("a.de", "a.en", "c.de", "c.en", single)
    missing = "b.de" if single == "b.en" else "b.en"

    assert refusal(given).startswith(f"{single} exists but {missing} does not;")
    assert refusal(many("a.tsv", source="*.x", target="*.y")).startswith("no file matches *.x")


@pytest.mark.parametrize(
    "change",
    [
        lambda top: (top / "b.en").write_text("b.en 1\nother\n"),
        lambda top: [(top / f"b.{side}").rename(top / f"c.{side}") for side in ("de", "en")],
        lambda top: [(top / f"c.{side}").write_bytes(b"") for side in ("de", "en")],
    ],
)
def test_pins_depend_on_names_and_content(many, monkeypatch, change):
    given = many("a.de", "a.en", "b.de", "b.en")
    sha256 = digest_paths(given.paths)
    require_unchanged(given.paths, sha256)
    monkeypatch.chdir(given.source.parent)
    require_unchanged([Path("*.de"), Path("*.en")], sha256)

    change(given.source.parent)
    with pytest.raises(CorpusError, match=r"\*\.de and .*\*\.en changed since params\.yaml"):
        require_unchanged(given.paths, sha256)
    require_unchanged(given.paths, "")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["zero", "pipe", "pipe.gz"])
def test_devices_and_pipes_are_refused(tmp_path, name):
    path = tmp_path / name
    if name == "zero":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    text = TextFiles(source=path, target=tmp_path / "other")
    own = FilesCorpus(kind="files", train=text)
    for read in (
        lambda: digest_paths(text.paths),
        lambda: next(read_raw_lines(path)),
        lambda: cut_rows(Text((text.paths,)), 9, scratch=tmp_path),
        lambda: own.find_origins(LANGUAGES, fetch=None),
    ):
        with pytest.raises(CorpusError, match="is not a regular file"):
            read()
