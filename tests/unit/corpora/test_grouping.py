"""Splits by documents, days, speakers and sessions, and the metadata of each format."""

import codecs
import datetime as dt
import gzip
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as limits
from hypothesis import strategies as st

from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.chapters import is_markup, read_chapters
from nmt_core.corpora.formats.registered import open_units
from nmt_core.corpora.formats.units import Metadata, find_field
from nmt_core.corpora.grouping import (
    find_day,
    mark_unique,
    name_files,
    rank_sessions,
    split_groups,
    take_last,
)
from nmt_core.corpora.splitting import PER, SPLITS, SessionSplit, SplitConfig
from stages.params import DownloadParams
from tests.support.bringing import bring
from tests.support.formats import WRITERS, table, workbook, zipped

GERMAN = Languages(source="de", target="en")
HELD_OUT = ("test", "validation")
FIELDS = ("document", "date", "speaker")
TMX = """<tmx version="1.4"><header/><body>
<tu creationdate="20020125T210600Z"><prop type="x-Document">a.doc</prop>
<tuv xml:lang="de"><seg>eins</seg></tuv><tuv xml:lang="en"><seg>one</seg></tuv></tu>
<tu><tuv xml:lang="de" creationdate="20030126T000000Z"><prop type="speaker"> Eva </prop><seg>zwei
</seg></tuv><tuv xml:lang="en"><seg>two</seg></tuv></tu>
<tu creationdate="20020125T210600Z"><prop type="date">2001-02-03</prop><prop type="x-doc">b</prop>
<prop type="filename">c</prop><tuv xml:lang="fr"><seg>trois</seg></tuv></tu></body></tmx>"""
XLIFF = """<xliff version="1.2"><file original="a.html" date="2001-04-25T00:00:00Z"
source-language="de" target-language="en"><body><trans-unit id="1"><source>eins</source>
<target>one</target></trans-unit><group resname="menu"><group id="inner"><trans-unit id="2">
<source>zwei drei</source><seg-source><mrk mtype="seg" mid="1">zwei</mrk>
<mrk mtype="seg" mid="2">drei</mrk></seg-source><target><mrk mtype="seg" mid="1">two</mrk>
<mrk mtype="seg" mid="2">three</mrk></target></trans-unit></group></group></body></file></xliff>"""
XLIFF2 = """<xliff version="2.1" srcLang="de" trgLang="en"
xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f1"><group id="g"><unit id="u">
<segment><source>eins</source><target>one</target></segment>
<segment><source>zwei</source><target>two</target></segment></unit></group></file></xliff>"""
TABLE = [
    ["Speaker", "de", "Document ID", "en", "date", "file"],
    ["Eva", "eins", "a", "one", "2001-02-03", "f"],
    ["Adam", "zwei", "b", "two"],
    [],
]
OF_TABLE = [("a", "2001-02-03", "Eva"), ("b", "", "Adam"), ("", "", "")]


DATED = [TABLE[0], [*TABLE[1][:4], dt.datetime.fromisoformat("2001-02-03")], TABLE[2]]


OPUS = zipped(
    **{
        "B.de-en.de": b"eins\nzwei\n",
        "B.de-en.en": b"one\ntwo\n",
        "B.de-en.ids": b"de/ep-00-01-17.xml.gz\ten/x.xml.gz\t1\t1\n"
        b"de/b.xml.gz\ten/b.xml.gz\t2\t2\n",
    }
)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "a.tmx",
            TMX.encode(),
            [
                ("a.doc", "20020125T210600Z", ""),
                ("", "20030126T000000Z", "Eva"),
                ("b", "2001-02-03", ""),
            ],
        ),
        (
            "a.xlf",
            XLIFF.encode(),
            [("a.html", "2001-04-25T00:00:00Z", "")]
            + [("a.html/menu", "2001-04-25T00:00:00Z", "")] * 2,
        ),
        ("a.xliff", XLIFF2.encode(), [("f1/g", "", "")] * 2),
        ("a.csv", table(TABLE), OF_TABLE),
        ("a.tsv.gz", gzip.compress(table(TABLE, delimiter="\t")), OF_TABLE),
        ("a.xlsx", workbook(DATED), [("a", "2001-02-03", "Eva"), ("b", "", "Adam")]),
        ("a.zip", OPUS, [("de/ep-00-01-17.xml.gz", "", ""), ("de/b.xml.gz", "", "")]),
    ],
)
def test_a_format_says_where_a_unit_is_from(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content)
    units = open_units(path, GERMAN)

    assert [Metadata(*fields) for fields in expected] == list(units.metadata())
    assert len([*units.rows]) == len(expected)


