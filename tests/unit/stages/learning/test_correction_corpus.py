"""The corpus of corrections: garbage and leaks stay out, and every loss is reported."""

from pathlib import Path

import pytest

from nmt_core.base import files
from nmt_core.base.errors import ConfigError
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.languages import Languages
from nmt_core.corpora.filters import FilterConfig
from nmt_core.evaluation.registry import GateConfig
from nmt_core.translation.memory.journal import CorrectionJournal, Suggestion
from stages import download, paths
from stages.configure.sections import build_all, read_settings
from stages.learning import correction_corpus
from stages.learning.correction_corpus import (
    FOLDER,
    CorrectionCorpus,
    LearningConfig,
    compose_learning,
    digest_judged,
    read_held_out,
    write_corrections,
)
from tests.support.demo import draw_corpus
from tests.support.projects import PROJECT

DE_EN = Languages(source="de", target="en")
EN_DE = Languages(source="en", target="de")
PAIRS, CORRECTIONS = 1200, 240


def read_pairs_of(folder, name):
    """Return the pairs of two files named after their sides."""
    sides = (files.read_lines(folder / f"{name}.{side}") for side in ("source", "target"))
    return [*zip(*sides, strict=True)]


def write_corpus(splits, **described):
    """Write the text of an earlier model."""
    for split, pairs in splits.items():
        for number, side in enumerate(paths.SIDES):
            lines = (pair[number] for pair in pairs)
            files.write_lines(paths.CORPUS / f"{split}.{side}", lines)
    counts = {split: len(pairs) for split, pairs in splits.items()}
    files.write_json(paths.CORPUS / "corpus.json", {"pairs": counts, **described})


@pytest.fixture
def sound(project):
    """Other pairs of the kind of the training text, as users would correct them."""
    made = draw_corpus()
    write_corpus({**made, "train": made["train"][:PAIRS]})
    for name in ("conf", "params.yaml"):
        (project / name).symlink_to(PROJECT / name)
    return made["train"][PAIRS : PAIRS + CORRECTIONS]


@pytest.fixture
def journal(project):
    return CorrectionJournal(LearningConfig().journal)


RUSSIAN = "Комиссия не отвечает на вопросы этого докладчика, и парламент ждёт."


def spoil(pairs):
    """Return pairs with garbage of five kinds in place of corrections, in turn."""
    for number, (source, target) in enumerate(pairs):
        other = pairs[(number + 7) % len(pairs)].target
        repeated = " ".join(target.split()[:2] * 9)
        yield source, ["aaaaaaaa " * 4, source, RUSSIAN, other, repeated][number % 5]


def give(journal, pairs, **given):
    return journal.suggest(
        *(Suggestion(languages=DE_EN, source=s, target=t, **given) for s, t in pairs)
    )


def write(directions=(DE_EN,), **learning):
    return write_corrections(LearningConfig(**learning), directions, FilterConfig())


def compose(values, written, *, pairs=1200.0, **learning):
    config = LearningConfig(**learning)
    return compose_learning(values, written, config, champion="d" * 64, pairs=pairs)


def test_garbage_is_dropped_and_corrections_are_learnt(sound, journal):
    garbage = [*spoil(sound[:60])]
    give(journal, sound[60:])
    bad = give(journal, garbage)
    written = write()
    learnt = {*read_pairs_of(FOLDER, "corrections")}
    kept = learnt | {*zip(*read_held_out()[:2], strict=True)}
    kept_garbage = sum((s, " ".join(t.split())) in kept for s, t in garbage)
    assert kept_garbage <= 0.1 * len(garbage)
    near = written.dropped.get("near_held_out", 0)
    assert len(kept) - kept_garbage >= 0.97 * (len(sound) - 60) - near
    assert written.learnt == len(learnt) == len(written.ids)
    assert written.given == len(sound)
    assert written.learnt + written.held_out + sum(written.dropped.values()) == written.given
    journal.decide("dropped", bad[:3])
    again = write()
    assert again.dropped["dropped_by_hand"] == 3


def test_test_sentences_are_not_learnt_and_reported(sound, journal):
    [tested, *_] = read_pairs_of(paths.CORPUS, "test")
    known = [*read_pairs_of(paths.CORPUS, "train")][5]
    give(journal, [tested, known, *sound[:40]])
    journal.suggest(
        Suggestion(languages=EN_DE, source="a", target="b"),
        Suggestion(languages=DE_EN, source=sound[3].source, target="Something newer."),
    )
    assert not write(undecided=False).learnt
    written = write()
    assert tested not in read_pairs_of(FOLDER, "corrections")
    assert written.dropped["also_tested"] == 1
    assert written.dropped["superseded"] == written.dropped["other_languages"] == 1
    assert written.examples["also_tested"] == [tested]


CHANGES = ({"share": 0.3}, {"passes": 20}, {"learning_rate": 0.002})


def test_digest_changes_with_corrections_settings_and_gate(sound, journal, monkeypatch):
    monkeypatch.setattr(correction_corpus, "learn_screen_of_corpus", lambda *_: None)

    def digest(pairs, gate=GateConfig(), **changed):
        give(journal, pairs)
        return digest_judged(write(**changed), LearningConfig(**changed), gate)

    first = digest(sound[:50])
    assert digest(sound[:50], least=9) == first
    others = [digest([], **changed) for changed in CHANGES]
    others += [digest([], GateConfig(minimum_effect=0.1)), digest(sound[50:90])]
    assert len({first, *others}) == len(others) + 1


