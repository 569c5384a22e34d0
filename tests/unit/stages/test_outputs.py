"""Outputs of the stages: files, reports and notices."""

import csv
from collections import Counter

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_core.base import files
from nmt_core.base.errors import CorpusError, NmtError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.corpora.near_duplicates import NearExample, Nearness
from nmt_core.data.batch import Position
from nmt_core.data.settings import GivenVectors, LearnedEmbeddings
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from nmt_core.training.progress import Point, Progress
from stages import download, embeddings, export, paths, train, vocabulary
from stages.params import EmbeddingsParams, VocabularyParams
from stages.reporting.download_report import DownloadReport
from stages.runtime.fingerprint import check_digests


def progress():
    points = [
        Point(
            step=step,
            epoch=step // 10,
            target_tokens=100 * step,
            learning_rate=0.5 / step,
            train_loss=4.0,
            validation_loss=3.0 - step / 100,
            validation_scores={"perplexity": 9.0, "bleu": 20.0 + step},
        )
        for step in (10, 20, 30)
    ]
    curve = [{"step": 5, "loss": 4.0, "learning_rate": 0.1}]
    return Progress(
        step=30,
        best_step=20,
        position=Position(epoch=3),
        target_tokens=3000,
        history=points,
        curve=curve,
    )


def test_trainings_have_a_summary_and_a_learning_curve():
    summary = {"steps": 30, "loss": 2.8, "perplexity": 9.0, "bleu": 40.0}
    assert train.summarize_training(progress()) == pytest.approx(summary)
    table = train.format_learning_curve(progress().history)
    rows = [
        {name: float(x) for name, x in row.items()} for row in csv.DictReader(table.split("\n"))
    ]
    assert rows == [point.row() for point in progress().history]
    assert "\r" not in table


def test_provenance_is_the_commit_of_the_checkout(monkeypatch):
    monkeypatch.setattr(export, "describe_checkout", lambda: "abc-dirty")
    monkeypatch.setattr(export, "git", lambda *_: "2024-02-29")
    assert export.find_provenance() == {"commit": "abc-dirty", "date": "2024-02-29"}
    monkeypatch.setattr(export, "git", lambda *_: (_ for _ in ()).throw(NmtError("none")))
    assert export.find_provenance() == {"commit": "unknown", "date": "unknown"}


def test_near_duplicates_are_counted_by_split():
    example = NearExample("source", "a", "b", 1)
    near = Nearness(np.array([3, 5, 8]), np.array([0, 2, 1, 0, 4]), [example])
    assert download._describe_near(near, 2).model_dump() == {
        "pairs": 3,
        "test_sentences": 1,
        "validation_sentences": 2,
        "examples": [{"side": "source", "train": "a", "held_out": "b", "edits": 1}],
    }


def test_scratch_folders_start_empty_and_are_removed(project):
    (project / "x").mkdir()
    (project / "x/left").touch()
    with pytest.raises(ZeroDivisionError), download._scratch(project / "x") as folder:
        assert [*folder.iterdir()] == []
        (folder / "more").touch()
        raise ZeroDivisionError
    assert not (project / "x").exists()


@pytest.mark.parametrize(("tests", "few"), [(199, True), (200, False)])
def test_notices_name_their_corpus(tests, few):
    corpus = {"kind": "k", "licence": "l", "pairs": {}, "removed": {}, "weight": 1.0}
    text = {"language": "de", "licence": "l", "lines": 1, "removed": {}, "notices": ["b"]}
    report = DownloadReport.parse(
        {
            "pairs": {"test": tests},
            "removed": {},
            "noticed": {"header_row": 1234},
            "corpora": {"own": corpus | {"notices": ["a"]}},
            "monolingual": {"news": text},
        }
    )
    first, *named = download.list_notices(report)
    assert "1,234" in first
    assert named[:2] == ["own: a", "news: b"]
    assert len(named) == 2 + few