@pytest.mark.parametrize("ending", WRITERS)
@given(pairs=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1))
@limits(max_examples=5)
def test_every_unit_has_its_metadata(tmp_path_factory, ending, pairs):
    path = tmp_path_factory.mktemp("units") / f"a.{ending}"
    path.write_bytes(WRITERS[ending](pairs))
    units = open_units(path, GERMAN)

    assert (units.metadata is None) == (ending == "po")
    assert units.metadata is None or len([*units.metadata()]) == len([*units.rows]) == len(pairs)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *(("x-document", "document"), ("File Name", "document"), ("documents", None), ("", None)),
        *(("DATE", "date"), ("speaker_name", "speaker")),
    ],
)
def test_fields_are_found_by_their_names(name, field):
    assert find_field(name) == field


@example(day=dt.date(1970, 1, 1))
@given(day=st.dates(dt.date(1970, 1, 1), dt.date(2069, 12, 31)))
def test_a_day_is_found_in_every_form(day):
    forms = ["%Y-%m-%d", "%Y%m%dT000000Z", "en/ep-%y-%m-%d.xml", "99/%Y%m%d.de"]
    forms += ["news %Y-%m-%d 12:30"]
    assert {find_day(f"{day:{form}}") for form in forms} == {day.isoformat()}
    others = ["25.1.2002", "2002-13-01", "2001-02-29", "120020125", "2002-0125", "step-00-01-170"]
    assert not any(map(find_day, ["", *others]))


@given(
    counts=st.dictionaries(st.dates().map(str), st.integers(1, 50), min_size=3, max_size=12),
    unnamed=st.integers(0, 40),
    by=st.sampled_from(FIELDS),
    rates=st.tuples(st.floats(1, 2400), st.floats(1, 2400)),
    wanted=st.sampled_from([HELD_OUT, ("test",), ("validation",)]),
)
def test_no_more_groups_are_held_out_than_needed(counts, unnamed, by, rates, wanted):
    """Each split is the shortest beginning of an order that holds enough; dates fall in a row."""
    config = SplitConfig(by=by, test_per_10000=rates[0], validation_per_10000=rates[1])
    counts = Counter(counts) + Counter({"": unnamed})
    splits, refused = None, ""
    try:
        splits = split_groups(counts, config, wanted, "own")
    except CorpusError as error:
        refused = str(error)
    if splits is None:
        assert re.search("pairs would be held out|too few for", refused)
        return

    held = {split: [one for one in counts if splits[one] == split] for split in SPLITS}
    assert splits == split_groups(Counter(dict(reversed(counts.items()))), config, wanted, "own")
    assert all(bool(held[split]) == (split in wanted) for split in HELD_OUT)
    assert "" not in [*held["test"], *held["validation"]]
    assert sum(counts[one] for split in wanted for one in held[split]) <= counts.total() / 2
    for split, rate in zip(HELD_OUT, rates, strict=True):
        sizes = [counts[one] for one in held[split]]
        enough = max(1, counts.total() * rate / PER)
        assert not sizes or sum(sizes) >= enough > sum(sizes) - max(sizes)
    if by == "date":
        order = [held[split] for split in ("train", "validation", "test")]
        days = [[day for day in some if day] for some in order if any(some)]
        assert all(max(older) < min(newer) for older, newer in pairwise(days))


