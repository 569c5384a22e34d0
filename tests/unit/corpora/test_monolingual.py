"""Monolingual text: which lines stay, and that they change no pair."""

import gzip

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.named import describe_rule, describe_together, estimate_total
from nmt_core.corpora.reading import TrainedText, list_replayed
from stages import download
from stages.params import DownloadParams

SETS = {
    "train": [(f"Satz {n}", f"sentence {n}") for n in range(30)],
    "validation": [("Das ist gut", "That is good")],
    "test": [
        ("Der Hund schläft im Garten", "The dog sleeps in the garden"),
        ("Wir gehen jetzt", "We leave now"),
    ],
}
ENGLISH = [
    "we LEAVE now!",
    "That is good.",
    "The dog sleeps in our garden",
    "Der Hund schläft im Garten",
    "A cat sits on the mat",
    "a cat sits on the mat!",
    "sentence 3",
    "",
    "word " * 200,
]


def write(folder, sets=SETS, english=ENGLISH):
    for split, pairs in sets.items():
        files.write_lines(folder / f"{split}.tsv", (f"{one}\t{two}" for one, two in pairs))
    files.write_lines(folder / "alone.en", english)


def settings(folder, alone=None, near=0.2, **changes):
    """Return the settings of parallel text and, except with ``alone={}``, of monolingual text."""
    pairs = {split: {"source": str(folder / f"{split}.tsv")} for split in SETS}
    english = {"role": "monolingual", "language": "en", "path": str(folder / "alone.en")}
    others = {"alone": english | {"licence": "own"} | changes} if alone is None else alone
    values = {
        "languages": {"source": "de", "target": "en"},
        "corpora": {"own": {"kind": "files", "licence": "own", **pairs}, **others},
        "near_duplicates": {"distance": near},
    }
    return build(DownloadParams, values, at="download")


def run(params, folder):
    places = {name: folder / "data" / name for name in ("corpus", "vectors")}
    measured = download.run(
        params, **places, downloads=folder / "downloads", workers=WorkersConfig(processes=1)
    )
    texts = (folder / "data" / "monolingual").glob("*.txt")
    return measured.dump(), {path.name: [*files.read_lines(path)] for path in texts}


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    return tmp_path


def test_held_out_repeated_and_unfit_lines_are_removed(folder):
    measured, texts = run(settings(folder), folder)
    [(name, counts)] = measured["monolingual"].items()

    # the source of a test pair is not English
    assert texts == {"en.txt": [ENGLISH[3], ENGLISH[4], "sentence 3"]}
    assert (name, counts["language"], counts["licence"], counts["lines"]) == (
        *("alone", "en", "own", 3),
    )
    assert counts["removed"] == {
        "also_in_test": 1,
        "also_in_validation": 1,
        "duplicate": 1,
        "empty_side": 1,
        "near_duplicate": 1,
        "too_many_words": 1,
    }
    assert counts["origins"][0]["sha256"] == files.sha256(folder / "alone.en")
    assert files.read_json(folder / "data/monolingual/monolingual.json") == {"alone": 3}
    _, near = run(settings(folder, near=0.0), folder)
    assert "The dog sleeps in our garden" in near["en.txt"]


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize(("side", "code"), [(0, "de"), (1, "en")])
def test_lines_near_a_held_out_sentence_are_removed(tmp_path, split, side, code):
    held_out = ("Die Katze sucht ihre kleine Maus", "The cat looks for its small mouse")
    near = held_out[side].replace("small", "big").replace("kleine", "dicke")
    other = "That stands here and nowhere else"
    write(tmp_path, {**SETS, split: [*SETS[split], held_out]}, [near, held_out[side], other])
    measured, texts = run(settings(tmp_path, language=code), tmp_path)
    assert texts == {f"{code}.txt": [other]}
    removed = measured["monolingual"]["alone"]["removed"]
    assert removed == {f"also_in_{split}": 1, "near_duplicate": 1}


def test_pairs_are_the_same_with_and_without(folder):
    without, none = run(settings(folder, alone={}), folder / "a")
    with_it, _ = run(settings(folder), folder / "b")

    assert none == without["monolingual"] == {}
    assert files.read_json(folder / "a/data/monolingual/monolingual.json") == {}
    for one in (folder / "a/data/corpus").iterdir():
        assert one.read_bytes() == (folder / "b/data/corpus" / one.name).read_bytes()
    of_text = {"monolingual", "corpus"}
    assert {n: v for n, v in with_it.items() if n not in of_text} == {
        n: v for n, v in without.items() if n not in of_text
    }


def test_each_language_has_one_file(folder):
    with gzip.open(folder / "more.1.de.gz", "wt", encoding="utf-8") as file:
        file.write("Eins\nWir gehen jetzt\n")
    files.write_lines(folder / "more.2.de", ["Zwei", "Drei"])
    german = {"kind": "text", "licence": "own", "language": "de", "path": str(folder / "more.*")}
    english = german | {"language": "en", "path": str(folder / "alone.en")}
    measured, texts = run(settings(folder, alone={"more": german, "english": english}), folder)

    assert texts["de.txt"] == ["Eins", "Zwei", "Drei"]
    assert len(texts["en.txt"]) == 3
    assert [one["lines"] for one in measured["monolingual"].values()] == [3, 3]


