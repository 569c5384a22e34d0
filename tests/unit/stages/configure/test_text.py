"""TEXT= names text, its languages and its held-out sets."""

import zipfile

import pytest

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from stages.configure import auto
from stages.configure.request import Request, compose_settings, configure
from stages.configure.text import read_text
from stages.runtime.params_file import read
from tests.support import formats
from tests.support.projects import PROJECT

DE = "Die Kommission hat dem Parlament gestern einen Bericht über die Lage vorgelegt.\n"
EN = "Yesterday the Commission presented a report on the situation to Parliament.\n"
TMX = """<tmx version="1.4"><header srclang="{0}" adminlang="en-US"/><body>
<tu><tuv xml:lang="{0}"><seg>Guten Tag</seg></tuv><tuv xml:lang="{1}"><seg>Hello</seg></tuv></tu>
</body></tmx>"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of text in several formats."""
    monkeypatch.chdir(tmp_path)
    for name in ("train", "test", "dev", "more", "de"):
        (tmp_path / f"{name}.de").write_text(DE * 3)
        (tmp_path / f"{name}.en").write_text(EN * 3)
    (tmp_path / "left").write_text(EN * 3)
    (tmp_path / "right.txt").write_text(DE * 3)
    (tmp_path / "a_fr.txt").write_text("Bonjour\n")
    (tmp_path / "a_en.txt").write_text("Hello\n")
    (tmp_path / "two words.de").write_text(DE)
    (tmp_path / "two words.en").write_text(EN)
    (tmp_path / "memory.tmx").write_text(TMX.format("de-DE", "en-US"))
    (tmp_path / "french.xlf").write_text('<xliff srcLang="fr" trgLang="en"></xliff>')
    (tmp_path / "table.csv").write_text("id;Deutsch;English\n1;Guten Tag;Hello\n")
    (tmp_path / "codes.tsv").write_text("text_en\ttext_pt-BR\nHello\tOlá\n")
    (tmp_path / "plain.tsv").write_text("Guten Tag\tHello\n")
    (tmp_path / "lines.jsonl").write_text('{"translation": {"de": "Tag", "en": "day"}}\n')
    workbook = formats.xlsx([("Tag", "day")], "German", "English")
    (tmp_path / "prices.xlsx").write_bytes(workbook)
    with zipfile.ZipFile(tmp_path / "Books.zip", "w") as archive:
        archive.writestr("README", "about")
        archive.writestr("Books.de-en.de", DE)
        archive.writestr("Books.de-en.en", EN)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names", "languages"),
    [
        ("train.de train.en", ["train"], "de-en"),
        ("train.en train.de", ["train"], "en-de"),
        ("memory.tmx", ["memory"], "de-DE-en-US"),
        ("memory.tmx train.de train.en", ["memory", "train"], "de-en"),
        ("train.de train.en table.csv", ["train", "table"], "de-en"),
        ("table.csv", ["table"], "de-en"),
        ("codes.tsv", ["codes"], "en-pt"),
        ("lines.jsonl", ["lines"], "de-en"),
        ("prices.xlsx Books.zip", ["prices", "books"], "de-en"),
        ("french.xlf a_fr.txt a_en.txt", ["french", "a"], "fr-en"),
        ("left right.txt", ["left"], "en-de"),
        ("'two words.de' 'two words.en'", ["two-words"], "de-en"),
        ("tra*.de tra*.en", ["tra"], "de-en"),
        ("opus:Books/v1 train.de train.en europarl", ["books", "train", "europarl"], "de-en"),
        ("train.de train.en ./train.de ./train.en", ["train", "train-2"], "de-en"),
        ("train.de train.en https://x.org/a/News.tmx", ["train", "news"], "de-en"),
    ],
)
def test_words_name_corpora_and_languages(folder, text, names, languages):
    found = read_text(text)

    assert [*found.corpora] == names
    assert "-".join(found.languages.codes) == languages


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no text"),
        ("'train.de", "cannot be split"),
        ("trian.de train.en", r"trian\.de, which is neither.*'train\.de'"),
        ("europrl", "europrl, which is neither.*'europarl'"),
        ("opus:Books", "has no version"),
        ("opsu:Books/v1", "unknown prefix; did you mean 'opus'"),
        ("train.de", r"train\.de has no translation"),
        ("train.de train.en more.de", r"more\.de has no translation"),
        (".", "is a folder"),
        ("plain.tsv", "add LANGUAGES="),
        ("europarl", "add LANGUAGES="),
        ("train.de train.en a_fr.txt a_en.txt", "de-en but a_fr.txt is fr-en"),
    ],
)
def test_wrong_words_are_refused(folder, text, problem):
    with pytest.raises(ConfigError, match=problem):
        read_text(text)


