"""From text to an exported model, stage by stage, in miniature, for all kinds of tokens."""

import math
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.languages import Languages
from nmt_core.base.progress import Tracker
from nmt_core.base.seal import verify_bundle
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.corpora.fetch.initial_model import copy_initial_model
from nmt_core.data.settings import AugmentationConfig
from nmt_core.data.shards import ShardDataset
from nmt_core.evaluation.registry import load_metric
from nmt_core.models.weights import untied_state_dict
from nmt_core.text import Subwords, load_tokenizer
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampling
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from nmt_core.training.settings import Budget, WarmupDecay
from nmt_core.translation.translator import Translator
from stages import embeddings, evaluate, export, paths, shard, tokenize, train, vocabulary
from stages.configure import compose
from stages.configure.sections import build_all
from stages.download import describe_corpora
from stages.params import TokenizeParams, VocabularyParams
from stages.paths import Inputs
from stages.reporting.card import list_materials, render_card
from stages.reporting.download_report import DownloadReport, NearDuplicates
from stages.runtime.trained import load_trained
from tests.support.demo import draw_corpus
from tests.support.projects import PROJECT
from tests.support.torch_settings import torchs_own_settings

pytestmark = pytest.mark.slow

LANGUAGES = Languages(source="de", target="en")
TRAIN_LINES, TEST_LINES = 60, 12
STEPS, VALIDATE_EVERY = 120, 40
TINY = [
    "train.compute.precision=float32",
    "train.compute.threads=1",
    "train.model.encoder_layers=1",
    "train.model.decoder_layers=1",
    "train.model.feed_forward_width=64",
    f"train.budget.steps={STEPS}",
    f"train.training.validate_every={VALIDATE_EVERY}",
    "train.training.log_every=10",
    "train.budget.epochs=null",
    "train.model.dropout=0.0",
    "evaluate.resamples=20",
    "evaluate.pictures=1",
    "export.golden_sentences=4",
    # like validation in training
    "evaluate.beam.beam_size=1",
    "evaluate.beam.stopping=fast",
    "evaluate.beam.max_length_factor=2.0",
]
SHAPE = ["train.model.width=32", "train.model.heads=2", "train.schedule.learning_rate=0.01"]
KINDS = {
    "subwords": ["tokenize.subwords.vocab_size=400", *SHAPE],
    "characters": ["tokenize.kind=characters", *SHAPE],
    "words": [
        "model=transformer_article_lite",
        "embeddings.vectors.dimensions=20",
        "embeddings.vectors.epochs=1",
        "embeddings.vectors.min_count=2",
        "embeddings.vectors.buckets=100",
        "train.model.width=20",
        "train.model.head_width=5",
        "train.schedule.learning_rate=0.1",
    ],
}


@dataclass
class Project:
    """Folders after the stages, and the stages' metrics."""

    folder: Path
    settings: dict
    metrics: dict

    def __getattr__(self, name):
        return self.folder / name


def lines(path):
    return list(files.read_lines(path))


def write_corpus(folder):
    """Write lines of the demo, validated on training lines: so small a model scores 0 on others."""
    written = draw_corpus()
    train_pairs, test_pairs = written["train"][:TRAIN_LINES], written["test"][:TEST_LINES]
    splits = {"train": train_pairs, "validation": train_pairs[:TEST_LINES], "test": test_pairs}
    for split, pairs in splits.items():
        for side in paths.SIDES:
            files.write_lines(folder / f"{split}.{side}", [getattr(pair, side) for pair in pairs])


@pytest.fixture(scope="module", autouse=True)
def settings():
    """Restore torch's settings."""
    with torchs_own_settings():
        yield


