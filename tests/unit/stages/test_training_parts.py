"""Of what a training and an export are put together, part by part, without either."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from nmt_core.base import files
from nmt_core.base.languages import Languages
from nmt_core.text.side import Side
from stages import export, paths, train
from stages.configure import compose
from stages.configure.sections import build_all
from stages.params import EvaluateParams, ExportParams
from tests.support.projects import PROJECT
from tests.support.subword_pairs import LINES, subwords, write_lines
from tests.unit.stages.test_export import seal

DE_EN = Languages(source="de", target="en")


class Told:
    """Stands for functions and classes; notes what each was given, and returns it by name."""

    def __init__(self, monkeypatch):
        self._patch, self.given = monkeypatch, {}

    def replace(self, name, returns=None):
        def call(*given, **named):
            self.given.setdefault(name, []).append((given, named))
            return returns(*given, **named) if callable(returns) else returns or name

        self._patch.setattr(train, name, call)

    def once(self, name):
        [(given, named)] = self.given[name]
        return given, named


def test_an_objective_is_put_together_of_all_its_parts(tmp_path, monkeypatch):
    pairs = [("Der Hund " * train.LONGEST, "the dog"), *LINES[:5]]
    for split, some in (("train", LINES), ("validation", pairs)):
        write_lines(tmp_path / split, "bpe_dropout", some)
    for side, lines in zip(paths.SIDES, zip(*pairs, strict=True), strict=True):
        files.write_lines(tmp_path / f"validation.{side}", lines)
    files.write_json(tmp_path / "weights.json", [1.0])
    chosen = ["train.seed=5", "train.training.select_by=chrf"]
    chosen += ["train.training.validation_sentences=3", "train.mixture.untagged=0.0"]
    values = compose.compose_groups(["data=demo", *chosen], conf=PROJECT / "conf")
    params = build_all(values, source="conf")["train"]
    target = Side(subwords("bpe"), subwords("bpe").vocabulary)
    source = replace(target, vocabulary=target.vocabulary.with_tags(["own"]))
    [tag] = source.vocabulary.tags.values()
    sizes, measure = [], train.measured_batches

    def note_size(read, *, vocabulary):
        sizes.append(vocabulary)
        return measure(read, vocabulary=vocabulary)

    monkeypatch.setattr(train, "measured_batches", note_size)
    monkeypatch.setattr("nmt_core.evaluation.metrics.chrf.Chrf.higher_is_better", False)
    places = {"shards": tmp_path, "corpus": tmp_path, "weights": tmp_path / "weights.json"}
    inputs = train.Inputs(**places, corpora=("demo",), tags=("own",))
    sides = {"source": source, "target": target}
    made, [note] = train.build_objective(params, inputs, sides, DE_EN, "model", "compute")

    assert note.startswith("1 validation pairs have more than")
    assert sizes == [len(target.vocabulary)]
    assert (made.model, made.compute, made.config, made.seed) == (
        *("model", "compute", params.training, 5),
    )
    assert (made.metric, made.higher_is_better) == ("chrf", False)
    assert sum(len(batch.source) for batch in made.validation) == len(pairs)
    assert (len(made.batches.dataset), made.batches.config, made.batches.seed) == (
        *(len(LINES), params.batching, 5),
    )
    assert made.batches.mixture.seed == 5
    assert made.batches.sample(0, 1)[0][0] == tag
    score = made.translate_and_score
    assert [*zip(score.sources, score.references, strict=True)] == pairs[:3]
    assert [numbers[0] for numbers in score.source_numbers] == [tag] * 3
    assert max(map(len, score.source_numbers)) == train.LONGEST
    assert (score.target, score.compute, score.metric.higher_is_better) == (
        target,
        "compute",
        False,
    )


@pytest.mark.parametrize("initial", [None, "an initial model"])
@pytest.mark.parametrize("share", [0.0, 0.4, "auto"])
@pytest.mark.parametrize("is_main", [True, False])
def test_a_training_is_put_together_and_averaged_where_that_is_asked_for(  # noqa: PLR0915
    monkeypatch, initial, share, is_main
):
    told, shown, moved = Told(monkeypatch), [], []
    model = SimpleNamespace(to=moved.append)
    compute = SimpleNamespace(device="a device")
    predicted = SimpleNamespace(cross_entropy=2.5)
    objective = SimpleNamespace(
        metric="bleu", batches="batches", predict_validation=lambda: predicted
    )

    @contextmanager
    def display(*given, **named):
        told.given["TrainingDisplay"] = [(given, named)]
        yield SimpleNamespace(note=shown.append)

    parts = {
        "prepare_compute": lambda *_, **__: compute,
        "build_model": lambda *_, **__: model,
        "load_pretrained": None,
        "load_initial_model": lambda _: initial,
        "start_from": None,
        "describe_taken": lambda _: ["taken"],
        "build_objective": lambda *_: (objective, ["cut"]),
        "resolve_budget": lambda *_: SimpleNamespace(done="done"),
        "Trainer": lambda **_: SimpleNamespace(fit=lambda: "progress"),
        **dict.fromkeys(("build_optimizer", "choose_average", "describe_average", "average_with")),
    }
    for name, returns in parts.items():
        told.replace(name, returns)
    monkeypatch.setattr(train, "TrainingDisplay", display)
    monkeypatch.setattr(
        train.Side, "load", lambda *at: SimpleNamespace(places=at, vocabulary=str(at[1]))
    )
    params = SimpleNamespace(
        compute=SimpleNamespace(device="d", precision="p", threads=3, accumulate=4),
        seed=7,
        model="shape",
        initial_parts=["encoder"],
        initial_share=share,
        initial_tolerance=0.25,
        budget="budget",
        optimizer="optimizer",
        schedule="schedule",
    )
    world = SimpleNamespace(is_main=is_main)
    inputs = train.Inputs()
    found = train.run(
        params,
        inputs,
        languages=DE_EN,
        checkpoints=paths.CHECKPOINTS / "key",
        tracker="tracker",
        notes=["note"],
        world=world,
    )

    chosen = bool(initial) and share == "auto" and is_main
    assert found == (model, "progress", "choose_average" if chosen else None)
    known = tuple(str(paths.VOCABULARY / f"{side}.txt") for side in paths.SIDES)
    sizes = {f"{side}_size": len(one) for side, one in zip(paths.SIDES, known, strict=True)}
    assert told.once("prepare_compute") == (("d",), {"precision": "p", "threads": 3})
    assert told.once("build_model") == (("shape",), sizes | {"pretrained": "load_pretrained"})
    assert moved == ["a device"]
    (*given, sides, languages, on, by), _ = told.once("build_objective")
    assert (given, languages, on, by) == ([params, inputs], DE_EN, model, compute)
    assert [sides[side].places[0].name for side in paths.SIDES] == [*paths.SIDES]
    assert shown == ["note", *["taken"] * bool(initial), "cut", *["describe_average"] * chosen]
    if initial:
        assert told.once("start_from")[0] == (initial, model, "shape", known, ["encoder"])
    (done, console), named = told.once("TrainingDisplay")
    assert (done, console is None) == ("done", is_main)
    assert named == {"scores": {"validation_bleu": "BLEU"}}
    trainer = told.once("Trainer")[1]
    assert trainer.pop("checkpoints").folder == paths.CHECKPOINTS / "key"
    assert trainer.pop("display").note
    assert trainer == {
        "objective": objective,
        "optimizer": "build_optimizer",
        "schedule": "schedule",
        "budget": "budget",
        "tracker": "tracker",
        "world": world,
        "accumulate": 4,
    }
    if chosen:
        average, named = told.once("choose_average")
        assert average == (initial, model, known, ["encoder"])
        assert (named["measure"](), named["tolerance"]) == (2.5, 0.25)
    else:
        assert "choose_average" not in told.given
    averaged = [((initial, model, known, ["encoder"], 0.4), {})]
    assert told.given.get("average_with", []) == averaged * (bool(initial) and share == 0.4)


@pytest.mark.parametrize("count", [1, 2])
def test_golden_sentences_are_drawn_from_all_of_the_test_set(tmp_path, monkeypatch, count):
    asked, drawn = [], [2, 0][:count]
    monkeypatch.setattr(export, "choose", lambda *given: asked.append(given) or drawn)
    params = ExportParams(engines=(), golden_sentences=count)
    bundle, metrics = seal(tmp_path, params, monkeypatch)
    sources = [*files.read_lines(tmp_path / "test.source")]
    assert asked == [(len(sources), count, EvaluateParams().seed)]
    golden = [answer["source"] for answer in files.read_json(bundle / "golden.json")]
    assert golden == [sources[number] for number in drawn]
    assert metrics["golden_sentences"] == len(golden) == count
    written = [path for path in bundle.rglob("*") if path.is_file()]
    assert metrics["files"] == len(written)
    assert metrics["bytes"] == sum(path.stat().st_size for path in written)
