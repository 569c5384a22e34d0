"""The whole demo, as in the documents; their promises are checked."""

import re

import pytest

from nmt_core import Translator
from nmt_core.base import files
from nmt_core.documents.formats import translate_data
from stages.demo.corpus import FIRST_SENTENCES
from tests.support.projects import PROJECT, begin
from tests.support.reader import list_examples

DOCUMENTS = ("README.md", "docs/integrate.md", "docs/operations.md", "docs/troubleshooting.md")

UNMEASURED = (
    "train.training.validate_every=10000 evaluate.pictures=0 "
    "evaluate.resamples=50 export.engine_sentences=100"
)
"""Settings that do not affect the weights: the last model of the demo is its best one."""

ALONE = "train.compute.threads=1 evaluate.threads=1"
"""Factor for two threads that share the CPU with other tests: they take half as long again."""

pytestmark = pytest.mark.timeout(3600)  # minutes; longer on a busy machine


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder after all stages ran; other measurements than the score are omitted."""
    begun = begin(tmp_path_factory.mktemp("begun") / "project", tmp_path_factory.mktemp("shared"))
    copy = begun.untracked(tmp_path_factory.mktemp("demo") / "project")
    copy.run(f"python -m stages.configure data=demo {UNMEASURED} {ALONE}")
    return copy.run("dvc repro").folder


def test_score_is_the_one_in_readme(demo):
    """The score may differ by rounding on another CPU."""
    [told] = re.findall(
        r"^\| demo, de to en \| ([\d.]+) \|", (PROJECT / "README.md").read_text(), re.MULTILINE
    )

    assert abs(files.read_json(demo / "metrics/evaluate.json")["bleu"] - float(told)) < 2


def test_first_sentences_are_translated(demo):
    """The threshold leaves room for another CPU; docs/results.md has the number."""
    translator, right = Translator.load(demo / "models/export"), 0
    for row in files.read_lines(FIRST_SENTENCES):
        _, *texts = row.split("\t")
        texts[0] = translator.translate(texts[0])
        translated, *accepted = (re.findall(r"\w+", text.lower()) for text in texts)
        right += translated in accepted

    assert right >= 30


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_examples_use_known_words(demo, document):
    known = set(re.findall(r"[^\W\d_]+", (demo / "data/corpus/train.source").read_text()))
    texts = re.sub(r"<[^>]*>", " ", " ".join(list_examples(document)))

    assert set() == set(re.findall(r"[^\W\d_]+", texts)) - known


@pytest.mark.parametrize("document", DOCUMENTS)
def test_document_examples_translate_as_shown(demo, document):
    """Every sentence and page in the documents has its translation beside it."""
    documents = Translator.load(demo / "models/export").open_documents()
    said = (PROJECT / document).read_text()
    translated = {
        text: translate_data(text.encode(), "html" if "<" in text else "text", documents).data
        for text in list_examples(document)
    }

    assert {} == {text: one for text, one in translated.items() if one.decode() not in said}


def test_number_of_alternatives_is_as_requested(demo):
    """It uses a trained model: a model after a few updates may have no other hypotheses."""
    [text] = {one for one in list_examples("docs/integrate.md") if "Treffen" in one}
    [found] = Translator.load(demo / "models/export").search([text], n_best=3)

    assert 3 == len({translation.text for translation in found})