def test_the_size_of_one_split_does_not_touch_the_other():
    counts = Counter({f"talk {number}": 10 for number in range(100)})
    few, many = (
        split_groups(counts, SplitConfig(by="document", test_per_10000=rate), HELD_OUT, "own")
        for rate in (100.0, 4000.0)
    )

    assert [one for one in counts if few[one] == "validation"] == [
        one for one in counts if many[one] == "validation"
    ]
    assert {one for one in counts if few[one] == "test"} < {
        one for one in counts if many[one] == "test"
    }
    salted = SplitConfig(by="document", test_per_10000=4000.0, salt="another")
    assert split_groups(counts, salted, HELD_OUT, "own") != many


@pytest.fixture
def run(tmp_path):
    """Write files of one corpus and split them; return the measures and the pairs of splits."""

    def run(texts, source, chunk_lines=3, target=None, **split):
        for name, content in texts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        train = {"source": str(tmp_path / source), "target": target and str(tmp_path / target)}
        values = {
            "languages": {"source": "de", "target": "en"},
            "corpora": {"own": {"kind": "files", "train": train}},
            "split": {"test_per_10000": 1500.0, "validation_per_10000": 1500.0, **split},
            "near_duplicates": {"distance": 0.0},
        }
        params = build(DownloadParams, values, at="download")
        return bring(params, tmp_path / "made", chunk_lines=chunk_lines)

    return run


HEADER = (*FIELDS, "de", "en")
ROWS = [
    (f"talk {7 * n % 10}", f"2020-01-{10 + 5 * n % 6}", f"who {n % 4}", f"satz {n}", f"line {n}")
    for n in range(60)
]
"""Ten documents, six days and four speakers, in no order."""


@pytest.mark.parametrize("by", FIELDS)
def test_no_group_is_in_two_splits(run, by):
    content = {"a.csv": table([HEADER, *ROWS])}
    measured, pairs = run(content, "a.csv", by=by)

    origin = {row[3:]: row[FIELDS.index(by)] for row in ROWS}
    homes = {split: {origin[pair] for pair in pairs[split]} for split in SPLITS}
    assert all(homes.values())
    assert not any(homes[one] & homes[other] for one in SPLITS for other in SPLITS if one < other)
    assert sum(measured["pairs"].values()) == len(ROWS)
    if by == "date":
        assert max(homes["train"]) < min(homes["validation"])
        assert max(homes["validation"]) < min(homes["test"])
    assert run(content, "a.csv", chunk_lines=1000, by=by)[1] == pairs


def test_leaks_between_documents_are_removed(run):
    _, before = run({"a.csv": table([HEADER, *ROWS])}, "a.csv", by="document")
    tested, trained = before["test"][0], before["train"][0]
    shared = [(*row[:3], tested[0], row[4]) if row[3:] == trained else row for row in ROWS]
    measured, after = run({"a.csv": table([HEADER, *shared])}, "a.csv", by="document")

    assert after["test"] == before["test"]
    assert after["train"] == before["train"][1:]
    assert measured["removed"]["train"] == {"also_in_test": 1}


@pytest.mark.parametrize("name", ["d-2020-01-{}.tsv", "2020-01-{}/all.tsv"])
def test_file_is_a_document_with_the_day_of_its_name(run, name):
    texts = {
        name.format(day): "".join(f"satz {day} {n}\tline {day} {n}\n" for n in range(5)).encode()
        for day in range(11, 16)
    }
    days = {}
    for by in ("document", "date"):
        _, pairs = run(texts, name.format("*") if "/" in name else "d-*.tsv", by=by)
        days[by] = {split: {source.split()[1] for source, _ in pairs[split]} for split in SPLITS}
    assert sorted(day for some in days["document"].values() for day in some) == [
        str(day) for day in range(11, 16)
    ]
    assert days["date"] == {"train": {"11", "12", "13"}, "validation": {"14"}, "test": {"15"}}


