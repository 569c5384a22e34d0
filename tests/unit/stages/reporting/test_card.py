"""The model card, from invented numbers of a run."""

import re

import pytest
import yaml
from markdown_it import MarkdownIt

from nmt_core.base import config
from stages.download import describe_corpora
from stages.params import DownloadParams
from stages.reporting.card import render_card
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import Evaluation
from tests.support.data_pages import describe
from tests.support.run_pages import MEASURED, make_confidence

SCORES = MEASURED | {"bleu_signature": "BLEU|nrefs:1|tok:13a"}
NEAR = {
    "pairs": 1234,
    "test_sentences": 30,
    "validation_sentences": 3,
    "examples": [
        {"side": "source", "train": "Das `Haus` | da.", "held_out": "Dies ``Haus`` da.", "edits": 1}
    ],
}
RECORD = {"fingerprint": "0123456789abcdef", "steps": 12000, "best_step": 9000, "epochs": 7}
RECORD |= {"target_tokens": 3_456_789, "parameters": 5_544_332}
RECORD |= {"params": {"model": {"architecture": "transformer"}}}
SHARDS = {"train_pairs": 20_000, "validation_pairs": 500}
DEMO = {"kind": "demo", "grammar": {}}
FILES = {"kind": "files", "train": {"source": "a.de", "target": "a.en"}}


def card(corpus=DEMO, source="de", terms=0, report=None, record=None, **scores):
    """Return a card; ``report``, ``record`` and further keys change results of stages."""
    settings = {
        "languages": {"source": source, "target": "en"},
        "corpora": {corpus["kind"]: corpus},
    }
    download = config.build(DownloadParams, settings, at="download")
    counts = {"pairs": {}, "removed": {}, "corpora": {}} | (report or {})
    counts["corpus"] = describe_corpora(download).model_dump()
    return render_card(
        download,
        DownloadReport.parse(counts),
        RECORD | (record or {}),
        Evaluation.parse(SCORES | scores),
        shards=SHARDS,
        made={"commit": "c0ffee", "date": "2026-11-22", "glossary_terms": terms, "extras": "serve"},
    )


def parts(text):
    """Return metadata, rows of all tables and the page of a card, as a viewer shows them."""
    _, metadata, body = text.split("---\n", 2)
    page = MarkdownIt("commonmark").enable("table").render(body)
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]
    return yaml.safe_load(metadata), [row for row in cells if row], page


def test_card_describes_a_model():
    metadata, rows, page = parts(card())

    assert "<h1>de to en</h1>" in page
    assert "<p>A transformer with 5,544,332 parameters that translates de to en.</p>" in page
    assert rows == [
        ["corpus", "demo"],
        ["pairs", "20,000 to train, 500 to validate, 400 to test"],
        ["training", "12,000 updates, 7 epochs, 3,456,789 target tokens; best at 9,000"],
        ["BLEU", "31.0 (95 % confidence: 29.5 to 32.5)"],
        ["", "<code>BLEU|nrefs:1|tok:13a</code>"],
        ["chrF", "55.0 (95 % confidence: 54.0 to 56.0)"],
        ["", "<code>chrF2|nrefs:1</code>"],
        ["near duplicates", "not searched for"],
        ["perplexity", "7.50 per target token"],
        [
            "failures",
            "0 empty, 0 copied, 1 looping, 0 too long, 0 detached full stop, of 400 sentences",
        ],
        [
            "numbers, placeholders and other literals",
            "all preserved in 49 of the 50 sentences whose references preserve them",
        ],
        ["packages", "listed in <code>sbom.cdx.json</code>"],
        ["commit", "c0ffee, of 2026-11-22"],
        ["fingerprint", "0123456789abcdef"],
    ]
    assert "{" not in page
    assert [re.findall("<h2>(.*?)</h2>", page)] == [["Intended use", "Confidence", "Data"]]
    assert metadata == {
        "language": ["de", "en"],
        "license": "apache-2.0",
        "pipeline_tag": "translation",
        "tags": ["translation", "transformer"],
        "metrics": ["bleu", "chrf"],
    }


TAGGED = {
    name: describe("files") | {"tag": tag}
    for name, tag in (("one", ""), ("two", "own"), ("three", "law"))
}
NEWS = {"language": "de", "licence": "a|b", "lines": 7000, "removed": {}}
MODEL = {"folder": "models/old", "bundle_sha256": "0a"}
SEARCHED = "its training text may contain sentences of this test set (not checked)"
ROWS = [  # changes, the name of a row, its text
    ({"terms": 1200}, "glossary terms", "1,200, in"),
    ({"report": {"corpora": TAGGED}}, "tags", "law, own; nmt translate --tag"),
    (
        {"report": {"monolingual": {"news": NEWS, "web": NEWS}}},
        "monolingual text",
        "news, 7,000 lines of de (a|b); web, 7,000 lines of de (a|b)",
    ),
    ({"record": {"initial_model": MODEL}}, "started from", f"models/old, SHA-256 0a; {SEARCHED}"),
    (
        {"record": {"initial_model": {"encoder": MODEL | {"registered": "version 3"}}}},
        "encoder started from",
        f"version 3, SHA-256 0a; {SEARCHED}",
    ),
    ({"record": {"epochs": 0}}, "training", ", less than an epoch, "),
    ({"record": {"epochs": 1}}, "training", ", 1 epoch, "),
    ({"literals": {"lines": 0, "kept": 0}}, "numbers, placeholders and other literals", "no test"),
    (
        {"report": {"near_duplicates": NEAR}},
        "near duplicates",
        "1,234 pairs were removed from train, because a side differs from a test or validation "
        "sentence in at most 20% of its words",
    ),
]


@pytest.mark.parametrize(("changes", "name", "text"), ROWS)
def test_rows_follow_the_results(changes, name, text):
    rows = dict(row for row in parts(card(**changes))[1] if len(row) == 2)
    assert text in re.sub("</?code>", "", rows[name])


@pytest.mark.parametrize(
    ("corpus", "licence", "text"),
    [
        (DEMO, "apache-2.0", "Apache-2.0"),
        ({"kind": "opus", "corpus": "Books", "version": "v1"}, "unknown", "Books v1 from OPUS"),
        (FILES, "unknown", "Only this person knows the licence"),
    ],
)
def test_card_names_the_owners_of_data(corpus, licence, text):
    metadata, _, page = parts(card(corpus))
    assert metadata["license"] == licence
    assert text in " ".join(page.split())


def test_quotes_and_codes_are_escaped():
    """YAML reads the code of Norwegian as false."""
    metadata, _, page = parts(card(FILES, source="no", report={"near_duplicates": NEAR}))
    assert metadata["language"] == ["no", "en"]
    assert "<code>Das `Haus` | da.</code>, near <code>Dies ``Haus`` da.</code>" in page


def test_confidence_has_areas_intervals_and_counts():
    _, rows, page = parts(card(confidence=make_confidence(area=0.9)))
    for value in ("at least 50", "400 validation"):
        assert value in page
    assert "On 300 test sentences: an area under the ROC curve of 0.90" in page
    assert "5 of them" in page
    assert ["0.55", "1,200", "0.50"] in rows
    assert "fitting needs 200 validation sentences" in parts(card())[2]
