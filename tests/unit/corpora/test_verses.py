"""Two files whose lines have ids, one a language."""

import gzip
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import CorpusError
from nmt_core.base.languages import Languages
from nmt_core.corpora.formats.registered import are_paired_by_id
from nmt_core.corpora.local import FilesCorpus
from nmt_core.corpora.parallel_text import UNUSABLE, CorpusReading, Text, cut_rows, read_pairs
from nmt_core.corpora.text_files import TextFiles

DE_EN = Languages(source="de", target="en")
GERMAN = "\ufeffGEN 1:1\tAm Anfang\r\n\nGEN 1:2\t\nGEN 1:3\tEs werde\tLicht\nGEN 1:5\tTag\n"
ENGLISH = "GEN 1:3\tLet there be light\nGEN 1:2\tThe earth\nGEN 1:1\tIn the beginning\nX\tNote\n"


def write(folder, german=GERMAN, english=ENGLISH):
    for name, text in (("de", german), ("en", english)):
        content = text if isinstance(text, bytes) else text.encode()
        (folder / f"{name}.tsv").write_bytes(content)
    return TextFiles(source=folder / "de.tsv", target=folder / "en.tsv")


def read(text, scratch, lines=2):
    """Return the pairs of files with the numbers of their verses, and what was dropped."""
    reading = CorpusReading()
    rows = cut_rows(Text((text.paths,), UNUSABLE, DE_EN), lines, scratch=scratch)
    pairs = [one for each in rows for one in read_pairs(each, drop=UNUSABLE, reading=reading)]
    return pairs, reading.dropped


def test_lines_of_one_id_are_a_pair_and_others_are_counted(tmp_path):
    pairs, dropped = read(write(tmp_path), tmp_path)

    assert pairs == [
        (1, ("Am Anfang", "In the beginning")),
        (3, ("Es werde Licht", "Let there be light")),
    ]
    assert dropped == {"empty_side": 3}  # 1:2, 1:5 and X


NAMES = st.lists(st.integers(0, 20), unique=True, max_size=8)


@settings(max_examples=30)
@given(NAMES, NAMES, st.integers(0, 9), st.sampled_from(["", ".gz"]))
def test_any_order_gives_the_same_pairs(tmp_path_factory, source, target, seed, ending):
    folder = tmp_path_factory.mktemp("text")
    sides = [folder / f"{side}.TSV{ending}" for side in "ab"]
    for path, given_names in zip(sides, (source, target), strict=True):
        names = [*given_names, "both"]
        random.Random(seed).shuffle(names)
        content = "".join(f"{name}\t{path.name[0]} {name}\n" for name in names).encode()
        path.write_bytes(gzip.compress(content) if ending else content)
    pairs, dropped = read(TextFiles(source=sides[0], target=sides[1]), folder)

    common = {"both", *source} & {"both", *target}
    assert sorted(pair for _, pair in pairs) == sorted((f"a {n}", f"b {n}") for n in common)
    assert dropped.total() == len({*source} ^ {*target})


@pytest.mark.parametrize(
    ("german", "english", "told"),
    [
        ("A 1\ta\n", "B 1\tb\n", "no id in common, the first are 'A 1' and 'B 1'; give"),
        ("A 1\ta\n", "", "no id in common"),
        ("A 1\ta\nA 1\tb\n", ENGLISH, r"de\.tsv line 2: the id 'A 1' stands in line 1, too"),
        (GERMAN, "X\tb\n\nAm Anfang\n", r"en\.tsv line 3 has no id before a tab: 'Am Anfang'"),
        ("\tAm Anfang\n", ENGLISH, r"de\.tsv line 1 has no id before a tab: 'Am Anfang'"),
        ("A\t" + "a" * 200_000, ENGLISH, r"de\.tsv line 1 is too long for a verse"),
        (b"GEN 1:1\t\xff\n", ENGLISH, r"verse 1 of .*de\.tsv is not UTF-8"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(tmp_path, german, english, told):
    with pytest.raises(CorpusError, match=told) as caught:
        read(write(tmp_path, german, english), tmp_path)
    assert "\n" not in str(caught.value)


def test_a_verse_without_a_side_is_named_where_none_may_be_dropped(tmp_path):
    [*rows] = cut_rows(Text((write(tmp_path).paths,), (), DE_EN), 9, scratch=tmp_path)
    with pytest.raises(CorpusError, match=r"the source of .*de\.tsv verse 2 is empty"):
        list(read_pairs(rows[0], drop=(), reading=CorpusReading()))


def test_the_size_of_a_corpus_is_that_of_its_pairs(tmp_path):
    corpus = FilesCorpus(kind="files", train=write(tmp_path))
    assert corpus.estimate_size(DE_EN) == (2, len("In the beginning" + "Let there be light"))


def test_they_are_known_by_both_names(tmp_path):
    two = [tmp_path / "a.tsv", tmp_path / "b.tsv.gz"]
    assert are_paired_by_id(two)
    assert not are_paired_by_id(two[:1])
    assert not are_paired_by_id([two[0], two[0]])  # as text of one language is read
    assert not are_paired_by_id([two[0], tmp_path / "b.en"])