words = st.sampled_from(["Haus", "Baum", "Katze", "Hund"])
lines = st.lists(words, min_size=1, max_size=7).map(" ".join)


@limits(max_examples=10, deadline=None)
@given(
    st.lists(lines, min_size=1, max_size=20), st.lists(lines, min_size=2, max_size=8, unique=True)
)
def test_no_line_is_validated_or_tested_on(tmp_path_factory, english, held_out):
    folder = tmp_path_factory.mktemp("alone")
    sets = SETS | {
        "validation": [("eins", held_out[0])],
        "test": [(f"zwei {n}", line) for n, line in enumerate(held_out[1:])],
    }
    write(folder, sets, english)
    texts, refused = None, ""
    try:
        _, texts = run(settings(folder), folder)
    except CorpusError as error:
        refused = str(error)
    if texts is None:
        assert "no line of the corpus alone is left for train (removed:" in refused
        return
    keys = [make_comparison_key(line) for line in texts["en.txt"]]
    assert len({*keys}) == len(keys)
    assert not {*keys} & {*map(make_comparison_key, held_out)}
    assert {*texts["en.txt"]} <= {*english}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"language": "fr"}, r"corpora\.alone: language 'fr' is not one of de and en"),
        ({"weight": 2.0}, "no training pairs, so weight, tag, languages and train_only"),
        ({"tag": "x"}, "no training pairs, so weight, tag, languages and train_only"),
        ({"path": "a*b*"}, r"must contain at most one \*"),
        ({"path": "a/*.tmx.gz"}, r"a/\*\.tmx\.gz is in a format of pairs"),
        ({"path": "a.XLSX"}, "is in a format of pairs"),
        ({"licence": ""}, r"corpora\.alone\.licence is empty"),
    ],
)
def test_contradictory_settings_are_refused(folder, changes, says):
    with pytest.raises(ConfigError, match=says):
        settings(folder, **changes)


def test_files_are_pinned_and_damage_is_named(folder):
    pinned = settings(folder).pinned()
    assert pinned.pins()[str(folder / "alone.en")] == pinned.corpora["alone"].sha256 != ""
    run(pinned, folder)
    files.write_lines(folder / "alone.en", ["other"])
    with pytest.raises(CorpusError, match="changed since params"):
        run(pinned, folder)
    (folder / "alone.en").write_bytes(b"fine\n\xff\xfe broken\n")
    with pytest.raises(CorpusError, match=r"line 2 of .*alone\.en"):
        run(settings(folder), folder)
    _, texts = run(settings(folder, on_bad_line="drop"), folder)
    assert texts == {"en.txt": ["fine"]}
    for path in ("alone.xx", "*.none"):
        with pytest.raises(CorpusError, match=f"{path.strip('*')}"):
            run(settings(folder, path=str(folder / path)), folder)


def test_the_card_names_the_licence_of_monolingual_text(folder):
    params = settings(folder, licence="cc0-1.0")
    assert "alone (cc0-1.0): Monolingual text (en)" in describe_together(params.corpora).text
    plain = settings(folder, alone={})
    assert estimate_total(params.corpora, params.languages, (), lambda _: None).pairs == 30
    assert describe_rule(params.corpora, params.split) == describe_rule(plain.corpora, plain.split)
    text = params.model_dump(mode="json", include=set(TrainedText.model_fields))
    trained = build(TrainedText, text, at="corpora.json")
    replayed = list_replayed([trained], {}, [params.languages])
    assert [name for name, _ in replayed] == ["replay-own"]
    values = params.model_dump(mode="json")
    values["corpora"].pop("own")
    with pytest.raises(ConfigError, match="all corpora are monolingual"):
        build(DownloadParams, values, at="download")


def test_text_of_test_sentences_alone_is_explained(folder):
    files.write_lines(folder / "alone.en", [*(two for _, two in SETS["test"]), "we LEAVE now!"])
    told = r"alone is left for train \(removed: also_in_test 3\); .*use other text"
    with pytest.raises(CorpusError, match=told):
        run(settings(folder), folder)
    files.write_lines(folder / "alone.en", ["word " * 200, "We leave now"])
    with pytest.raises(CorpusError, match="relax the filter"):
        run(settings(folder), folder)


def test_faults_of_all_text_stop_unless_accepted(folder):
    """Monolingual text is neither inspected as two languages nor screened."""
    files.write_lines(folder / "alone.en", (f"Das Haus Nummer {n} ist rot." for n in range(60)))
    looked = {"look": {}, "screen": {"sample_pairs": 100}}
    told = r"alone.*the text is de and not en.*Haus.*corpora\.alone\.filter\.look\.acc.*language\]"
    for filters in (looked, looked | {"look": None}):  # a screen inspects text, too
        with pytest.raises(CorpusError, match=told) as refused:
            run(settings(folder, filter=filters), folder)
        assert "beside" not in str(refused.value)
    accepted = looked | {"look": {"accepted": ["wrong_language"]}}
    _, texts = run(settings(folder, filter=accepted), folder)
    assert len(texts["en.txt"]) == 60
    assert run(settings(folder, filter={"look": None}), folder)[1] == texts
    german = settings(folder, filter=looked, language="de")
    assert len(run(german, folder)[1]["de.txt"]) == 60