def test_chapters_and_speakers_of_europarl_group_lines(run):
    lines = []
    for chapter in range(5):
        lines += [f'<CHAPTER ID="{chapter}">', f"titel {chapter}"]
        for speaker in range(2):
            lines += [f'<SPEAKER ID={speaker} NAME="N{chapter}">', f"satz {chapter} {speaker}"]
            lines += ["<P>"]
    english = [line.replace("satz", "line").replace("titel", "title") for line in lines]
    texts = {"a.de": "\n".join(lines).encode(), "a.en": "\n".join(english).encode()}
    measured, by_chapter = run(texts, "a.de", target="a.en", by="document")

    assert measured["removed"]["train"] == {"markup": 25}
    homes = {split: {source.split()[1] for source, _ in by_chapter[split]} for split in SPLITS}
    assert [len(homes[split]) for split in SPLITS] == [3, 1, 1]
    assert sum(len(pairs) for pairs in by_chapter.values()) == 15
    measured, by_speaker = run(texts, "a.de", target="a.en", by="speaker")
    homes = {split: {source for source, _ in by_speaker[split]} for split in SPLITS}
    assert all(f"titel {chapter}" in homes["train"] for chapter in range(5))
    assert measured["noticed"] == {"unknown_speaker": 10}


UNDATED = [("a", "", "", f"x{n}", f"y{n}") for n in range(9)]


@pytest.mark.parametrize(
    ("rows", "by", "error"),
    [
        (UNDATED, "document", "own names 1 document, too few"),
        (UNDATED, "date", "own names 0 dates, too few"),
        ([("a", "3.1.2020", "", "x", "y")], "date", "a.csv unit 1 .*'3.1.2020'"),
        ([(f"{n % 3}", *UNDATED[n][1:]) for n in range(9)], "document", "own, 6 of 9 pairs"),
    ],
)
def test_unsuitable_text_is_refused(run, rows, by, error):
    with pytest.raises(CorpusError, match=f"download.split.by: .*{error}"):
        run({"a.csv": table([HEADER, *rows])}, "a.csv", by=by)


def test_other_units_than_names_are_refused(run):
    texts = {"B.de": b"eins\nzwei\n", "B.en": b"one\ntwo\n", "B.ids": b"a\tb\n"}
    with pytest.raises(CorpusError, match=r"own has 2 pairs .* of 1;"):
        run({"a.zip": zipped(**texts)}, "a.zip", by="document")
    with pytest.raises(ConfigError, match="sessions and by: date"):
        build(SplitConfig, {"by": "date", "sessions": {"file": "f", "held_out": ["a"]}}, at="at")


def test_two_files_of_ids_are_ignored(tmp_path):
    sides = {"B.de-en.de": b"eins\n", "B.de-en.en": b"one\n"}
    (tmp_path / "a.zip").write_bytes(zipped(**sides, **{"A.ids": b"x\ty\n", "B.ids": b"u\tv\n"}))
    assert open_units(tmp_path / "a.zip", GERMAN).metadata is None


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a/x.de", "b/y.de"], ["x.de", "y.de"]),
        (["/t/a/x.de", "/t/b/x.de"], ["a/x.de", "b/x.de"]),
        (["a/u/x.de", "b/u/x.de"], ["a/u/x.de", "b/u/x.de"]),
        (["a/x.de"] * 2, ["a/x.de"] * 2),
        ([], []),
    ],
)
def test_file_names_have_the_folders_that_distinguish_them(paths, names):
    assert name_files([*map(Path, paths)]) == names


def test_chapters_of_two_files_differ(tmp_path):
    for name in ("a.de", "b.de"):
        (tmp_path / name).write_text('<CHAPTER ID=1>\n<SPEAKER ID=1 NAME="N">\nsatz\n')
        *_, last = read_chapters(tmp_path / name, name)
        assert last == Metadata(f"{name}/1", speaker="N")


