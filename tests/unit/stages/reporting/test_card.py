"""The model card and the summary, from numbers of a run that never was."""

import re

import pytest
import yaml
from markdown_it import MarkdownIt

from nmt_core.base import config
from nmt_core.server.models import summarize_card
from nmt_core.translation.behaviour import Behaviour, ProbeShare
from stages.download import describe_corpora
from stages.params import DownloadParams
from stages.reporting.card import describe_literals, glossary_row, render_card, tag_row
from tests.support.tiny import judge_by_score

SCORES = {
    "bleu": 31.26,
    "bleu_low": 29.9,
    "bleu_high": 32.5,
    "bleu_signature": "BLEU|nrefs:1|tok:13a",
    "bleu_details": "BLEU = 31.26",
    "chrf": 55.5,
    "chrf_low": 54.0,
    "chrf_high": 57.0,
    "chrf_signature": "chrF2|nrefs:1|nc:6",
    "chrf_details": "chrF2 = 55.50",
    "sentences": 1000,
    "cross_entropy": 1.5,
    "perplexity": 4.48,
    "length_ratio": 0.987,
    "source_unknown_rate": 0.0125,
    "reference_unknown_rate": 0.0,
    "failures": {"empty": 0, "copied": 2, "looping": 0, "too_long": 11},
    "literals": {"lines": 40, "kept": 39},
    "novel": {},
    "behaviour": {},
    "confidence": {"missing": "40 validation sentences are too few to fit on; it takes 200"},
}
NEAR = {
    "pairs": 1234,
    "test_sentences": 30,
    "validation_sentences": 3,
    "examples": [
        {"side": "source", "train": "Das `Haus` | da.", "held_out": "Dies ``Haus`` da.", "edits": 1}
    ],
}
RECORD = {
    "fingerprint": "0123456789abcdef",
    "steps": 12000,
    "best_step": 9000,
    "epochs": 7,
    "target_tokens": 3_456_789,
    "parameters": 5_544_332,
    "params": {"model": {"architecture": "transformer"}},
}
SHARDS = {"train_pairs": 20_000, "validation_pairs": 500}
DOWNLOAD = {
    "languages": {"source": "de", "target": "en"},
    "corpora": {"demo": {"kind": "demo", "grammar": {}}},
}
EUROPARL = {"kind": "europarl"}
RELIABILITY = {
    "sentences": 300,
    "good": 0.125,
    "curve": ({"sentences": 300, "confidence": 0.15, "good": 0.125},),
    **{f"area{end}": 0.834 for end in ("", "_low", "_high")},
    **{f"error{end}": 0.0321 for end in ("", "_low", "_high")},
}
FILES = {"kind": "files", "train": {"source": "a.de", "target": "a.en"}}


def card(corpus=DOWNLOAD["corpora"]["demo"], near=None, source="de", exported=None, **scores):
    settings = {
        "languages": {"source": source, "target": "en"},
        "corpora": {corpus["kind"]: corpus},
    }
    download = config.build(DownloadParams, settings, at="download")
    return render_card(
        download,
        RECORD,
        {
            "download": {"near_duplicates": near or {}, "corpus": describe_corpora(download)},
            "evaluate": SCORES | scores,
            "shard": SHARDS,
            **({"export": exported} if exported else {}),
        },
        commit="c0ffee",
        date="2026-11-22",
        packages="CPython 3.11.7, torch 2.13.0",
    )


def test_a_card_tells_of_a_glossary_that_is_sealed():
    assert glossary_row(0) == ""
    assert "glossary" not in card()
    told = "1,200, translated as `glossary.tsv` says; scores are without it"
    assert f"\n| terms of its glossary | {told} |\n" in card(exported={"glossary_terms": 1200})


def parts(text):
    """The metadata of a card, and the cells of its table as a viewer shows them."""
    _, metadata, body = text.split("---\n", 2)
    page = MarkdownIt("commonmark").enable("table").render(body)
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]
    return yaml.safe_load(metadata), [row for row in cells if row], page


def test_a_card_names_the_tags_and_the_scores_without_them():
    corpora = {"one": {"tag": ""}, "two": {"tag": "own"}, "three": {"tag": "law"}}
    assert tag_row(SCORES, {"one": {"tag": ""}}) == tag_row(SCORES, {}) == ""
    assert tag_row(SCORES, corpora) == (
        "| tags | law, own: say by `nmt translate --tag` where text is from |\n"
    )
    untagged = {"tags": {"own": 3, "law": 1000}, "bleu": 20.04, "chrf": 40.0}
    assert tag_row(SCORES | {"untagged": untagged}, corpora).endswith(
        "is from; 1,003 test sentences have theirs, without which: BLEU 20.0, chrF 40.0 |\n"
    )


def test_a_card_says_how_good_of_what_and_how_to_use_it():
    _, rows, page = parts(card())

    assert "<h1>de to en</h1>" in page
    assert "<p>A transformer of 5,544,332 weights that translates de to en.</p>" in page
    assert [
        ["corpus", "demo"],
        ["pairs", "20,000 to train, 500 to validate, 1,000 to test"],
        ["training", "12,000 updates, 7 epochs, 3,456,789 target tokens; best at 9,000"],
        ["BLEU", "31.3 (95 % confidence: 29.9 to 32.5)"],
        ["", "<code>BLEU|nrefs:1|tok:13a</code>"],
        ["chrF", "55.5 (95 % confidence: 54.0 to 57.0)"],
        ["", "<code>chrF2|nrefs:1|nc:6</code>"],
        ["near duplicates", "not searched for"],
        ["perplexity", "4.48 per target token"],
        ["failures", "0 empty, 2 copied, 0 looping, 11 too long, of 1,000 sentences"],
        ["numbers, placeholders and the like", describe_literals({"lines": 40, "kept": 39})],
        [
            "made with",
            "CPython 3.11.7, torch 2.13.0; all packages and licences: <code>sbom.cdx.json</code>",
        ],
        ["commit", "c0ffee, of 2026-11-22"],
        ["fingerprint", "0123456789abcdef"],
    ] == rows
    assert "{" not in page


