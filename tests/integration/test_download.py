import hashlib
import json
import os
import subprocess
import sys
from threading import Thread

import pytest

from nmt_core.base.config import build
from nmt_core.base.errors import CorpusError
from nmt_core.base.jobs import WorkersConfig
from stages import download
from stages.params import DownloadParams
from tests.support import opus
from tests.support.projects import PROJECT
from tests.support.web_server import status, whole

URL = "http://127.0.0.1:{port}/v8/{{pair}}.zip"
EUROPARL = {"kind": "opus", "corpus": "Europarl", "version": "v8"}
THIRDS = {"validation_per_10000": 3000, "test_per_10000": 3000}
LANGUAGES = {"source": "de", "target": "en"}


@pytest.fixture
def run(tmp_path):
    def run(corpus, **sections):
        sections = {"languages": LANGUAGES, "http": {"attempts": 1}, **sections}
        params = build(DownloadParams, {"corpora": {"text": corpus}, **sections}, at="download")
        folders = {name: tmp_path / "out" / name for name in ("corpus", "vectors", "downloads")}
        report = download.run(params, **folders, workers=WorkersConfig(chunk_lines=7))
        texts = {path.name: path.read_bytes() for path in folders["corpus"].iterdir()}
        assert not (folders["downloads"] / "scratch").exists()
        return report.dump(), texts

    return run


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


def sides(texts, name):
    lines = [texts[f"{name}.{side}"].decode().split("\n")[:-1] for side in ("source", "target")]
    return list(zip(*lines, strict=True))


def all_pairs(texts):
    return sorted(pair for name in ("train", "validation", "test") for pair in sides(texts, name))


def europarl(site, pairs):
    content = opus.archive(pairs, "Europarl")
    site.put("/v8/de-en.zip", whole(content))
    return EUROPARL | {"url": URL.format(port=site.port), "sha256": digest_of(content)}


def digest_of(content):
    return hashlib.sha256(content).hexdigest()


GERMAN = [(f"Satz {number}", f"Sentence {number}") for number in range(40)]


@pytest.mark.slow
def test_demo_corpus_is_the_same_on_all_machines(run):
    corpus = {
        "kind": "demo",
        "grammar": {"train_pairs": 2000, "validation_pairs": 20, "test_pairs": 30, "seed": 1},
    }
    metrics, texts = run(corpus)

    assert metrics["pairs"]["test"] == 30 == len(sides(texts, "test"))
    swapped = run(corpus, languages={"source": "en", "target": "de"})[1]
    assert [pair[::-1] for pair in sides(texts, "test")] == sides(swapped, "test")


def test_europarl_is_unpacked_split_and_described(run, site):
    corpus = europarl(site, [*GERMAN, ("", "Nothing"), ("sch\0n", "nice"), GERMAN[0]])
    metrics, texts = run(corpus, split=THIRDS)

    assert sorted(GERMAN) == all_pairs(texts)
    removed = [reasons for reasons in metrics["removed"].values() if "duplicate" in reasons]
    assert removed[0]["duplicate"] == 1
    assert metrics["removed"]["train"]["empty_side"] == 1
    assert metrics["removed"]["train"]["nul_character"] == 1
    assert metrics["corpora"]["text"]["origins"][0]["sha256"] == corpus["sha256"]
    described = json.loads(texts["corpus.json"])
    assert described["languages"] == LANGUAGES
    assert described["pairs"] == metrics["pairs"]
    assert described["sha256"]["test.target"] == hashlib.sha256(texts["test.target"]).hexdigest()


def test_damaged_archive_is_rejected_and_fetched_again(run, site):
    site.put("/v8/de-en.zip", whole(b"<html>maintenance</html>"))
    corpus = EUROPARL | {"url": URL.format(port=site.port)}

    with pytest.raises(CorpusError, match=r"\.rejected: run again"):
        run(corpus, split=THIRDS)
    europarl(site, GERMAN)
    assert sorted(GERMAN) == all_pairs(run(corpus, split=THIRDS)[1])


def test_failure_writes_no_corpus(run, site, tmp_path):
    site.put("/v8/de-en.zip", status(404))

    with pytest.raises(CorpusError, match="404 Not Found"):
        run(EUROPARL | {"url": URL.format(port=site.port)})
    assert [tmp_path / "out" / "downloads"] == list((tmp_path / "out").iterdir())