def write_vectors(folder, **words):
    """Write a vocabulary of three words, and the vectors of some of them."""
    for side in paths.SIDES:
        Vocabulary([*SPECIALS, "a", "b", "c"]).save(folder / f"{side}.txt")
        lines = [f"{word} {numbers}\n" for word, numbers in words.items()]
        size = len(next(iter(words.values())).split())
        (folder / f"{side}.vec").write_text(f"{len(lines)} {size}\n{''.join(lines)}")


@pytest.mark.parametrize("frozen", [True, False])
def test_given_vectors_become_matrices_with_counts(tmp_path, frozen):
    write_vectors(tmp_path, a="1 2", c="3 5", x="9 9")
    params = EmbeddingsParams(vectors=GivenVectors(), frozen=frozen, seed=3)
    folder = tmp_path / "made"
    places = {"vocabulary": tmp_path, "tokenized": tmp_path, "vectors": tmp_path}
    metrics = embeddings.run(params, **places, embeddings=folder)

    counts = {"vocabulary": 7, "found": 2, "composed": 0, "missing": 1}
    assert metrics == {f"{side}_{name}": n for side in paths.SIDES for name, n in counts.items()}
    assert files.read_json(folder / "embeddings.json") == {
        "kind": "vectors",
        "frozen": frozen,
        "dimensions": {"source": 2, "target": 2},
        "source": counts,
        "target": counts,
    }
    source, target = (load_file(folder / f"{side}.safetensors")["weight"] for side in paths.SIDES)
    assert source[4:].tolist() == target[4:].tolist() == [[1, 2], [2, 3.5], [3, 5]]
    assert not np.array_equal(source, target)  # vectors of start and end are drawn for each side
    (tmp_path / "target.vec").write_text("1 1\na 1\n")
    with pytest.raises(CorpusError, match="of 2 dimensions and target vectors of 1; use two"):
        embeddings.run(params, **places, embeddings=folder)


def test_learned_embeddings_have_no_matrices(tmp_path):
    params = EmbeddingsParams(vectors=LearnedEmbeddings(), frozen=False, seed=1)
    places = dict.fromkeys(("vocabulary", "tokenized", "vectors"), tmp_path)
    assert embeddings.run(params, **places, embeddings=tmp_path / "made") == {}
    report = {"kind": "none", "frozen": False, "dimensions": {}}
    assert files.read_json(tmp_path / "made/embeddings.json") == report


@pytest.mark.parametrize(
    ("words", "least", "most", "expected"),
    [
        ("corpus", 1, 9, (["b", "a", "c"], ["y"])),
        ("corpus", 2, 9, (["b", "a"], ["y"])),
        ("corpus", 1, 1, (["b"], ["y"])),
        ("vectors", 1, 9, (["q", "a"], ["q", "a"])),
        ("vectors", 1, 1, (["q"], ["q"])),
    ],
)
def test_vocabularies_come_from_text_or_vectors(
    tmp_path, monkeypatch, words, least, most, expected
):
    texts = {"source": "b b b\na a c\n", "target": "y y\n"}
    for side, text in texts.items():
        (tmp_path / f"train.{side}").write_text(text)
        (tmp_path / f"{side}.vec").write_text("2 1\nq 1\na 1\n")
    monkeypatch.setattr(vocabulary, "load_tokenizer", lambda _: object())
    made = tmp_path / "made"
    metrics = vocabulary.run(
        VocabularyParams(words=words, min_count=least, max_size=most),
        **dict.fromkeys(("tokenizer", "tokenized", "vectors"), tmp_path),
        vocabulary=made,
        workers=WorkersConfig(processes=1),
        tags=["own"],
    )
    check_digests(made, stage="vocabulary")
    for side, known in zip(paths.SIDES, expected, strict=True):
        tokens = [*Vocabulary.load(made / f"{side}.txt").tokens]
        assert tokens == [*SPECIALS, *known, *vocabulary.ALL_SYMBOLS, "<tag own>"]
        counts = Counter(texts[side].split())
        missing = sum(count for word, count in counts.items() if word not in known)
        assert metrics[f"{side}_size"] == len(tokens)
        assert metrics[f"{side}_unknown_rate"] == missing / counts.total()