def test_the_page_finds_what_it_tells_of_a_model():
    told = summarize_card(card())

    assert told == ("demo", "BLEU 31.3 (95 % confidence: 29.9 to 32.5)")


def test_a_card_begins_with_what_hugging_face_reads():
    metadata, _, _ = parts(card())

    assert ["de", "en"] == metadata["language"]
    assert "translation" == metadata["pipeline_tag"]
    assert ["translation", "transformer"] == metadata["tags"]
    assert ["bleu", "chrf"] == metadata["metrics"]
    [model] = metadata["model-index"]
    [result] = model["results"]
    assert "nmt-de-en" == model["name"]
    assert {"type": "translation", "name": "Translation de-en"} == result["task"]
    assert {"type": "demo", "name": "demo de-en", "split": "test"} == result["dataset"]
    assert [31.26, 55.5] == [metric["value"] for metric in result["metrics"]]
    assert ["bleu", "chrf"] == [metric["type"] for metric in result["metrics"]]
    assert SCORES["bleu_signature"] == result["metrics"][0]["args"]


@pytest.mark.parametrize(
    ("corpus", "licence", "told"),
    [
        (DOWNLOAD["corpora"]["demo"], "apache-2.0", "Apache-2.0"),
        (EUROPARL, "other", "Koehn 2005"),
        (FILES, "unknown", "they alone know the licence"),
    ],
)
def test_a_card_says_whose_the_data_is(corpus, licence, told):
    metadata, _, page = parts(card(corpus))

    assert licence == metadata["license"]
    assert told in " ".join(page.split())


def test_a_card_says_what_was_nearly_in_train():
    """And what the model scores where nothing was."""
    novel = {"sentences": 970, "bleu": 29.04, "bleu_low": 27.0, "bleu_high": 31.0, "chrf": 54.0}
    _, rows, page = parts(card(near=NEAR, novel=novel))

    assert dict(rows)["near duplicates"] == (
        "1,234 pairs, of which a side differs from one of test or validation in at most 20% of its "
        "words, were removed from train; BLEU 29.0, chrF 54.0 on the 970 test sentences that are "
        "not close to any training sentence"
    )
    assert "<code>Das `Haus` | da.</code> beside <code>Dies ``Haus`` da.</code>" in page


def test_codes_that_yaml_takes_for_something_else_stay_codes():
    assert ["no", "en"] == parts(card(FILES, source="no"))[0]["language"]


@pytest.mark.parametrize(
    ("literals", "words"),
    [
        ({"lines": 1200, "kept": 1187}, "in 1,187 of the 1,200 sentences"),
        ({"lines": 0, "kept": 0}, "in no sentence"),
    ],
)
def test_a_card_says_how_many_literals_came_through(literals, words):
    assert words in describe_literals(literals)


def test_a_card_shows_what_comes_through_when_sentences_change():
    kept = ProbeShare.count([True] * 9 + [False])
    behaviour = {
        "as they come": Behaviour(kept=kept, same=None),
        "{name} | x": Behaviour(kept=kept, same=ProbeShare.count([True])),
    }
    _, rows, page = parts(card(behaviour={k: one.model_dump() for k, one in behaviour.items()}))

    assert ["as they come", "10", "90.0 % (59.6 to 98.2)", ""] in rows
    assert ["{name} | x", "10", "90.0 % (59.6 to 98.2)", "100.0 % (20.7 to 100.0)"] in rows
    assert "<h2>Behaviour</h2>" in page
    assert "<h2>Behaviour</h2>" not in parts(card())[2]


def test_a_card_says_what_confidence_means_and_how_far_it_can_be_trusted():
    model = judge_by_score(-1.0).model_dump() | {"reliability": RELIABILITY}
    _, rows, page = parts(card(confidence={"model": model, "cross_validated": RELIABILITY}))
    *_, missing = parts(card())

    assert "at least 50" in page
    assert "0.83 (95 % interval: 0.83 to 0.83)" in page
    assert ["0.15", "300", "0.12"] in rows
    assert "40 validation sentences are too few" in missing


def test_a_card_tells_how_far_the_confidence_of_an_engine_can_be_trusted():
    measured = RELIABILITY | {"sentences": 1234, "area": 0.765}
    judged = {"model": judge_by_score(-1.0).model_dump() | {"reliability": measured}}
    engines = {
        "ctranslate2_int8": {"confidence": judged},
        "copying_int8": {"confidence": {"missing": "too few"}},
        "copying_float32": {"left_out": "it is worse"},
        "ctranslate2_float32": {"confidence": judged},
    }
    model = judge_by_score(-1.0).model_dump() | {"reliability": RELIABILITY}
    own = {"model": model, "cross_validated": RELIABILITY}
    told = card(confidence=own, exported={"engines": engines})

    for name in ("ctranslate2_int8", "ctranslate2_float32"):
        assert f"`{name}` has a confidence of its own" in told
    assert "on 1,234 test sentences: an area under the ROC curve of 0.77 (" in told
    assert "copying" not in told
    assert "`ctranslate2_int8`" not in card(confidence=own)
