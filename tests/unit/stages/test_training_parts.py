"""Of what a training and an export are put together, part by part, without either."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from nmt_core.base import files
from nmt_core.text.languages import Languages
from stages import export, paths, train
from stages.params import EvaluateParams, ExportParams
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


@pytest.mark.parametrize("too_long", [0, 3])
def test_an_objective_is_put_together_of_all_its_parts(  # noqa: PLR0915 - it has many
    monkeypatch, too_long
):
    told = Told(monkeypatch)

    class Shards:
        def __init__(self, name):
            self.name = name

        def __len__(self):
            return {"train": 50, "validation": 7}[self.name]

    shards = {name: Shards(name) for name in ("train", "validation")}
    read = [([1] * 600, [2]), ([3], [4])]
    metric = SimpleNamespace(higher_is_better="higher")
    first = []
    score = SimpleNamespace(first=lambda count: first.append(count) or "scores")
    told.replace("ShardDataset", lambda path: shards[path.name])
    told.replace("draw_pairs")
    told.replace("read_tagged", lambda *_: read)
    told.replace("build_mixture")
    told.replace("measured_batches", lambda *_, **__: ("held out", too_long))
    told.replace("choose_metric", lambda *_: ("bleu", metric))
    told.replace("ValidationScore", lambda **_: score)
    told.replace("read_split_lines", lambda _, side, count: (side, count))
    told.replace("TrainingBatches")
    told.replace("TranslationObjective")
    training = SimpleNamespace(select_by="bleu", validation_sentences=33)
    params = SimpleNamespace(training=training, seed=5, batching="batching")
    inputs = train.Inputs(tags=("own",))
    target = SimpleNamespace(vocabulary="abc")
    sides = {"source": "the source", "target": target}
    objective, notes = train.build_objective(params, inputs, sides, DE_EN, "model", "compute")

    assert objective == "TranslationObjective"
    asked = told.once("draw_pairs")[0]
    assert asked == (params, shards["train"], sides, DE_EN, inputs.tags)
    assert told.once("read_tagged")[0] == (shards["validation"], "the source", inputs.tags)
    assert told.once("build_mixture")[0] == (params, inputs, shards["train"])
    assert told.once("measured_batches") == ((read,), {"vocabulary": 3})
    assert told.once("choose_metric")[0] == ("bleu", "en")
    assert told.once("ValidationScore")[1] == {
        "metric": metric,
        "sources": ("source", 7),
        "source_numbers": [[1] * train.LONGEST, [3]],
        "references": ("target", 7),
        "target": target,
        "compute": "compute",
    }
    assert first == [33]
    batches = (shards["train"], "batching", 5, "draw_pairs", "build_mixture")
    assert told.once("TrainingBatches")[0] == batches
    assert told.once("TranslationObjective")[1] == {
        "model": "model",
        "compute": "compute",
        "config": training,
        "seed": 5,
        "batches": "TrainingBatches",
        "validation": "held out",
        "translate_and_score": "scores",
        "metric": "bleu",
        "higher_is_better": "higher",
    }
    assert len(notes) == (too_long > 0)
    assert not too_long or notes[0].startswith("3 validation pairs have more than")


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

    told.replace("prepare_compute", lambda *_, **__: compute)
    monkeypatch.setattr(
        train.Side,
        "load",
        lambda *places: SimpleNamespace(places=places, vocabulary=str(places[1])),
    )
    told.replace("build_model", lambda *_, **__: model)
    told.replace("load_pretrained")
    told.replace("load_initial_model", lambda _: initial)
    told.replace("start_from")
    told.replace("describe_taken", lambda _: ["taken"])
    told.replace("build_objective", lambda *_: (objective, ["cut"]))
    told.replace("resolve_budget", lambda *_: SimpleNamespace(done="done"))
    monkeypatch.setattr(train, "TrainingDisplay", display)
    told.replace("Trainer", lambda **_: SimpleNamespace(fit=lambda: "progress"))
    told.replace("build_optimizer")
    told.replace("choose_average")
    told.replace("describe_average")
    told.replace("average_with")
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
    assert told.once("prepare_compute") == (("d",), {"precision": "p", "threads": 3})
    known = tuple(str(paths.VOCABULARY / f"{side}.txt") for side in paths.SIDES)
    sizes = {f"{side}_size": len(one) for side, one in zip(paths.SIDES, known, strict=True)}
    assert told.once("build_model") == (("shape",), sizes | {"pretrained": "load_pretrained"})
    assert moved == ["a device"]
    (given, built) = told.once("build_objective")[0][:2], told.once("build_objective")[0]
    assert given == (params, inputs)
    assert [built[2][side].places[0].name for side in paths.SIDES] == [*paths.SIDES]
    assert built[3:] == (DE_EN, model, compute)
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
