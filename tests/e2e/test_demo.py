"""The demo in full, as a newcomer makes it: what documents promise of it comes true."""

import re

import pytest

from nmt_core import Translator
from nmt_core.base import files
from nmt_core.documents.html import read_html
from nmt_core.documents.plain_text import read_plain_text
from tests.support.projects import PROJECT, begin
from tests.support.reader import list_examples

DOCUMENTS = ("README.md", "docs/integrate.md", "docs/operations.md", "docs/troubleshooting.md")

UNMEASURED = (
    "train.training.validate_every=10000 evaluate.pictures=0 "
    "evaluate.resamples=50 export.engine_sentences=100"
)
"""Settings that change no weight: the last model of the demo is its best one."""

ALONE = "train.compute.threads=1 evaluate.threads=1"
"""Two threads that share processors with other tests take half as much of them again."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]  # minutes, more on a busy machine


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder in which every stage has run; what is measured beside the score is left out."""
    begun = begin(tmp_path_factory.mktemp("begun") / "project", tmp_path_factory.mktemp("shared"))
    copy = begun.untracked(tmp_path_factory.mktemp("demo") / "project")
    copy.run(f"python -m stages.configure data=demo {UNMEASURED} {ALONE}")
    return copy.run("dvc repro").folder


def test_its_score_is_the_one_that_readme_shows(demo):
    """But for what rounding makes of it on another processor."""
    [told] = re.findall(
        r"^\| demo, de to en \| ([\d.]+) \|", (PROJECT / "README.md").read_text(), re.MULTILINE
    )

    assert abs(files.read_json(demo / "metrics/evaluate.json")["bleu"] - float(told)) < 2


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_translates_is_in_words_that_the_model_has_read(demo, document):
    known = set(re.findall(r"[^\W\d_]+", (demo / "data/corpus/train.source").read_text()))
    texts = re.sub(r"<[^>]*>", " ", " ".join(list_examples(document)))

    assert set() == set(re.findall(r"[^\W\d_]+", texts)) - known


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_translates_comes_out_as_it_says(demo, document):
    """The translation of every sentence and of every page stands beside it."""
    documents = Translator.load(demo / "models/export").open_documents()
    said = (PROJECT / document).read_text()
    translated = {
        text: documents.translate((read_html if "<" in text else read_plain_text)(text))
        for text in list_examples(document)
    }

    assert {} == {text: one for text, one in translated.items() if one not in said}


def test_as_many_translations_come_as_are_asked_for(demo):
    """Of a model that has learnt: one of a few updates may have nothing else to say."""
    [text] = {one for one in list_examples("docs/integrate.md") if "Treffen" in one}
    [found] = Translator.load(demo / "models/export").search([text], n_best=3)

    assert 3 == len({translation.text for translation in found})
