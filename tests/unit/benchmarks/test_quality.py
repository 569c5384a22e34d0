"""The benchmark of quality beside cost: what is counted, and what is the same for all."""

import sys
from pathlib import Path

import pytest

from benchmarks import quality
from benchmarks.quality import OURS, Result, System, Trained
from benchmarks.training.work import Shape
from nmt_core.base import files
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text.vocabulary import SPECIALS
from stages import paths
from tests.support.projects import PROJECT

COPY = "import sys; text, written = sys.argv[1:]; open(written, 'w').write(open(text).read())"
WORK = "sum(range(10**7)) if text.endswith('whole') else 0"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the demo's settings and text of four tokens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text((PROJECT / "params.yaml").read_text())
    for side in ("source", "target"):
        files.write_lines(
            paths.CORPUS / f"test.{side}", [f"{n} words of a line." for n in range(20)]
        )
        words = [*SPECIALS, *ALL_SYMBOLS, "▁a", "▁b", side]
        files.write_lines(paths.VOCABULARY / f"{side}.txt", words)
    return tmp_path


def test_peers_learn_the_same_tokens_in_the_same_shape(project):
    work = quality.write_work(project)

    assert sorted(["▁a", "▁b", "source", "target"]) == sorted(work.read_tokens())
    assert (work.source, work.target) == (
        Path("data/tokenized/train.source"),
        Path("data/tokenized/train.target"),
    )
    assert work.shape == Shape(128, 4, 3, 2, 512, 0.1)
    assert work.batch_tokens == 1024


@pytest.mark.parametrize("timed", [True, False])
def test_a_training_is_measured_by_what_its_model_writes(project, timed):
    """A copier scores 100 on a text that is its own translation; starting it counts for nothing."""
    asked = []

    def translate(text, beam_size, written):
        asked.append((text.name, beam_size))
        return [sys.executable, "-c", f"{COPY}; {WORK}", str(text), str(written)]

    system = System(
        "copier", lambda steps: Trained(7.5 * steps, translate), paths.CORPUS / "test.source"
    )
    results = quality.measure(system, 2, project, timed=timed)

    assert [(one.beam_size, one.training_seconds) for one in results] == [(5, 15.0), (1, 15.0)]
    assert all(one.bleu == pytest.approx(100.0) for one in results)
    assert all((one.speed > 0) == timed for one in results)
    parts = [name for name, _ in asked]
    assert parts == (["whole", "part"] * 2 if timed else ["whole"] * 2)
    assert len((project / "part").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("▁Das ▁Ha us .", "Das Haus."),
        ("Das Haus.", "Das Haus."),
        ("▁", ""),
        ("", ""),
        ("x ▁y", "x y"),
    ],
)
def test_pieces_are_joined_and_text_is_left(line, text):
    assert quality.join_pieces(line) == text


RESULTS = [
    Result(OURS, 150, 30.4, 5, 61.04, 0.0),
    Result(OURS, 1200, 240.0, 5, 89.3, 25.6),
    Result("eole", 1200, 1500.0, 1, 80.0, 4.2),
]


def test_a_row_for_each_search_shows_speed_where_it_was_measured():
    heading, *rows = quality.tabulate(RESULTS)

    assert rows == [
        ["this project, 150 updates, beam 5", "30", "61.0", ""],
        ["this project, 1,200 updates, beam 5", "240", "89.3", "26"],
        ["eole, 1,200 updates, beam 1", "1,500", "80.0", "4"],
    ]
    assert len(heading) == len(rows[0])


def test_both_costs_are_drawn_and_each_system_has_one_colour(tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(quality, "draw_panels", lambda path, panels: drawn.update(panels))
    quality.draw(tmp_path / "x.png", RESULTS)
    training, translating = drawn.values()

    assert [(curve.label, curve.x, curve.y) for curve in training] == [
        (OURS, [30.4, 240.0], [61.04, 89.3]),
        ("eole", [], []),
    ]
    assert [(curve.label, curve.x, curve.y) for curve in translating] == [
        (OURS, [25.6], [89.3]),
        ("eole", [4.2], [80.0]),
    ]


def test_our_stages_train_in_a_folder_of_their_own_and_training_alone_counts(project, monkeypatch):
    (project / "data/tokenized").mkdir(parents=True)
    (project / "metrics").mkdir()
    asked = []

    class Done:
        def __init__(self, seconds):
            self.processor_seconds = seconds

    def run(command, _, *, threads, folder):
        asked.append((command[2], command[3:], folder, threads))
        return Done(len(asked))

    monkeypatch.setattr(quality, "run", run)
    trained = quality.train_ours(project, 60)
    [(configure, settings, folder, threads), train, *others] = asked

    assert (configure, threads, folder) == ("stages.configure", 1, project / "ours-60")
    assert {"train.budget.steps=60", "train.training.validate_every=60"} <= {*settings}
    assert (train[0], trained.seconds) == ("stages.train", 2)
    assert [one[0] for one in others] == ["stages.evaluate", "stages.export"]
    assert (folder / "data/vocabulary/source.txt").exists()
    command = trained.translate(Path("in"), 3, Path("out"))
    assert str(folder / paths.EXPORT) in command
    assert command[command.index("--beam-size") + 1] == "3"
