"""Scheduled retraining: promotions, rejections, errors, and two challengers at once.

Each fixture continues from those before it; tests check its results. The text has a made-up
language, of which a model knows nothing after five steps, and most after some hundred.
"""

import fcntl
import random
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import Any

import pytest

from nmt_core.base import files, seal
from nmt_core.base.languages import Languages
from nmt_core.translation.memory.journal import CorrectionJournal, Suggestion
from stages import paths
from stages.registry.registry import Registry

WORDS = ["".join(letters) for letters in product("bdfgklmn", "aeo")]
"""Each word's translation has the same letters in reverse."""

PAIRS = {"train-1": 300, "train-2": 200, "validation": 10, "test": 80, "other": 80}

LANGUAGES = Languages(source="qaa", target="qab")
NAME = "nmt-qaa-qab"
"""The language codes do not exist, so no other test uses the registered model."""

TINY = [
    "data=files",
    "model=transformer",
    "download.languages.source=qaa",
    "download.languages.target=qab",
    "download.corpora.files.train.source=text/train-*.src",
    "download.corpora.files.train.target=text/train-*.trg",
    *(
        f"download.corpora.files.{split}.{side}=text/{split}.{ending}"
        for split in ("validation", "test")
        for side, ending in (("source", "src"), ("target", "trg"))
    ),
    "download.corpora.files.licence=own",
    "download.filter.look=null",  # an unused language
    "tokenize.subwords.vocab_size=330",
    "train.compute.threads=1",
    "train.compute.precision=float32",
    "train.model.width=64",
    "train.model.heads=2",
    "train.model.feed_forward_width=128",
    "train.model.encoder_layers=1",
    "train.model.decoder_layers=1",
    "train.model.positions=sinusoidal",
    "train.model.dropout=0.0",
    "train.schedule.learning_rate=0.005",
    "train.batching.max_tokens=256",
    "train.training.validate_every=1000",
    "train.training.log_every=100",
    "train.training.validation_sentences=5",
    "evaluate.beam.beam_size=1",
    "evaluate.beam.max_length=20",
    "evaluate.threads=1",
    "evaluate.resamples=10",
    "evaluate.pictures=0",
    "evaluate.choose_length_penalty=false",
    "export.shortlist=null",
    "export.golden_sentences=3",
    "export.engines=[]",
    "workers.processes=1",
]
HARDLY, WELL = "train.budget.steps=5", "train.budget.steps=200"

SECONDS = 1000
"""Seconds for any run on a busy machine."""


@dataclass
class Left:
    """Results of a run: in Prefect, in its clone, and all versions in the registry."""

    run: str
    name: str
    message: str
    log: str
    shown: dict[str, str]
    contest: dict[str, Any] | None
    lock: str
    champion: int
    tags: dict[int, dict[str, str]]


class Retraining:
    """Runs of a deployment that retrains in a clone."""

    def __init__(self, fleet, clone, deployment):
        self.fleet = fleet
        self.clone = clone
        self.deployment = deployment

    def write(self, name, *, to=None):
        """Write text into the clone."""
        for ending, lines in zip(("src", "trg"), TEXT[name], strict=True):
            files.write_lines(self.clone.folder / f"text/{to or name}.{ending}", lines)

    def begin(self, *settings):
        return self.fleet.submit(self.deployment, settings=list(settings) or None)

    def learn(self):
        """Fine-tune on the journal in the clone, and return the results of the run."""
        known = {"undecided": False, "held_out": 0.2, "least": 20, "passes": 40}
        run = self.fleet.submit("learn/learn", learning=known)
        return self.end(run)

    def end(self, run, state="Completed"):
        self.fleet.wait(run, state, seconds=SECONDS)
        until(lambda: self.all_is_said(run))
        registry = Registry(NAME)
        return Left(
            run=run,
            name=self.fleet.api("GET", f"/flow_runs/{run}")["name"],
            message=self.fleet.state(run)["message"],
            log=self.fleet.said(run),
            shown=self.fleet.artifacts(run),
            contest=self.contest(),
            lock=files.sha256(self.clone.folder / paths.LOCK),
            champion=registry.champion().number,
            tags={number: version.tags for number, version in registry.versions().items()},
        )

    def all_is_said(self, run):
        """Tell whether Prefect has the whole log of a run, which arrives after its final state."""
        own = {"flow_run_id": {"any_": [run]}, "task_run_id": {"is_null_": True}}
        said = self.fleet.api("POST", "/logs/filter", logs=own)
        return any(entry["message"].startswith("Finished in state") for entry in said)

    def contests(self):
        """Return the outcomes of all challengers of this clone, by digest."""
        found = map(files.read_json, self.clone.folder.glob("runs/*/promotion.json"))
        return {contest["challenger"]: contest for contest in found}

    def contest(self):
        """Return the outcome of the present export, if it was judged."""
        return self.contests().get(seal.digest_bundle(self.clone.folder / paths.EXPORT))

    @contextmanager
    def nobody_promotes(self):
        """Hold the locks of a promotion in this clone."""
        with (self.clone.folder / paths.REGISTRY_LOCK).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def until(claim):
    end = time.monotonic() + SECONDS
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.5)