@pytest.mark.parametrize(
    ("line", "expected"),
    [("<P>", True), ('<SPEAKER ID=1 NAME="Ö">\r', True), ("<CHAPTER ID=1> Wiederaufnahme", False),
     ("<PRE>", False), ("<p>", False), ("Ein <P>", False)],
)  # fmt: skip
def test_markup_is_alone_on_its_line(line, expected):
    assert is_markup(line) == expected


SESSIONS = ["ep-00-01-17", "ep-00-07-03", "ep-00-07-04", "ep-00-07-04", "ep-00-09-21", "ep-99-07"]


@pytest.fixture
def sessions(tmp_path):
    def sessions(content, *held_out, name="meta.tsv"):
        (tmp_path / name).write_bytes(content)
        return SessionSplit(file=tmp_path / name, held_out=held_out)

    return sessions


PLAIN = "".join(f"{name}\t{place}\tfr\n" for place, name in enumerate(SESSIONS)).encode()


@pytest.mark.parametrize(
    ("content", "held_out", "ranks"),
    [
        (PLAIN, ("ep-00-09", "ep-00-07"), [-1, 0, 1, 1, 2, -1]),
        (codecs.BOM_UTF8 + b"a\t0\nb\t1\na\t2\n", ("a",), [0, -1, 0]),
        (b"a\r\nb\na\n a \t1\r\n", ("a",), [0, -1, 0, 0]),
    ],
)
def test_sessions_are_ranked_by_their_names(sessions, content, held_out, ranks):
    packed = sessions(gzip.compress(content), *held_out, name="meta.tsv.gz")
    for split in (sessions(content, *held_out), packed):
        assert rank_sessions(split, len(ranks)).tolist() == ranks


@pytest.mark.parametrize(
    ("lines", "held_out", "error"),
    [
        (7, ("ep-00",), "meta.tsv has 6 lines but the corpus 7"),
        (6, ("ep-00", "ep-00-08"), "'ep-00-08'; did you mean 'ep-00-0"),
        (6, ("talk",), "'talk'; known here: ep-0, ep-9"),
    ],
)
def test_unsuitable_sessions_are_refused(sessions, lines, held_out, error):
    with pytest.raises(CorpusError, match=error):
        rank_sessions(sessions(PLAIN, *held_out), lines)


def test_file_of_sessions_is_pinned(sessions, tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        rank_sessions(SessionSplit(file=tmp_path / "none", held_out=("ep",)), 6)
    split = sessions(PLAIN, "ep")
    with pytest.raises(CorpusError, match=r"changed since params\.yaml was written"):
        rank_sessions(split.model_copy(update={"sha256": "0" * 64}), 6)
    config = SplitConfig(sessions=split)
    assert config.pinned().pins() == {str(split.file): split.digest()}
    assert len(rank_sessions(config.pinned().sessions, 6)) == 6


@given(st.data())
def test_last_unique_pairs_are_held_out(data):
    """Test is the end, validation what comes before it, both in the order of the sessions."""
    size = data.draw(st.integers(1, 30))
    unique = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    ranks = np.array(drawn, dtype=np.int32)
    tests, validations = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    split = SessionSplit(
        file=Path("f"), held_out=("a",), test_pairs=tests, validation_pairs=validations
    )
    rows = [row for _, row in sorted((rank, row) for row, rank in enumerate(ranks) if unique[row])]
    if len(rows) < tests + validations:
        with pytest.raises(CorpusError, match="fewer than the"):
            take_last(unique, ranks, split, HELD_OUT)
        return
    taken = take_last(unique, ranks, split, HELD_OUT)

    assert sorted(rows[-tests:]) == np.flatnonzero(taken["test"]).tolist()
    assert sorted(rows[-tests - validations : -tests]) == (
        np.flatnonzero(taken["validation"]).tolist()
    )


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_unique_pairs_share_no_side_with_another(pairs):
    columns = list(zip(*pairs, strict=True))
    expected = [
        all(column.count(value) == 1 for column, value in zip(columns, pair, strict=True))
        for pair in pairs
    ]

    assert expected == mark_unique(np.array(pairs, dtype=np.uint64)).tolist()