def text(write, name, pairs):
    columns = zip(*pairs, strict=True)
    return {
        side: write(f"{name}.{side}", "".join(f"{line}\n" for line in lines).encode())
        for side, lines in zip(("source", "target"), columns, strict=True)
    }


def test_near_duplicates_are_removed_and_reported(run, write):
    train = [
        ("Der Bericht war wirklich sehr gut.", "One."),
        ("Das hier bleibt, wie es ist.", "The report was really very long."),
        ("Auch dieser Satz bleibt stehen.", "This one stays as well."),
    ]
    validation = [("Das hier bleibt, wie es war.", "Yes."), ("Ja.", "No.")]
    test = [("Der Bericht war wirklich sehr schlecht.", "The report was really very bad.")]
    given = {
        name: {"source": write(f"{name}.tsv", "".join(f"{s}\t{t}\n" for s, t in pairs).encode())}
        for name, pairs in (("train", train), ("validation", validation), ("test", test))
    }
    metrics, texts = run({"kind": "files", **given})

    assert [train[2]] == sides(texts, "train")
    assert metrics["removed"]["train"] == {"near_duplicate": 2}
    assert {
        "pairs": 2,
        "test_sentences": 1,
        "validation_sentences": 1,
        "examples": [
            {"side": "source", "train": near[0], "held_out": pair[0], "edits": 1}
            for near, pair in ((train[0], test[0]), (train[1], validation[0]))
        ],
    } == metrics["near_duplicates"]


@pytest.mark.parametrize(
    ("train", "validation", "expected"),
    [
        (b"a\xff\tb\n", b"c\td\n", "train.tsv is not UTF-8 (byte 2 is 0xff)"),
        (b"a\tb\n", b"\td\n", "validation.tsv line 1 is empty"),
    ],
)
def test_bad_lines_stop_unless_dropping_is_allowed(run, write, train, validation, expected):
    good = b"e\tf\n"
    content = good + train if b"\xff" not in train else train + good
    texts = {"train": content, "validation": validation + b"g\th\n", "test": b"i\tj\n"}
    splits = {name: {"source": write(f"{name}.tsv", text)} for name, text in texts.items()}
    corpus = {"kind": "files", **splits}
    with pytest.raises(CorpusError) as caught:
        run(corpus)
    assert expected in str(caught.value)
    metrics = run(corpus | {"on_bad_line": "drop"})[0]
    assert sum(sum(reasons.values()) for reasons in metrics["removed"].values()) == 1


def test_scratch_folders_of_other_runs_stay(tmp_path):
    folder, found = tmp_path / "scratch", []

    def run_beside():
        with download._scratch(folder) as scratch:
            found.append([*scratch.iterdir()])

    with download._scratch(folder) as scratch:
        (scratch / "text").touch()
        beside = Thread(target=run_beside)
        beside.start()
        beside.join(0.2)
        assert (scratch / "text").exists()
        assert not found
    beside.join(10)

    assert found == [[]]


KILLED = """
import json, os, signal, sys
from pathlib import Path
from nmt_core.base import files
from nmt_core.base.config import build
from stages.params import DownloadParams
from tests.support.bringing import bring

top, params = Path(sys.argv[1]), build(DownloadParams, json.loads(sys.argv[2]), at="download")
writing, folder = os.O_WRONLY | os.O_RDWR, top
left = -1  # changes that are made before the end; below 0 there is none

def count(event, arguments):
    global left
    if left < 0 or not event.startswith(("open", "os.", "shutil.")) or not arguments:
        return
    if event == "open" and not (arguments[2] or 0) & writing:
        return
    if str(folder) in str(arguments[0]):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

def bring_again():
    told = json.dumps(bring(params, folder), sort_keys=True)
    held = {
        str(path.relative_to(folder)): path.is_file() and files.sha256(path)
        for path in sorted(folder.rglob("*"))
    }
    return [told, held]

sys.addaudithook(count)
found, ended, moment = [], False, 0
while not ended:
    folder = top / str(moment)
    folder.mkdir()
    if not (child := os.fork()):
        left = moment
        bring(params, folder)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    ended = not os.WIFSIGNALED(status)
    assert status in (0, signal.SIGKILL)
    found.append(bring_again())
    moment += 1
print(json.dumps(found))
"""
"""Fetch text, killed before the first, second, ... change of its folder, and repeat."""


