"""Of what a training and an export are put together, part by part, without either."""

from dataclasses import replace

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


@pytest.mark.parametrize("count", [1, 2])
def test_golden_sentences_are_drawn_from_all_of_the_test_set(tmp_path, monkeypatch, count):
    asked, drawn = [], [2, 0][:count]
    monkeypatch.setattr(export, "draw_line_numbers", lambda *given: asked.append(given) or drawn)
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