def test_sides_follow_the_languages(folder):
    found = read_text("train.de train.en", languages="en-de", test="test.de test.en")

    assert found.corpora["train"]["train"] == {"source": "train.en", "target": "train.de"}
    assert found.corpora["train"]["test"] == {"source": "test.en", "target": "test.de"}


def test_held_out_sets_belong_to_the_first_files(folder):
    found = read_text("europarl memory.tmx", validation="dev.de dev.en", test="table.csv")

    assert found.corpora["memory"]["validation"] == {"source": "dev.de", "target": "dev.en"}
    assert found.corpora["memory"]["test"] == {"source": "table.csv"}
    with pytest.raises(ConfigError, match="requires a corpus of files"):
        read_text("europarl", languages="de-en", test="test.de test.en")
    with pytest.raises(ConfigError, match=r"TEST=.* must name"):
        read_text("memory.tmx", test="test.de test.en table.csv")


def test_several_corpora_get_licences(folder):
    assert "licence" not in read_text("memory.tmx").corpora["memory"]
    several = read_text("memory.tmx opus:Books/v1").corpora
    assert [corpus["licence"] for corpus in several.values()] == ["own", "other"]


PROJECT_FILE = """
languages: en-de
corpora:
  mine: train.de train.en
  memory: {text: memory.tmx, weight: 3.0, tag: legal, licence: cc0-1.0, filter: {max_words: 40}}
  papers: {role: monolingual, language: de, path: more.de}
test: test.de test.en
"""


def test_a_project_file_has_more_than_a_line(folder):
    (folder / "project.yaml").write_text(PROJECT_FILE)
    found = read_text("project.yaml")

    assert found.languages == Languages(source="en", target="de")
    assert [*found.corpora] == ["mine", "memory", "papers"]
    assert found.corpora["mine"]["test"] == {"source": "test.en", "target": "test.de"}
    assert found.corpora["memory"] | {"train": ...} == {
        "kind": "files",
        "train": ...,
        "weight": 3.0,
        "tag": "legal",
        "licence": "cc0-1.0",
        "filter": {"max_words": 40},
    }
    assert found.corpora["papers"]["licence"] == "own"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("corpora: {}", "corpora"),
        ("corpra: {a: b.tmx}", "did you mean 'corpora'"),
        ("corpora: {a: train.de train.en memory.tmx}", "names 2 corpora"),
        ("corpora: {a: {text: [memory.tmx]}}", "neither"),
    ],
)
def test_wrong_project_files_are_refused(folder, text, problem):
    (folder / "project.yaml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        read_text("project.yaml")


def compose(**words):
    said = []
    return compose_settings(Request(**words), conf=PROJECT / "conf", say=said.append), said


def test_text_implies_automatic_choices(folder):
    values, said = compose(text="train.de train.en", time="10m", settings=["train.seed=7"])

    assert said[0].startswith("German to English, by the name or the header of train.de; corpora:")
    assert said[1].startswith("chosen for 3 pairs")
    assert values["train"]["budget"]["seconds"] == 600
    assert values["train"]["seed"] == 7
    assert values["download"]["corpora"]["train"]["train"]["target"] == "train.en"
    named, _ = compose(text="train.de train.en", model="convs2s", train="quick")
    assert named["train"]["model"]["architecture"] == "convs2s"
    assert named["train"]["budget"]["steps"] == 1400


def test_a_start_brings_its_model(folder):
    (folder / "model.json").write_text('{"architecture": "transformer", "width": 64}')
    settings = ["download.initial_model.folder=.", "train.model.dropout=0.0"]
    values, _ = compose(text="train.de train.en", start="bundle", settings=settings)
    model = values["train"]["model"]

    assert (model["width"], model["dropout"]) == (64, 0.0)


def test_unknown_sizes_take_a_preset(folder, monkeypatch):
    monkeypatch.setattr(auto, "renew_index", lambda _: None)
    words = {"text": "opus:Books/v1", "languages": "de-en"}
    values, said = compose(**words)

    assert values["train"]["budget"]["steps"] == 8000
    assert any("unknown before their download" in line for line in said)
    with pytest.raises(ConfigError, match="unknown before their download"):
        compose(**words, model="auto")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"text": "train.de train.en", "data": "demo"}, "TEXT= and DATA="),
        ({"test": "test.de test.en", "data": "demo"}, "require TEXT="),
        ({"languages": "german", "data": "demo"}, "de-en"),
        ({"text": "train.de train.en", "time": "soon"}, "is not a time"),
        ({"text": "train.de train.en", "model": "transfomer"}, "did you mean 'transformer'"),
    ],
)
def test_contradictions_are_refused(folder, words, problem):
    with pytest.raises(ConfigError, match=problem):
        compose(**words)


