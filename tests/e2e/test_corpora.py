"""Four corpora in common formats train one model; a change of one reruns what depends on it."""

import json
import zipfile

import pytest

from tests.support.formats import workbook
from tests.support.projects import begin

SETTINGS = (
    "train.budget.steps=20 train.training.validate_every=10 export.engines=[] "
    "evaluate.pictures=0 "
    "download.corpora.memory={name:my/memory.tmx,licence:own,weight:1.0} "
    "download.corpora.agency={name:my/agency.xlsx,licence:own} "
    "download.corpora.opus={name:my/Books.zip,licence:cc-by-4.0}"
)
"""A corpus besides the one of the small projects, which has its own test set."""

MAKE_REPRO = "make --silent --old-file .venv/ready repro"


def write_memory(path, count):
    units = "".join(
        f"<tu><tuv xml:lang='de'><seg>Die Eule {number} liest.</seg></tuv>"
        f"<tuv xml:lang='en'><seg>Owl {number} reads.</seg></tuv></tu>"
        for number in range(count)
    )
    path.write_text(f"<tmx version='1.4'><header/><body>{units}</body></tmx>")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    begun = begin(tmp_path_factory.mktemp("begun") / "project", tmp_path_factory.mktemp("shared"))
    copy = begun.untracked(tmp_path_factory.mktemp("corpora") / "project")
    texts = copy.folder / "my"
    texts.mkdir()
    write_memory(texts / "memory.tmx", 30)
    rows = [("de", "en"), *((f"Fuchs {n} schläft.", f"Fox {n} sleeps.") for n in range(20))]
    (texts / "agency.xlsx").write_bytes(workbook(rows))
    with zipfile.ZipFile(texts / "Books.zip", "w") as archive:
        for code, line in (("de", "Bär {} frisst."), ("en", "Bear {} eats.")):
            lines = "".join(f"{line.format(number)}\n" for number in range(25))
            archive.writestr(f"Books.de-en.{code}", lines)
    return copy.run(f"{MAKE_REPRO} SET='{SETTINGS}'")


def measured(copy):
    corpora = json.loads((copy.folder / "reports/download.json").read_text())["corpora"]
    return {name: corpus["pairs"]["train"] for name, corpus in corpora.items()}


def test_all_corpora_are_trained_on_and_reported(project):
    counts = measured(project)
    assert {name: counts[name] for name in ("memory", "agency", "opus")} == {
        "memory": 30,
        "agency": 20,
        "opus": 25,
    }
    card = (project.folder / "models/export/README.md").read_text()
    for words in ("memory (own)", "opus (cc-by-4.0)", "demo (apache-2.0)"):
        assert words in card
    texts = json.loads((project.folder / "models/export/corpora.json").read_text())
    assert [*texts[0]["corpora"]] == ["demo", "memory", "agency", "opus"]


def test_change_reruns_only_dependent_stages(project):
    def change(settings, until=""):
        project.run(f"python -m stages.configure {settings}").run(f"dvc repro {until}")
        return project.ran

    renamed = "~download.corpora.opus download.corpora.books={name:my/Books.zip,licence:cc-by-4.0}"
    assert change(renamed) == ["download", "evaluate", "export"]
    trained = ["train", "evaluate", "export"]
    assert change("download.corpora.memory.weight=3.0") == ["download", *trained]
    assert change("train.mixture.temperature=2.0") == trained

    before = {path.name: path.stat().st_mtime_ns for path in kept(project)}
    write_memory(project.folder / "my/memory.tmx", 31)
    change("", until="download")
    assert measured(project)["memory"] == 31
    after = {path.name: path.stat().st_mtime_ns for path in kept(project)}
    assert len(before.items() & after.items()) == 2
    change("~download.corpora.memory", until="download")
    assert {path.name for path in kept(project)} == {*before} & {*after}


def kept(project):
    """Return the filtered text of each corpus of files."""
    return [*(project.folder / "downloads/sifted").iterdir()]