def test_training_continues_from_the_champion(sound, journal, monkeypatch):
    give(journal, sound[:100])
    learning = {"share": 0.25, "passes": 40}
    written, before = write(), read_settings()
    values = compose(before, written, pairs=3000.0, **learning)
    sections = build_all(values, source="test")
    download, train = sections["download"], sections["train"]
    assert (download.initial_model.kind, download.initial_model.sha256) == ("champion", "d" * 64)
    assert sections["tokenize"].kind == sections["vocabulary"].words == "initial_model"
    read = {name: one.weight for name, one in download.corpora.items()}
    taught = read.pop("corrections") * written.learnt
    assert taught / (taught + 3000) == pytest.approx(0.25)
    assert [*read] == [*before["download"]["corpora"]]
    assert train.budget.tokens == int(40 * written.words * 1.5 / 0.25)
    assert (train.optimizer.kind, train.schedule.learning_rate) == ("muon", 0.001)
    # the earlier text never ends training
    assert (train.training.validate_every, train.training.patience) == (1_000_000, None)
    short = written.model_copy(update={"words": 10})
    few = compose(before, short, **learning)
    assert few["train"]["budget"] == {"tokens": 50_000}
    assert train.model == build_all(before, source="test")["train"].model
    assert "corrections" not in before["download"]["corpora"]
    with pytest.raises(ConfigError, match="reserved for corrections"):
        compose(values, written, **learning)


def test_each_direction_has_a_corpus(sound, journal, monkeypatch):
    """Garbage is judged by text of its direction, and no held-out sentence is learnt in another."""
    own = {split: read_pairs_of(paths.CORPUS, split) for split in paths.SPLITS}
    counts = {split: len(pairs) for split, pairs in own.items()}
    both = {split: [*pairs, *(pair[::-1] for pair in pairs)] for split, pairs in own.items()}
    write_corpus(both, corpora=[counts, counts], directions=["de-en", "en-de"])
    garbage = [*spoil(sound[:40])]
    give(journal, [*sound[40:140], *garbage])
    back = [(target, source) for source, target in sound[100:160]]
    journal.suggest(*(Suggestion(languages=EN_DE, source=s, target=t) for s, t in back))

    written = write([DE_EN, EN_DE])

    learnt = {each: {*read_pairs_of(FOLDER, f"corrections-{each}")} for each in ("de-en", "en-de")}
    assert {each: len(pairs) for each, pairs in learnt.items()} == written.directions
    assert len(learnt["de-en"] & {*garbage}) <= 4
    assert len(learnt["de-en"]) > 60
    assert learnt["en-de"] <= {*back}
    held_out = read_held_out()
    assert {*held_out.directions} == {"de-en", "en-de"}
    lines = {line for pairs in learnt.values() for pair in pairs for line in pair}
    assert not lines & {*held_out.sources, *held_out.references}
    values = read_settings()
    train = {side: f"{paths.CORPUS}/train.{side}" for side in paths.SIDES}
    values["download"] |= {
        "languages": {"source": "mul", "target": "mul"},
        "directions": ["de-en", "en-de"],
        "corpora": {
            "own": {"kind": "files", "languages": "de-en", "licence": "own", "train": train}
        },
    }
    composed = compose(values, written)
    uses = build_all(composed, source="test")["download"].uses
    own = {use.name: use.languages for use in uses if use.name.startswith("corrections")}
    assert own == {"corrections-de-en": DE_EN, "corrections-en-de": EN_DE}


def test_writing_style_of_users_stops_nothing(sound, journal, monkeypatch):
    """All in lower case, and more corrections than an inspection or a screen needs."""
    monkeypatch.setattr(correction_corpus, "learn_screen_of_corpus", lambda *_: None)
    give(journal, [(source, target.lower()) for source, target in sound[:80]])
    written = write()
    values = read_settings()
    own = {
        split: {side: f"{paths.CORPUS}/{split}.{side}" for side in paths.SIDES}
        for split in paths.SPLITS
    }
    values["download"]["corpora"] = {"own": {"kind": "files", "licence": "own", **own}}
    values["download"]["filter"] |= {"look": {}, "screen": {"sample_pairs": 1000}, "max_words": 99}
    composed = compose(values, written)
    params = build_all(composed, source="test")["download"]
    places = {name: Path("made") / name for name in ("corpus", "vectors", "downloads")}
    measured = download.run(params, **places, workers=WorkersConfig(processes=1))
    assert measured.corpora["corrections"].pairs["train"] >= 50
    filters = {name: one.choose_filter(params.filter) for name, one in params.corpora.items()}
    assert filters["own"].look
    assert (filters["corrections"].look, filters["corrections"].screen) == (None, None)
    assert filters["corrections"].max_words == 99


def test_the_mixture_keeps_its_temperature(sound):
    before = read_settings()
    before["train"]["mixture"]["temperature"] = 2.0
    written = CorrectionCorpus(
        digest="d", ids=[], learnt=9, held_out=1, words=9, given=10, dropped={}, examples={}
    )
    values = compose(before, written, pairs=30.0)
    train = build_all(values, source="test")["train"]
    assert train.mixture.temperature == 2.0
    assert values["download"]["corpora"]["corrections"]["weight"] == pytest.approx(
        (0.15 / 0.85 * 30) ** 2 / 9
    )