def text():
    """Return sentences and their translations, by name, without repeated sentences."""
    draw = random.Random(1)
    pairs = {}
    while len(pairs) < sum(PAIRS.values()):
        words = draw.choices(WORDS, k=draw.randint(3, 6))
        pairs[" ".join(words)] = " ".join(word[::-1] for word in words)
    rest = iter(pairs.items())
    return {name: list(zip(*islice(rest, n), strict=True)) for name, n in PAIRS.items()}


TEXT = text()


@pytest.fixture(scope="module", autouse=True)
def _login(servers):
    """Give this process access to MLflow."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in servers.environment.items():
            if name.startswith("MLFLOW_"):
                patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def here(fleet):
    """A clone with a little text, and a worker of pool cpu in it."""
    retraining = Retraining(fleet, fleet.clone("retrain"), "retrain/retrain")
    (retraining.clone.folder / "text").mkdir()
    for name in ("train-1", "validation", "test"):
        retraining.write(name)
    with fleet.worker(retraining.clone, "cpu", "--limit", "2"):
        yield retraining


@pytest.fixture(scope="module")
def first(here):
    """The first training, without a champion."""
    return here.end(here.begin(*TINY, HARDLY))


@pytest.fixture(scope="module")
def again(here, first):
    return here.end(here.begin())


@pytest.fixture(scope="module")
def renewed(here, again):
    """More text and enough steps; the schedule is due again during the run."""
    here.write("train-2")
    run = here.begin(WELL)
    here.fleet.wait(run, "Running", seconds=SECONDS)
    too_early = here.begin()
    here.fleet.wait(too_early, "Cancelled", seconds=SECONDS)
    both = [here.fleet.state(one) for one in (run, too_early)]
    return here.end(run), both


@pytest.fixture(scope="module")
def there(fleet, here, renewed):
    """A second clone with all results of the first one, and a worker of another pool."""
    clone = fleet.clone("retrain-elsewhere", source=here.clone)
    deployment = fleet.own_deployment("retrain/retrain", "retrain-elsewhere")
    with fleet.worker(clone, "retrain-elsewhere"):
        yield Retraining(fleet, clone, deployment)


@pytest.fixture(scope="module")
def losers(here, there):
    """A worse challenger, and, in the other clone, one with another test set."""
    there.write("other", to="test")
    elsewhere = there.begin(HARDLY)
    worse = here.end(here.begin(HARDLY, "train.seed=2"))
    return worse, there.end(elsewhere, "Failed")


@pytest.fixture(scope="module")
def rolled_back(here, losers):
    here.clone.run("python -m stages.registry rollback --reason 'nobody liked it'")
    return Registry(NAME).champion().number


@pytest.fixture(scope="module")
def overlapping(here, there, rolled_back):
    """Two challengers that are better; promotions are blocked until both are judged.

    Returns the outcomes of both at that time, and their results.
    """
    there.write("test")
    with here.nobody_promotes(), there.nobody_promotes():
        before = [len(one.contests()) for one in (here, there)]
        runs = here.begin(WELL, "train.seed=3"), there.begin(WELL, "train.seed=4")
        for one, known in zip((here, there), before, strict=True):
            until(lambda one=one, known=known: len(one.contests()) > known)
        judged = here.contest(), there.contest()
    return judged, [one.end(run) for one, run in zip((here, there), runs, strict=True)]


NEW_WORDS = [word[::-1] for word in WORDS]
"""Sentences of the text whose translations are not in it."""


@pytest.fixture(scope="module")
def taught(here, overlapping):
    """Corrections, most of them approved; then three fine-tunings, two with new corrections."""
    draw = random.Random(2)
    mixed = [" ".join(draw.choices(NEW_WORDS, k=draw.randint(3, 6))) for _ in range(160)]
    pairs = {line: " ".join(word[::-1] for word in line.split()) for line in mixed}
    tested = dict(zip(*TEXT["test"], strict=True))
    journal = CorrectionJournal(here.clone.folder / "corrections.jsonl")
    ids = journal.suggest(*(as_suggestion(pair) for pair in (pairs | tested).items()))
    journal.decide("approved", ids)
    journal.suggest(as_suggestion(("ba be bo", "aaaa aaaa aaaa aaaa")))
    before = (here.clone.folder / "params.yaml").read_text()
    nights = here.learn(), here.learn()
    return nights, before == (here.clone.folder / "params.yaml").read_text()


@pytest.fixture(scope="module")
def distilled(here, taught):
    """The last model, and the results of a run that trains a student on its translations."""
    here.write("other")
    teacher = seal.digest_bundle(here.clone.folder / paths.EXPORT)
    run = here.fleet.submit(
        "synthesize/synthesize",
        synthesis={"text": ["text/other.src"]},
        student=True,
        settings=[HARDLY],
    )
    return teacher, here.end(run)


def as_suggestion(pair):
    source, target = pair
    return Suggestion(languages=LANGUAGES, source=source, target=target)


def test_first_model_becomes_champion(first):
    tags = first.tags[1]

    assert first.champion == 1
    assert f"{NAME} has no champion yet" == tags["reason"]
    assert f"first: {tags['reason']}" in first.log
    assert f"flow run {first.name}" == tags["promoted_by"]
    assert first.run == tags["promotion"]
    age = datetime.now(UTC) - datetime.fromisoformat(tags["promoted_at"])
    assert timedelta(0) < age < timedelta(hours=1)


def test_nothing_is_trained_without_changes(first, again):
    assert "Running stage" in first.log
    assert "Running stage" not in again.log
    assert "same: version 1, the champion, is the same export" in again.log
    assert first.tags == again.tags
    assert first.lock == again.lock
    assert first.contest == again.contest
    assert again.champion == 1


def test_new_text_is_detected_and_trained_on(renewed):
    left, _ = renewed

    assert "text/train-*.src and text/train-*.trg changed" in left.log
    assert f"pairs: {PAIRS['train-1'] + PAIRS['train-2']} to train" in left.log
    assert "Running stage 'train'" in left.log


def test_better_model_becomes_champion_with_a_reason(renewed):
    left, _ = renewed
    tags = left.tags[2]

    assert left.champion == 2
    assert "1" == tags["previous_champion"]
    assert f"promote: {tags['reason']}" in left.log
    assert left.shown["verdict"].startswith(f"**promote**: {tags['reason']}.")
    assert "test sentences" in left.shown["report"]


def test_overlapping_scheduled_run_is_skipped(renewed):
    _, (meanwhile, too_early) = renewed

    assert meanwhile["name"] == "Running"
    assert "concurrency limit" in too_early["message"]


def test_worse_model_is_rejected(renewed, losers):
    before, _ = renewed
    left, _ = losers

    assert "Running stage 'train'" in left.log
    assert re.search(r"reject: BLEU is \d+\.\d\d lower", left.log)
    assert "**reject**" in left.shown["verdict"]
    assert left.champion == 2
    assert all(left.tags[number] == tags for number, tags in before.tags.items())


def test_another_test_set_is_an_error_before_training(losers):
    _, left = losers

    assert "version 2, the champion, was promoted on another test set" in left.message
    assert "test_set=current" in left.message
    assert "Running stage 'download'" in left.log
    assert "Running stage 'train'" not in left.log
    assert left.champion == 2


def test_rollback_restores_the_previous_champion(rolled_back, overlapping):
    _, left = overlapping
    tags = left[0].tags[2]

    assert rolled_back == 1
    assert "nobody liked it" == tags["rolled_back_reason"]


def test_second_of_two_is_judged_against_the_first(overlapping):
    judged, left = overlapping
    tags = left[-1].tags
    of_run = {one["promotion"]: number for number, one in tags.items() if "promotion" in one}
    [winner] = [of_run[one.run] for one in left if one.contest["champion"] == 1]
    [second] = [one for one in left if one.contest["champion"] == winner]

    assert [("promote", 1)] * 2 == [(one["outcome"], one["champion"]) for one in judged]
    assert "1" == tags[winner]["previous_champion"]
    assert f"from version 1 to version {winner}" in second.log
    assert "judging against the new champion" in second.log
    assert f"{second.contest['outcome']}: {second.contest['reason']}" in second.log
    if second.contest["outcome"] == "promote":
        assert str(winner) == tags[of_run[second.run]]["previous_champion"]
        assert left[-1].champion == of_run[second.run]
    else:
        assert second.run not in of_run
        assert left[-1].champion == winner


def test_corrections_are_trained_on_judged_and_promoted(overlapping, taught):
    """Corrections of the test set are not trained on."""
    _, before = overlapping
    (night, _), same_settings = taught

    assert "promote: on held-out corrections, chrF is" in night.log
    assert night.champion > before[-1].champion
    assert f"flow run {night.name}" == night.tags[night.champion]["promoted_by"]
    report = night.shown["learned"]
    assert f"| already in validation or test | {PAIRS['test']} |" in report
    assert "| superseded" not in report
    assert "held-out corrections | champion | challenger |" in report
    assert same_settings


def test_nothing_is_fine_tuned_without_new_corrections(taught):
    (night, after), _ = taught

    assert "no correction or setting has changed since" in after.log
    assert "Running stage 'train'" not in after.log
    assert after.champion == night.champion


def test_student_learns_what_its_teacher_translates(here, distilled):
    teacher, left = distilled
    folder, lines = here.clone.folder, PAIRS["other"]
    report = files.read_json(folder / "reports/download.json")
    kept = report["corpora"]["distilled"]["pairs"]["train"]

    assert lines / 2 < kept <= lines
    assert f"{kept} of {lines} translations are usable" in left.log
    assert f"| kept | {kept} |" in left.shown["synthesis"]
    [copy] = (folder / "downloads/teachers").iterdir()
    assert seal.digest_bundle(copy) == teacher != seal.digest_bundle(folder / paths.EXPORT)
    assert files.read_json(folder / "models/trained/model.json")["encoder_layers"] == 5