def test_languages_apply_to_a_group_too(folder):
    values, _ = compose(data="europarl", languages="fr-en")
    assert values["download"]["languages"] == {"source": "fr", "target": "en"}


def test_a_program_configures_a_run(project, monkeypatch):
    (project / "conf").symlink_to(PROJECT / "conf")
    for name, line in (("my.de", DE), ("my.en", EN)):
        (project / name).write_text(line * 40)
    sections = configure(Request(text=["my.de", "my.en"]), say=lambda _: None)

    assert read(project / "params.yaml")["download"]["languages"] == {
        "source": "de",
        "target": "en",
    }
    assert sections["download"].corpora["my"].train.sha256
    (project / "my.en").unlink()
    with pytest.raises(ConfigError, match=r"my\.en, which is neither"):
        configure(Request(text="my.de my.en"))


@pytest.mark.parametrize(
    ("languages", "directions", "corpora"),
    [
        ("*-en", ["de-en", "fr-en"], ["de-en", "fr-en"]),
        ("en-*", ["en-de", "en-fr"], ["de-en", "fr-en"]),
        ("*-en en-*", ["de-en", "fr-en", "en-de", "en-fr"], ["de-en", "fr-en"]),
        ("de-en, en-de", ["de-en", "en-de"], ["de-en", "fr-en"]),
    ],
)
def test_several_directions_name_the_languages_of_each_corpus(
    folder, languages, directions, corpora
):
    named = read_text(
        "train.de train.en a_fr.txt a_en.txt", languages=languages, test="test.en test.de"
    )
    own = [*named.corpora.values()]

    assert [*map(str, named.directions)] == directions
    assert [corpus["languages"] for corpus in own] == corpora
    assert own[0]["test"] == {"source": "test.de", "target": "test.en"}
    assert "test" not in own[1]


@pytest.mark.parametrize(
    ("text", "others", "message"),
    [
        ("left right.txt", {"languages": "*-fr"},
         r"\*-fr does not match the corpus of en-de; write"),
        ("plain.tsv", {"languages": "*-en"}, "the languages of plain are unknown"),
        ("train.de train.en", {"languages": "*-en en-*", "test": "a_fr.txt a_en.txt"},
         "no corpus of files in TEXT= is in the languages of test fr-en"),
    ],
)  # fmt: skip
def test_unclear_directions_are_refused(folder, text, others, message):
    with pytest.raises(ConfigError, match=message):
        read_text(text, **others)
