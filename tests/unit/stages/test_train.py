"""The start of a training, its processes and its objective."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from nmt_core.base import files
from nmt_core.base.errors import NmtError
from nmt_core.base.languages import Languages
from nmt_core.text.side import Side
from nmt_core.training.checkpoint import Checkpoint, CheckpointStore
from nmt_core.training.progress import Point, Progress
from nmt_core.training.settings import Budget
from stages import paths, train
from stages.configure import compose
from stages.configure.sections import build_all
from stages.paths import Inputs
from stages.tracking.journal import Journal
from tests.support.subword_pairs import LINES, subwords, write_lines

CONF = paths.CONF.absolute()
LONGER = "train.budget.steps=2000"
INVERSE_SQRT = ("~train.schedule", "+train.schedule={kind:inverse_sqrt}")


def params(*settings):
    values = compose.compose_groups(["data=demo", "train=quick", *settings], conf=CONF)
    return build_all(values, source="conf")["train"]


@pytest.fixture
def shorter(tmp_path, monkeypatch):
    """The results and messages of a training of 1200 updates."""
    monkeypatch.chdir(tmp_path)
    store = CheckpointStore(paths.CHECKPOINTS / "course-short")
    progress = Progress(step=1200, best_step=900, finished=True).model_dump(mode="json")
    store.save_best(Checkpoint({"w": torch.ones(1)}, {}), step=900)
    store.save(Checkpoint({"w": torch.zeros(1)}, progress), step=1200)
    journal = Journal("course-short")
    for step in (600, 1200, 1250):
        journal.append("metrics", values={"train/loss": 1.0 / step}, step=step)
    journal.append("metrics", values={"validation/bleu": 7.0, "train/seconds": 3.0}, step=900)
    journal.append("metrics", values={"test_bleu": 8.0}, step=900)
    journal.append("metrics", values={"system/cpu_utilization_percentage": 9.0}, step=1)
    journal.append("end", status="FINISHED")
    return store


@pytest.mark.parametrize(("steps", "most"), [(None, 30), (7, 7), (99, 30)])
def test_epochs_are_converted_to_final_updates(steps, most):
    tens = SimpleNamespace(estimate_batches=lambda epochs: 10 * epochs)

    assert train.resolve_budget(Budget(epochs=3, steps=steps), tens).steps == most
    assert train.resolve_budget(Budget(tokens=3, steps=steps), tens).steps == steps


def test_a_longer_training_continues_the_shorter_curve(shorter):
    journal = Journal("course-long")
    [note] = train.continue_other_budget(params(LONGER, *INVERSE_SQRT), journal)
    store = CheckpointStore(paths.CHECKPOINTS / "course-long")
    said, _ = Journal("course-short").read()

    assert "continuing from checkpoints/course-short" in note
    assert store.newest().progress["step"] == 1200
    assert store.best().tensors["w"] == 1
    assert journal.read()[0] == [said[0], said[1], said[3]]


def test_a_training_beyond_its_budget_says_what_helps(shorter):
    [note] = train.continue_other_budget(params(LONGER), Journal("course-long"))

    assert "starts from scratch" in note
    assert "checkpoints/course-short" in note
    assert "with a warmup_decay schedule, every update depends on the budget" in note
    assert "an inverse_sqrt or cosine_restarts schedule" in note
    assert CheckpointStore(paths.CHECKPOINTS / "course-long").is_empty


@pytest.mark.parametrize(
    ("limit", "step"), [("steps=900", 1200), ("steps=2000", 1300), ("seconds=9.5", 1300)]
)
def test_a_training_that_cannot_resume_says_why(shorter, limit, step):
    """It has less time, or would validate at other moments than the other training."""
    clock = Point(
        step=1250,
        epoch=1,
        target_tokens=1,
        learning_rate=0.1,
        train_loss=1.0,
        validation_loss=1.0,
        validation_scores={},
    )
    if step == 1300:
        for path in shorter.folder.iterdir():
            path.unlink()
        progress = Progress(step=step, history=[clock]).model_dump(mode="json")
        again = CheckpointStore(shorter.folder)
        again.save(Checkpoint({"w": torch.zeros(1)}, progress), step=step)
    budget = ["train.budget.steps=null", f"train.budget.{limit}"]
    [note] = train.continue_other_budget(params(*budget, *INVERSE_SQRT), Journal("course-long"))

    assert note.startswith("continuing" if "seconds" in limit else "training starts from scratch")
    assert CheckpointStore(paths.CHECKPOINTS / "course-long").is_empty is ("steps" in limit)


def test_another_course_is_neither_mentioned_nor_used(shorter):
    assert not [*train.continue_other_budget(params(*INVERSE_SQRT), Journal("another-short"))]
    assert not paths.CHECKPOINTS.joinpath("another-short").exists()


def test_a_training_continues_from_its_own_checkpoints(shorter):
    settings = params("train.budget.steps=900", *INVERSE_SQRT)
    assert not [*train.continue_other_budget(settings, Journal("course-short"))]

    own = CheckpointStore(paths.CHECKPOINTS / "course-long")
    own.save(Checkpoint({"w": torch.ones(1)}, {"step": 3}), step=3)
    assert not [*train.continue_other_budget(params(LONGER, *INVERSE_SQRT), Journal("course-long"))]
    assert own.newest().progress["step"] == 3


def test_rank_of_another_training_is_refused(monkeypatch):
    monkeypatch.setattr(train, "load", lambda *_: SimpleNamespace(languages=None))
    monkeypatch.setattr(train, "identify", lambda *_: "key")
    world = SimpleNamespace(rank=1, broadcast=lambda _: b"another")
    with pytest.raises(NmtError, match=r"^rank 1 has other settings, code or data than"):
        train.run_rank(params(), world)


def test_an_objective_has_all_its_parts(tmp_path, monkeypatch):
    pairs = [("Der Hund " * train.MAX_EVALUATION_TOKENS, "the dog"), *LINES[:5]]
    for split, some in (("train", LINES), ("validation", pairs)):
        write_lines(tmp_path / split, "bpe_dropout", some)
    for side, lines in zip(paths.SIDES, zip(*pairs, strict=True), strict=True):
        files.write_lines(tmp_path / f"validation.{side}", lines)
    files.write_json(tmp_path / "weights.json", [1.0])
    chosen = ["train.seed=5", "train.training.select_by=chrf"]
    chosen += ["train.training.validation_sentences=3", "train.mixture.untagged=0.0"]
    config = params(*chosen)
    target = Side(subwords("bpe"), subwords("bpe").vocabulary)
    source = replace(target, vocabulary=target.vocabulary.with_tags(["own"]))
    [tag] = source.vocabulary.tags.values()
    monkeypatch.setattr("nmt_core.evaluation.metrics.Chrf.higher_is_better", False)
    places = {"shards": tmp_path, "corpus": tmp_path, "weights": tmp_path / "weights.json"}
    inputs = Inputs(**places, corpora=("demo",), tags=(("own",),))
    sides = {"source": source, "target": target}
    languages = Languages(source="de", target="en")
    made, [note] = train.build_objective(config, inputs, sides, languages, "model", "compute")

    assert note.startswith("1 validation pairs have more than")
    assert (made.model, made.compute, made.config, made.seed) == (
        *("model", "compute", config.training, 5),
    )
    assert (made.metric, made.higher_is_better) == ("chrf", False)
    assert sum(len(batch.source) for batch in made.validation) == len(pairs)
    assert (len(made.batches.dataset), made.batches.config, made.batches.seed) == (
        *(len(LINES), config.batching, 5),
    )
    assert made.batches.mixture.seed == 5
    assert made.batches.sample(0, 1)[0][0] == tag
    score = made.translate_and_score.keywords
    assert [*zip(score["sources"], score["references"], strict=True)] == pairs[:3]
    assert [numbers[0] for numbers in score["source_numbers"]] == [tag] * 3
    assert max(map(len, score["source_numbers"])) == train.MAX_EVALUATION_TOKENS
    assert (score["target"], score["compute"]) == (target, "compute")
    assert not score["metric"].higher_is_better