@pytest.mark.slow
def test_killed_download_ends_in_the_same_text(write, tmp_path):
    """This includes cached corpora: an incomplete one must not count as read."""
    corpora = {}
    for name, pairs in (
        ("one", GERMAN),
        ("two", [(target, source) for source, target in GERMAN[:30] * 2]),
    ):
        text = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
        source = write(f"{name}.tsv", text)
        corpora[name] = {"kind": "files", "licence": "own", "train": {"source": source}}
    params = {"languages": LANGUAGES, "corpora": corpora, "split": THIRDS}
    (tmp_path / "killed").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed"), json.dumps(params)],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    *killed, undisturbed = json.loads(done.stdout)

    assert len(killed) > 100
    assert [] == [moment for moment, found in enumerate(killed) if found != undisturbed]


def test_repairs_are_counted_after_a_killed_run(run, write, tmp_path):
    left = tmp_path / "out" / "downloads" / "scratch" / "left"
    left.parent.mkdir(parents=True)
    left.write_text("by a run that was killed")
    splits = {"train": GERMAN[:9], "validation": GERMAN[9:12], "test": GERMAN[12:14]}
    lines = {
        name: "".join(f"{source}\t{target}\r\n" for source, target in pairs).encode()
        for name, pairs in splits.items()
    }
    given = {name: {"source": write(f"{name}.tsv", text)} for name, text in lines.items()}

    assert run({"kind": "files", **given})[0]["repaired"] == {"crlf": 14}


def test_empty_training_line_is_only_counted(run, write):
    corpus = {
        "kind": "files",
        "train": {"source": write("train.tsv", b"a\tb\n\tc\n" + b"x" * 1_000_000 + b"\ty\n")},
        "validation": {"source": write("validation.tsv", b"c\td\n")},
        "test": {"source": write("test.tsv", b"i\tj\n")},
    }
    assert run(corpus)[0]["removed"]["train"] == {"empty_side": 1, "line_too_long": 1}


FILES = {"kind": "files", "train": {"source": "a.tsv"}}


def test_vectors_are_downloaded_up_to_the_last_row(run, site, tmp_path, write):
    for code in ("de", "en"):
        rows = "".join(f"{code}{number} 0.5 -1 \n" for number in range(1000))
        site.put(f"/wiki.{code}.vec", whole(f"1000 2\n{rows}".encode()))
    corpus = FILES | {"train": text(write, "train", GERMAN)}
    url = f"http://127.0.0.1:{site.port}/wiki.{{language}}.vec"
    vectors = {"kind": "download", "url": url, "rows": 3}
    metrics = run(corpus, split=THIRDS, vectors=vectors)[0]

    content = (tmp_path / "out" / "vectors" / "source.vec").read_text()
    assert content == "3 2\nde0 0.5 -1\nde1 0.5 -1\nde2 0.5 -1\n"
    assert metrics["vectors"]["target"]["rows"] == 3


def test_vectors_come_from_files(run, write, tmp_path):
    corpus = FILES | {"train": text(write, "train", GERMAN)}
    vectors = {
        "kind": "file",
        "source": write("a.vec", b"2 1\nja 1\nnein 2\n"),
        "target": write("b.vec", b"2 1\nyes 1\nyes 2\n"),
    }
    metrics = run(corpus, split=THIRDS, vectors=vectors)[0]

    names = ["source.vec", "target.vec", "vectors.json"]
    assert names == sorted(path.name for path in (tmp_path / "out" / "vectors").iterdir())
    assert metrics["vectors"]["target"]["duplicate_word"] == 1


@pytest.fixture
def project(tmp_path):
    def project(params):
        (tmp_path / "params.yaml").write_text(json.dumps({"download": params, "workers": {}}))
        return subprocess.run(
            [sys.executable, "-m", "stages.download"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(PROJECT), "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )

    return project


def test_stage_writes_its_report_and_prints_a_table(project, write, tmp_path):
    corpus = FILES | {"train": text(write, "train", [*GERMAN, ("", "x")])}
    done = project({"corpora": {"text": corpus}, "languages": LANGUAGES, "split": THIRDS})

    assert (done.returncode, done.stderr) == (0, "")
    metrics = json.loads((tmp_path / "reports" / "download.json").read_text())
    assert sum(metrics["pairs"].values()) == len(GERMAN)
    assert json.loads((tmp_path / "data/weights.json").read_text()) == [1]
    assert json.loads((tmp_path / "data/tags.json").read_text()) == [[]]
    assert ">text</h2>" in (tmp_path / "reports" / "data.html").read_text()
