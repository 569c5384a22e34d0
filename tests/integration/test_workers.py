"""Data stages write the same bytes with any number of workers."""

import gzip
import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from nmt_core.base import config
from nmt_core.base.errors import NmtError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.text import load_tokenizer
from nmt_core.text.normalize import normalize
from stages import download, paths, shard, tokenize, vocabulary
from stages.params import DownloadParams, ShardParams, TokenizeParams, VocabularyParams
from tests.support import job_functions
from tests.support.demo import draw_corpus

pytestmark = pytest.mark.slow

SERIAL = WorkersConfig(processes=1)
ODD = [
    ("Eine\u2028Eule.", "An owl."),
    ("", "Nothing."),
    ("Ein\x85Haus\r", "A\u2029house"),
    ("  Ko\u0308ln, z. B. ", "Cologne :("),
    ("lang " * 300, "long " * 300),
    ("Eine Eule!", "an owl"),
]
TOKENIZERS = {
    "subwords": TokenizeParams.model_validate({"subwords": {"vocab_size": 400}}),
    "words": TokenizeParams(kind="spacy"),
}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Text with irregular lines and no final line end; plain, TSV and zipped."""
    folder = tmp_path_factory.mktemp("given")
    drawn = draw_corpus()
    train = [(pair.source, pair.target) for pair in drawn["train"][:100]]
    for odd, place in zip(ODD, range(0, 100, 18), strict=True):
        train.insert(place, odd)
    for side, lines in zip(("de", "en"), zip(*train, strict=True), strict=True):
        (folder / f"train.{side}").write_text("\n".join(lines), encoding="utf-8", newline="")
    held = {name: [f"{p.source}\t{p.target}\r\n" for p in drawn[name][:20]] for name in drawn}
    (folder / "validation.tsv").write_text("".join(held["validation"]), newline="")
    (folder / "test.tsv.gz").write_bytes(gzip.compress("".join(held["test"]).encode()))
    return folder


def settings(given):
    corpus = {
        "kind": "files",
        "train": {"source": str(given / "train.de"), "target": str(given / "train.en")},
        "test": {"source": str(given / "test.tsv.gz")},
        "validation": {"source": str(given / "validation.tsv")},
    }
    languages = {"source": "de", "target": "en"}
    return config.build(
        DownloadParams, {"languages": languages, "corpora": {"text": corpus}}, at="download"
    )


def run(given, folder, workers, tokenizers=tuple(TOKENIZERS)):
    """Run the data stages; return the metrics and all bytes that were written."""
    corpus, vectors = folder / "corpus", folder / "vectors"
    places = {"corpus": corpus, "vectors": vectors, "downloads": folder / "downloads"}
    measured = {"corpus": download.run(settings(given), **places, workers=workers)}
    for name in tokenizers:
        places = {kind: folder / name / kind for kind in ("tokenizer", "tokenized", "vocabulary")}
        tokenizer, tokenized, words = places.values()
        measured[name] = [
            tokenize.run(
                TOKENIZERS[name],
                languages=("de", "en"),
                corpus=corpus,
                tokenizer=tokenizer,
                tokenized=tokenized,
                workers=workers,
            ),
            vocabulary.run(VocabularyParams(), **places, vectors=vectors, workers=workers),
            shard.run(
                ShardParams(pairs_per_shard=9, max_length=50),
                corpora=shard.read_corpora(corpus),
                tokenized=tokenized,
                vocabulary=words,
                shards=folder / name / "shards",
                workers=workers,
            ),
        ]
    return {name: (found, written(folder / name)) for name, found in measured.items()}


def written(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lingering"
    }


@pytest.fixture(scope="module")
def expected(given, tmp_path_factory):
    return run(given, tmp_path_factory.mktemp("serial"), SERIAL)


def test_text_has_irregular_lines(expected):
    cleaned, texts = expected["corpus"]
    *_, numbered = expected["subwords"][0]

    unfit = {"duplicate": 1, "empty_side": 1, "too_many_words": 1}
    assert cleaned.removed["train"] == unfit
    assert cleaned.repaired == {"crlf": 41, "inner_line_break": 3}
    assert "Eine Eule." in texts["train.source"].decode().split("\n")
    assert numbered["train_shards"] > 3
    assert numbered["too_long"] > 0


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokens_are_those_of_each_line(expected, tmp_path, name):
    """The oracle tokenizes line by line, without spans."""
    texts, made = expected["corpus"][1], expected[name][1]
    for path, content in made.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    for side in paths.SIDES:
        tokenizer = load_tokenizer(tmp_path / "tokenizer" / side)
        for split in paths.SPLITS:
            text = texts[f"{split}.{side}"].decode().split("\n")[:-1]
            tokens = "".join(" ".join(tokenizer.encode(normalize(line))) + "\n" for line in text)

            assert tokens.encode() == made[f"tokenized/{split}.{side}"]


@pytest.mark.parametrize("lines", [1, 7])
def test_bytes_do_not_depend_on_cuts(given, tmp_path, expected, lines):
    assert run(given, tmp_path, WorkersConfig(processes=1, chunk_lines=lines)) == expected


def test_bytes_do_not_depend_on_workers(given, tmp_path, expected):
    two, three = (WorkersConfig(processes=n, chunk_lines=lines) for n, lines in [(2, 7), (3, 40)])
    some = run(given, tmp_path / "three", three, ["subwords"])

    assert run(given, tmp_path / "two", two) == expected
    assert some == {name: expected[name] for name in ("corpus", "subwords")}


@contextmanager
def killing(folder):
    """Wait in the background for the worker that is slow in ``folder``, and kill it."""

    def kill():
        flag = folder / "lingering"
        while not (flag.exists() and flag.read_text()):
            time.sleep(0.05)
        os.kill(int(flag.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield
    killer.join()


def test_killed_process_leaves_nothing_incomplete(given, tmp_path, expected):
    workers = WorkersConfig(processes=2, chunk_lines=50)
    with (
        pytest.MonkeyPatch.context() as patch,
        killing(tmp_path / "corpus"),
        pytest.raises(NmtError, match="one of 2 processes was killed"),
    ):
        patch.setattr(tokenize, "tokenize_lines", job_functions.tokenize_lingering)
        run(given, tmp_path, workers, ["subwords"])

    assert [] == [*(tmp_path / "subwords").iterdir()]
    again = run(given, tmp_path, workers, ["subwords"])
    assert again == {name: expected[name] for name in again}
