"""Results on disk keep their format; earlier results can be read."""

import json

import pytest

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from stages.reporting.download_report import DownloadReport
from stages.reporting.evaluation import MAX_SCORES, Evaluation
from stages.reporting.measures import list_corpora, write_plots
from tests.support.data_pages import NEAR, describe, gather
from tests.support.run_pages import MEASURED, judge, make_confidence

ENDS = {"": 31.0, "_low": 29.5, "_high": 32.5, "_signature": "v", "_details": "d"}
SCORES = {f"{name}{end}": value for name in ("bleu", "chrf") for end, value in ENDS.items()}
STORED = {
    **SCORES,
    "sentences": 400,
    "cross_entropy": 2.0,
    "perplexity": 7.5,
    "length_ratio": 0.98,
    "source_unknown_rate": 0.01,
    "failures": {"empty": 1, "copied": 2, "looping": 0, "too_long": 0, "detached_full_stop": 4},
    "literals": MEASURED["literals"],
    "confidence": make_confidence(),
    "length_penalty": 1.5,
    "slices": MEASURED["slices"],
    "verdict": judge(good=10).model_dump(mode="json"),
}


@pytest.mark.parametrize("changes", [{}, {"confidence": {"missing": "too few"}}])
def test_evaluation_keeps_its_format_on_disk(changes):
    stored = STORED | changes
    assert json.dumps(Evaluation.parse(stored).dump()) == json.dumps(stored)


def test_earlier_evaluation_can_be_read():
    names = ("sentences", "cross_entropy", "perplexity", "length_ratio")
    earlier = SCORES | {name: STORED[name] for name in names} | {"gone_since": 1}
    evaluation = Evaluation.parse(earlier)

    assert evaluation.first_score.low == 29.5
    assert (evaluation.verdict, evaluation.slices) == (None, {})
    assert evaluation.confidence.missing
    with pytest.raises(ConfigError, match="perplexity"):
        Evaluation.parse({name: value for name, value in earlier.items() if name != "perplexity"})


def test_dvc_compares_few_numbers():
    many = {f"m{n}{suffix}": 1.0 for n in range(20) for suffix in ("", "_low", "_high")}
    signatures = {f"m{n}_signature": "s" for n in range(20)}
    few = {"bleu": 31.0, "chrf": 31.0, "loss": 2.0, "perplexity": 7.5}

    assert Evaluation.parse(STORED).summarize() == few | {"length_ratio": 0.98, "failures": 7}
    assert len(Evaluation.parse(MEASURED | many | signatures).summarize()) == MAX_SCORES + 4 == 15


def test_plots_contain_the_first_score_and_confidence(tmp_path):
    write_plots(tmp_path, Evaluation.parse(STORED))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "slices.csv": "slice,score\nnumbers,30.0000\n",
        "confidence.csv": "confidence,good\n0.55,0.5000\n",
    }


@pytest.mark.parametrize("near", [{}, NEAR])
def test_download_report_keeps_its_format_on_disk(near):
    corpus = describe("files") | {"tag": "own", "languages": ""}
    order = ["kind", "licence", "tag", "languages", "pairs", "removed", "weight", "examples"]
    corpus = {name: corpus[name] for name in [*order, "notices", "origins"]}
    description = {"kind": "files", "name": "one", "licence": {"license": "own"}, "text": "t"}
    news = {"language": "de", "licence": "own", "lines": 7, "removed": {"empty": 1}}
    stored = gather({"one": corpus}, near)
    order = ["pairs", "removed", "near_duplicates", "repaired", "noticed", "corpora"]
    stored = {name: stored[name] for name in order} | {
        "corpus": description | {"held_out": "by a rule"},
        "monolingual": {"news": news | {"notices": [], "origins": []}},
        "vectors": {"source": {"rows": 3, "sha256": "0a"}},
        "initial_model": {"folder": "f"},
    }
    report = DownloadReport.parse(stored)

    assert json.dumps(report.dump()) == json.dumps(stored)
    assert report.corpora["one"].left_out == 8


@pytest.mark.parametrize(
    ("weights", "shares"), [((2.0, 0.5), (0.75, 0.25)), ((0.0, 0.0), (0.0, 0.0))]
)
def test_shares_follow_weights_and_pairs(weights, shares):
    corpora = {
        name: describe("files", train=train, weight=weight)
        for name, train, weight in zip("ab", (3, 4), weights, strict=True)
    }
    report = DownloadReport.parse(gather(corpora, {}))
    assert report.compute_shares() == dict(zip("ab", shares, strict=True))


@pytest.mark.parametrize(
    ("names", "expected"), [(["own", "web"], ["own", "web"]), (["own"], ["corpus 1", "corpus 2"])]
)
def test_corpora_without_names_are_numbered(tmp_path, names, expected):
    """Corpora of an initial model have no names."""
    files.write_json(tmp_path / "corpus.json", {"corpora": [{"test": 2}, {"test": 1}]})

    assert list_corpora(tmp_path, names) == dict(
        zip(expected, [slice(0, 2), slice(2, 3)], strict=True)
    )
