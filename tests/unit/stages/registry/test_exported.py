"""Statements about an export are true, above all how its test set was held out."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmt_core.base import files, seal
from nmt_core.base.config import build
from nmt_core.base.errors import BundleError
from nmt_core.corpora.corpus import GIVEN
from nmt_core.corpora.named import describe_rule
from nmt_core.corpora.splitting import split_of
from nmt_core.evaluation.gate import digest_test_set
from stages import paths
from stages.download import describe_corpora
from stages.params import DownloadParams
from stages.registry.exported import read_exported
from tests.support.run_pages import MEASURED
from tests.support.tiny import export

FILES = {"kind": "files", "train": {"source": "a.de", "target": "a.en"}}
TEST = {"test": {"source": "b.de", "target": "b.en"}}
DEMO = {"kind": "demo", "grammar": {}}
REPORT = {"pairs": {}, "removed": {}, "corpora": {}}


def download(corpus=DEMO, target="en", **split):
    values = {
        "languages": {"source": "de", "target": target},
        "corpora": {"own": corpus},
        "split": split,
    }
    return build(DownloadParams, values, at="download")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (download(), "by the grammar"),
        (download(FILES), "by hash, 10 in 10,000, salt 'nmt'"),
        (download(FILES, salt="x", test_per_10000=2.5), "by hash, 2.5 in 10,000, salt 'x'"),
        (download(FILES, validation_per_10000=9.0), "by hash, 10 in 10,000, salt 'nmt'"),
        (download(FILES | TEST), GIVEN),
    ],
)
def test_a_rule_says_how_sentences_are_split(params, expected):
    assert expected == describe_rule(params.corpora, params.split)


@given(st.text(), st.lists(st.floats(1.0, 4000.0), min_size=2))
def test_one_hash_decides_about_a_test_sentence(line, validation):
    """Independent of the size of the validation set."""
    params = [download(FILES, test_per_10000=5000.0, validation_per_10000=n) for n in validation]
    drawn = {split_of(line, one.split) for one in params}

    assert len({describe_rule(one.corpora, one.split) for one in params}) == 1
    assert drawn == {"test"} or "test" not in drawn


@pytest.fixture
def project(project):
    export(paths.EXPORT)
    record = {"fingerprint": "f" * 16, "params": {"model": {"architecture": "rnn"}}}
    files.write_json(paths.TRAINED / "training.json", record)
    files.write_json(paths.CORPUS / "corpus.json", {"pairs": {"train": 29000}})
    described = {"corpus": describe_corpora(download()).model_dump()}
    files.write_json(paths.REPORTS / "download.json", REPORT | described)
    scores = MEASURED | {"bleu": 30.127, "bleu_signature": "bs:1000"}
    files.write_json(paths.REPORTS / "evaluate.json", scores)
    files.write_lines(paths.CORPUS / "test.source", ["Eine Eule.", "Ein\tIgel."])
    files.write_lines(paths.CORPUS / "test.target", ["An owl.", "A hedgehog."])
    return project


def test_tags_of_an_export_are_its_results(project):
    """The signature depends on the target language, and not on the precision of the interval."""
    found = read_exported(download())
    signature = "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"
    tags = {"bleu": "30.13", "held_out": "by the grammar", "architecture": "rnn"}
    tags |= {"corpus": "demo", "pairs": "29,000", "test_set": found.held_out.digest}

    assert (found.name, found.fingerprint) == ("nmt-de-en", "f" * 16)
    assert found.held_out.references == ["An owl.", "A hedgehog."]
    assert found.digest == seal.digest_bundle(paths.EXPORT)
    assert found.tags.items() >= tags.items()
    assert found.languages.codes[1] == "en"
    assert found.tags["signature"].startswith(signature)
    assert "|tok:zh|" in read_exported(download(FILES, target="zh")).tags["signature"]


side = st.text("a\t\n", max_size=2)
test_sets = st.lists(st.tuples(side, side), min_size=1, max_size=2)


@example([("", "\n\t")], [("", ""), ("", "")])
@given(test_sets, test_sets)
def test_only_equal_test_sets_have_equal_digests(first, second):
    """Tabs and line ends in a sentence do not separate sentences."""
    one, other = (digest_test_set(*zip(*pairs, strict=True)) for pairs in (first, second))

    assert (one == other) == (first == second)


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        (
            paths.REPORTS / "download.json",
            json.dumps(REPORT),
            r"download\.json was .* an earlier .* make repro",
        ),
        (paths.TRAINED / "training.json", None, r"training\.json is missing; run: make repro"),
    ],
)
def test_unusable_results_are_errors(project, path, text, words):
    path.unlink()
    if text:
        path.write_text(text)
    with pytest.raises(BundleError, match=words):
        read_exported(download())