@pytest.fixture(scope="module", params=KINDS)
def project(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    arguments = [*KINDS[request.param], *TINY]
    groups = [given for given in arguments if given.startswith("model=")] or ["data=demo"]
    values = compose.apply_changes(
        compose.compose_groups(groups, conf=PROJECT / "conf"),
        [given for given in arguments if given not in groups],
    )
    settings = build_all(values, source="test")
    project = Project(folder, settings, {})
    write_corpus(project.corpus)
    project.vectors.mkdir()
    measured = project.metrics
    report = DownloadReport(
        pairs={},
        removed={},
        corpora={},
        near_duplicates=NearDuplicates(pairs=7, test_sentences=1, validation_sentences=1),
        corpus=describe_corpora(settings["download"]),
    )
    measured["tokenize"], measured["vocabulary"] = make_vocabulary(
        project, folder, settings["tokenize"], settings["vocabulary"]
    )
    measured["embeddings"] = embeddings.run(
        settings["embeddings"],
        vocabulary=project.vocabulary,
        tokenized=project.tokenized,
        vectors=project.vectors,
        embeddings=project.embeddings,
    )
    files.write_json(folder / "weights.json", [1.0])
    measured["shard"] = shard.run(
        settings["shard"],
        corpora=count_lines(project.corpus),
        tokenized=project.tokenized,
        vocabulary=project.vocabulary,
        shards=project.shards,
        workers=settings["workers"],
    )
    with redirect_stderr(StringIO()) as told:
        model, progress = train_on(project)
    project.told = told.getvalue()
    train.write_model(project.trained, model, settings["train"], progress, "f" * 16)
    measured["train"] = train.summarize_training(progress)
    measured["evaluate"] = evaluate.run(
        settings["evaluate"], inputs(project), languages=LANGUAGES, reports=project.reports
    )
    record = files.read_json(project.trained / "training.json")
    measured["export"] = export.run(
        settings["export"],
        settings["evaluate"],
        inputs(project),
        languages=settings["download"].languages,
        write_papers=lambda written: (
            render_card(
                settings["download"],
                report,
                record,
                measured["evaluate"],
                shards=measured["shard"],
                made={
                    "commit": "c" * 40,
                    "date": "2026-11-22",
                    "glossary_terms": written["glossary_terms"],
                    "extras": "serve",
                },
            ),
            list_materials(model="nmt", version="1"),
            [],
        ),
        evaluated=measured["evaluate"],
        export=project.export,
    )
    return project


def make_vocabulary(project, folder, tokens, words, **more):
    """Tokenize the corpus into a folder, and write the vocabulary there."""
    places = {name: folder / name for name in ("tokenizer", "tokenized")}
    more |= {**places, "workers": project.settings["workers"]}
    return (
        tokenize.run(tokens, languages=("de", "en"), corpus=project.corpus, **more),
        vocabulary.run(words, vectors=project.vectors, vocabulary=folder / "vocabulary", **more),
    )


def count_lines(folder):
    """Return the pairs of the only corpus in each split of the shards."""
    return {
        split: [sum(1 for _ in files.read_lines(folder / f"{split}.source"))]
        for split in ("train", "validation")
    }


def train_on(project, *, checkpoints="checkpoints", **places):
    return train.run(
        places.pop("params", project.settings["train"]),
        Inputs(
            shards=project.shards,
            corpus=places.pop("corpus", project.corpus),
            tokenizer=project.tokenizer,
            vocabulary=project.vocabulary,
            embeddings=project.embeddings,
            weights=project.folder / "weights.json",
            **places,
        ),
        languages=LANGUAGES,
        checkpoints=project.folder / checkpoints,
        tracker=Tracker(),
    )


def inputs(project, corpus="corpus"):
    return Inputs(
        trained=project.trained,
        corpus=project.folder / corpus,
        tokenizer=project.tokenizer,
        vocabulary=project.vocabulary,
    )


def translations(project):
    _, *rows = lines(project.reports / "translations.tsv")
    return [row.split("\t") for row in rows]


def is_words(project):
    return project.settings["tokenize"].kind == "spacy"


def test_vocabularies_match_the_tokenizer(project):
    source, target = (Vocabulary.load(project.vocabulary / f"{side}.txt") for side in paths.SIDES)
    seen = {token for line in lines(project.tokenized / "train.source") for token in line.split()}

    assert seen <= set(source.tokens)
    assert project.metrics["vocabulary"]["source_unknown_rate"] == 0
    if is_words(project):
        assert len(source) == len(seen) + len(SPECIALS) + len(ALL_SYMBOLS)
        assert source.tokens != target.tokens
    elif project.settings["tokenize"].kind == "characters":
        assert source.tokens == target.tokens
        assert {len(token) for token in source.tokens[len(SPECIALS) :]} == {1}
    else:
        assert len(source) == 400 + len(ALL_SYMBOLS)
        assert (
            source.tokens
            == target.tokens
            == Subwords.load(project.tokenizer / "source").vocabulary.tokens
        )


def test_shards_have_every_pair(project):
    metrics = project.metrics["shard"]

    assert (metrics["train_pairs"], metrics["validation_pairs"]) == (TRAIN_LINES, TEST_LINES)
    assert metrics["train_source_tokens"] == project.metrics["tokenize"]["train_source_tokens"]
    assert metrics["too_long"] == metrics["empty"] == 0


def test_model_starts_from_the_vectors(project):
    """Frozen vectors do not change."""
    weights = load_file(project.trained / "model.safetensors")
    made = sorted(path.stem for path in project.embeddings.glob("*.safetensors"))

    assert made == (["source", "target"] if is_words(project) else [])
    for side in made:
        vectors = load_file(project.embeddings / f"{side}.safetensors")["weight"]
        assert torch.equal(vectors, weights[f"{side}_embedding.table.weight"])


def test_training_can_start_from_an_export(project, tmp_path):
    """Before any update, the model equals the export, and it has the export's tokens."""
    bundle = project.export
    start = tmp_path / "initial_model"
    start.mkdir()
    copy_initial_model(bundle, start)

    [point] = without_learning(project, places={"initial_model": start}).history
    record = files.read_json(project.trained / "training.json")
    best = min(record["history"], key=lambda point: abs(point["step"] - record["best_step"]))
    assert point.validation_loss == pytest.approx(best["validation_loss"], rel=1e-4)
    tokens, words = TokenizeParams(kind="initial_model"), VocabularyParams(words="initial_model")
    make_vocabulary(project, tmp_path, tokens, words, initial_model=start)
    for folder in ("tokenized", "vocabulary"):
        for path in (project.folder / folder).iterdir():
            assert (tmp_path / folder / path.name).read_bytes() == path.read_bytes()


def test_finished_model_can_be_an_average(project, tmp_path):
    """This holds even if it is finished a second time, from its last checkpoint."""
    copy_initial_model(project.export, tmp_path)
    short = {"budget": Budget(steps=2), "schedule": WarmupDecay(learning_rate=0.01)}

    def train(share):
        params = project.settings["train"].model_copy(update={**short, "initial_share": share})
        checkpoints = f"share-{share}"
        model, *_ = train_on(
            project, checkpoints=checkpoints, params=params, initial_model=tmp_path
        )
        return untied_state_dict(model)

    initial, learnt = load_file(tmp_path / "model.safetensors"), train(0.0)
    for half in (train(0.5), train(0.5)):
        for name, weight in half.items():
            torch.testing.assert_close(weight, (initial[name] + learnt[name]) / 2)
        assert any(not torch.equal(half[name], learnt[name]) for name in half)


def without_learning(project, *, places=None, **changes):
    """Train for one update at a tiny learning rate."""
    settings = project.settings["train"]
    training = settings.training.model_copy(update={"validate_every": 1})
    short = {"budget": Budget(steps=1), "schedule": WarmupDecay(learning_rate=1e-9)}
    params = settings.model_copy(update={**short, "training": training, **changes})
    checkpoints = "-".join(["still", *changes, *(places or ())])
    return train_on(project, checkpoints=checkpoints, params=params, **places or {})[1]


def test_only_training_pairs_have_sampled_subwords(project):
    """The same model reads more training tokens, and the same validation tokens."""
    drawing = {"subword_sampling": SubwordSampling(kind="bpe_dropout", dropout=0.5)}
    if not isinstance(load_tokenizer(project.tokenizer / "target"), Subwords):
        with pytest.raises(ConfigError, match="needs a tokenizer of model_type 'bpe'"):
            without_learning(project, **drawing)
        return
    best, drawn = without_learning(project), without_learning(project, **drawing)

    assert drawn.history[0].validation_loss == pytest.approx(best.history[0].validation_loss)
    assert drawn.history[0].target_tokens > best.history[0].target_tokens


@pytest.mark.parametrize("side", paths.SIDES)
def test_only_the_configured_side_is_sampled(project, side):
    sides = {
        name: Side.load(project.tokenizer / name, project.vocabulary / f"{name}.txt")
        for name in paths.SIDES
    }
    if project.settings["tokenize"].kind != "sentencepiece":
        return
    wanted = SubwordSampling(kind="bpe_dropout", sides=side)
    update = {"subword_sampling": wanted, "augmentation": AugmentationConfig(), "seed": 7}
    params = project.settings["train"].model_copy(update=update)
    dataset = ShardDataset(project.shards / "train")
    sampled = train.draw_pairs(params, dataset, sides, [LANGUAGES]).__self__

    assert [name for name in paths.SIDES if getattr(sampled, name)] == [side]
    assert sampled.seed == 7


def test_training_is_recorded(project):
    record = files.read_json(project.trained / "training.json")

    assert record["steps"] == STEPS
    assert [point["step"] for point in record["history"]] == [40, 80, 120]
    assert record["fingerprint"] == "f" * 16
    assert record["params"] == project.settings["train"].model_dump(mode="json")
    assert math.exp(project.metrics["train"]["loss"]) == pytest.approx(
        project.metrics["train"]["perplexity"]
    )
    for point in record["history"]:
        assert 0 < point["validation_loss"] < 20
        score = point["validation_scores"]["bleu"]
        assert 0 <= score <= 100
        assert f"  BLEU {score:.1f}" in project.told


def test_validation_scores_like_evaluation(project, tmp_path, monkeypatch):
    """The same model has the same BLEU and loss on the same lines, by different code.

    Validation checks no literals, and neither does a translator without languages.
    """
    monkeypatch.setattr(evaluate, "load_trained", lambda *given: load_trained(*given[:2]))
    for side in paths.SIDES:
        text = (project.corpus / f"validation.{side}").read_bytes()
        for split in ("test", "validation"):
            (tmp_path / f"{split}.{side}").write_bytes(text)
    best = project.metrics["train"]
    found = evaluate.run(
        project.settings["evaluate"],
        inputs(project, tmp_path),
        languages=LANGUAGES,
        reports=tmp_path / "reports",
    )

    assert best["bleu"] > 0.1
    assert best["bleu"] == pytest.approx(found.scores["bleu"].value, abs=1e-9)
    assert best["loss"] == pytest.approx(found.cross_entropy, rel=1e-5)


def test_scores_can_be_recomputed(project):
    """They follow from the report and the raw references."""
    rows = translations(project)
    metrics = project.metrics["evaluate"]

    assert [row[1] for row in rows] == lines(project.corpus / "test.source")
    assert [row[2] for row in rows] == lines(project.corpus / "test.target")
    hypotheses, references = ([row[column] for row in rows] for column in (3, 2))
    again = load_metric("bleu", "en").score(hypotheses, references, [], resamples=20)
    assert metrics.scores["bleu"] == again
    assert metrics.sentences == len(rows) == TEST_LINES


def test_export_translates_like_evaluation(project):
    """It works without the project, from raw text, and is sealed."""
    verify_bundle(project.export)
    exported = Translator.load(project.export, engine="torch", device="cpu")
    sources = lines(project.corpus / "test.source")

    assert [row[3] for row in translations(project)] == exported.translate_sentences(sources)
    assert project.metrics["export"]["golden_sentences"] == 4
    assert exported.confidence_model == project.metrics["evaluate"].confidence.model


def test_long_and_empty_pairs_leave_only_training(tmp_path):
    for split in ("train", "validation"):
        files.write_lines(tmp_path / f"{split}.source", ["a b", "", "a b c", "a"])
        files.write_lines(tmp_path / f"{split}.target", ["a", "a", "a", "a b c"])
    words = Vocabulary([*SPECIALS, "a", "b"])
    for side in paths.SIDES:
        words.save(tmp_path / "vocabulary" / f"{side}.txt")
    settings = config.build(shard.ShardParams, {"max_length": 2}, at="shard")
    found = shard.run(
        settings,
        corpora=count_lines(tmp_path),
        tokenized=tmp_path,
        vocabulary=tmp_path / "vocabulary",
        shards=tmp_path / "shards",
        workers=WorkersConfig(),
    )

    assert (found["train_pairs"], found["empty"], found["too_long"]) == (1, 1, 2)
    assert found["validation_pairs"] == 4


def test_missing_training_pairs_are_reported(tmp_path):
    for split in ("train", "validation"):
        for side in paths.SIDES:
            files.write_lines(tmp_path / f"{split}.{side}", ["a b c"])
            Vocabulary([*SPECIALS, "a"]).save(tmp_path / "vocabulary" / f"{side}.txt")
    settings = config.build(shard.ShardParams, {"max_length": 2}, at="shard")

    with pytest.raises(CorpusError, match=r"no train pair is left .*raise shard\.max_length"):
        shard.run(
            settings,
            corpora=count_lines(tmp_path),
            tokenized=tmp_path,
            vocabulary=tmp_path / "vocabulary",
            shards=tmp_path / "shards",
            workers=WorkersConfig(),
        )
    assert not (tmp_path / "shards").exists()
