"""The corpus of corrections: garbage and leaks stay out, and every loss is reported."""

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
FILTERS = FilterConfig()


def read_pairs_of(folder, name):
    """Return the pairs of two files named after their sides."""
    sides = (files.read_lines(folder / f"{name}.{side}") for side in ("source", "target"))
    return [*zip(*sides, strict=True)]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Training text, and other pairs of its kind, as users would correct them."""
    made = draw_corpus()
    folder = tmp_path_factory.mktemp("corpus")
    splits = {**made, "train": made["train"][:PAIRS]}
    for split, pairs in splits.items():
        for number, side in enumerate(paths.SIDES):
            files.write_lines(folder / f"{split}.{side}", (pair[number] for pair in pairs))
    counts = {split: len(pairs) for split, pairs in splits.items()}
    files.write_json(folder / "corpus.json", {"pairs": counts})
    return folder, made["train"][PAIRS : PAIRS + CORRECTIONS]


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


def config(journal, **given):
    return LearningConfig(journal=journal.path, **given)


def test_garbage_is_dropped_and_corrections_are_learnt(text, tmp_path):
    corpus, sound = text
    journal, garbage = CorrectionJournal(tmp_path / "c.jsonl"), [*spoil(sound[:60])]
    give(journal, sound[60:])
    bad = give(journal, garbage)
    folder = tmp_path / "corrections"
    written = write_corrections(config(journal), [DE_EN], FILTERS, corpus=corpus, folder=folder)
    learnt = {*read_pairs_of(folder, "corrections")}
    kept = learnt | {*zip(*read_held_out(folder)[:2], strict=True)}
    kept_garbage = sum((s, " ".join(t.split())) in kept for s, t in garbage)
    assert kept_garbage <= 0.1 * len(garbage)
    near = written.dropped.get("near_held_out", 0)
    assert len(kept) - kept_garbage >= 0.97 * (len(sound) - 60) - near
    assert written.learnt == len(learnt) == len(written.ids)
    assert written.given == len(sound)
    assert written.learnt + written.held_out + sum(written.dropped.values()) == written.given
    journal.decide("dropped", bad[:3])
    again = write_corrections(config(journal), [DE_EN], FILTERS, corpus=corpus, folder=folder)
    assert again.dropped["dropped_by_hand"] == 3


def test_test_sentences_are_not_learnt_and_reported(text, tmp_path):
    corpus, sound = text
    [tested, *_] = read_pairs_of(corpus, "test")
    known = [*read_pairs_of(corpus, "train")][5]
    journal = CorrectionJournal(tmp_path / "c.jsonl")
    give(journal, [tested, known, *sound[:40]])
    journal.suggest(
        Suggestion(languages=EN_DE, source="a", target="b"),
        Suggestion(languages=DE_EN, source=sound[3].source, target="Something newer."),
    )
    folder = tmp_path / "corrections"
    few = config(journal, undecided=False)
    assert not write_corrections(few, [DE_EN], FILTERS, corpus=corpus, folder=folder).learnt
    written = write_corrections(config(journal), [DE_EN], FILTERS, corpus=corpus, folder=folder)
    assert tested not in read_pairs_of(folder, "corrections")
    assert written.dropped["also_tested"] == 1
    assert written.dropped["superseded"] == written.dropped["other_languages"] == 1
    assert written.examples["also_tested"] == [tested]


CHANGES = ({"share": 0.3}, {"passes": 20}, {"learning_rate": 0.002})


def test_digest_changes_with_corrections_settings_and_gate(text, tmp_path, monkeypatch):
    monkeypatch.setattr(correction_corpus, "learn_screen_of_corpus", lambda *_: None)
    corpus, sound = text
    journal, folder = CorrectionJournal(tmp_path / "c.jsonl"), tmp_path / "corrections"

    def digest(pairs, gate=GateConfig(), **changed):
        give(journal, pairs)
        learning = config(journal, **changed)
        written = write_corrections(learning, [DE_EN], FILTERS, corpus=corpus, folder=folder)
        return digest_judged(written, learning, gate)

    first = digest(sound[:50])
    assert digest(sound[:50], least=9) == first
    others = [digest([], **changed) for changed in CHANGES]
    others += [digest([], GateConfig(minimum_effect=0.1)), digest(sound[50:90])]
    assert len({first, *others}) == len(others) + 1


def test_training_continues_from_the_champion(text, tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    corpus, sound = text
    journal, folder = CorrectionJournal(tmp_path / "c.jsonl"), tmp_path / "corrections"
    give(journal, sound[:100])
    learning = config(journal, share=0.25, passes=40)
    written = write_corrections(learning, [DE_EN], FILTERS, corpus=corpus, folder=folder)
    before = read_settings()
    values = compose_learning(
        before, written, learning, champion="d" * 64, pairs=3000.0, folder=folder
    )
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
    few = compose_learning(before, short, learning, champion="d" * 64, pairs=9.0, folder=folder)
    assert few["train"]["budget"] == {"tokens": 50_000}
    assert train.model == build_all(before, source="test")["train"].model
    assert "corrections" not in before["download"]["corpora"]
    with pytest.raises(ConfigError, match="reserved for corrections"):
        compose_learning(values, written, learning, champion="d" * 64, pairs=1.0, folder=folder)


def test_each_direction_has_a_corpus(text, tmp_path, monkeypatch):
    """Garbage is judged by text of its direction, and no held-out sentence is learnt in another."""
    monkeypatch.chdir(PROJECT)
    corpus, sound = text
    both, folder = tmp_path / "both", tmp_path / "corrections"
    for split in paths.SPLITS:
        there = read_pairs_of(corpus, split)
        for number, side in enumerate(paths.SIDES):
            lines = [pair[order] for order in (number, 1 - number) for pair in there]
            files.write_lines(both / f"{split}.{side}", lines)
    counts = files.read_json(corpus / "corpus.json")["pairs"]
    described = {"corpora": [counts, counts], "directions": ["de-en", "en-de"]}
    pairs = {split: 2 * n for split, n in counts.items()}
    files.write_json(both / "corpus.json", {"pairs": pairs, **described})
    journal, garbage = CorrectionJournal(tmp_path / "c.jsonl"), [*spoil(sound[:40])]
    give(journal, [*sound[40:140], *garbage])
    back = [(target, source) for source, target in sound[100:160]]
    journal.suggest(*(Suggestion(languages=EN_DE, source=s, target=t) for s, t in back))

    written = write_corrections(
        config(journal), [DE_EN, EN_DE], FILTERS, corpus=both, folder=folder
    )

    learnt = {each: {*read_pairs_of(folder, f"corrections-{each}")} for each in ("de-en", "en-de")}
    assert {each: len(pairs) for each, pairs in learnt.items()} == written.directions
    assert len(learnt["de-en"] & {*garbage}) <= 4
    assert len(learnt["de-en"]) > 60
    assert learnt["en-de"] <= {*back}
    held_out = read_held_out(folder)
    assert {*held_out.directions} == {"de-en", "en-de"}
    lines = {line for pairs in learnt.values() for pair in pairs for line in pair}
    assert not lines & {*held_out.sources, *held_out.references}
    values = read_settings()
    train = {side: f"{corpus}/train.{side}" for side in paths.SIDES}
    values["download"] |= {
        "languages": {"source": "mul", "target": "mul"},
        "directions": ["de-en", "en-de"],
        "corpora": {
            "own": {"kind": "files", "languages": "de-en", "licence": "own", "train": train}
        },
    }
    composed = compose_learning(
        values, written, config(journal), champion="d" * 64, pairs=1200.0, folder=folder
    )
    uses = build_all(composed, source="test")["download"].uses
    own = {use.name: use.languages for use in uses if use.name.startswith("corrections")}
    assert own == {"corrections-de-en": DE_EN, "corrections-en-de": EN_DE}


def test_writing_style_of_users_stops_nothing(text, tmp_path, monkeypatch):
    """All in lower case, and more corrections than an inspection or a screen needs."""
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(correction_corpus, "learn_screen_of_corpus", lambda *_: None)
    corpus, sound = text
    journal, folder = CorrectionJournal(tmp_path / "c.jsonl"), tmp_path / "corrections"
    give(journal, [(source, target.lower()) for source, target in sound[:80]])
    written = write_corrections(config(journal), [DE_EN], FILTERS, corpus=corpus, folder=folder)
    values = read_settings()
    own = {
        split: {side: f"{corpus}/{split}.{side}" for side in paths.SIDES} for split in paths.SPLITS
    }
    values["download"]["corpora"] = {"own": {"kind": "files", "licence": "own", **own}}
    values["download"]["filter"] |= {"look": {}, "screen": {"sample_pairs": 1000}, "max_words": 99}
    composed = compose_learning(
        values, written, config(journal), champion="d" * 64, pairs=1200.0, folder=folder
    )
    params = build_all(composed, source="test")["download"]
    places = {name: tmp_path / name for name in ("corpus", "vectors", "downloads")}
    measured = download.run(params, **places, workers=WorkersConfig(processes=1))
    assert measured.corpora["corrections"].pairs["train"] >= 50
    filters = {name: one.choose_filter(params.filter) for name, one in params.corpora.items()}
    assert filters["own"].look
    assert (filters["corrections"].look, filters["corrections"].screen) == (None, None)
    assert filters["corrections"].max_words == 99


def test_the_mixture_keeps_its_temperature(monkeypatch):
    monkeypatch.chdir(PROJECT)
    before = read_settings()
    before["train"]["mixture"]["temperature"] = 2.0
    written = CorrectionCorpus(
        digest="d", ids=[], learnt=9, held_out=1, words=9, given=10, dropped={}, examples={}
    )
    values = compose_learning(before, written, LearningConfig(), champion="d" * 64, pairs=30.0)
    train = build_all(values, source="test")["train"]
    assert train.mixture.temperature == 2.0
    assert values["download"]["corpora"]["corrections"]["weight"] == pytest.approx(
        (0.15 / 0.85 * 30) ** 2 / 9
    )
