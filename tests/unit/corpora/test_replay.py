"""Text of an earlier training is mixed into a training that continues its model."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base import files
from nmt_core.base.config import build
from nmt_core.corpora.filters import make_comparison_key
from nmt_core.corpora.reading import TEXTS, TrainedText, list_replayed, read_texts, weigh_replayed
from stages.params import DownloadParams
from tests.support.bringing import bring
from tests.support.tiny import export

LANGUAGES = {"source": "de", "target": "en"}
QUARTERS = {"validation_per_10000": 2500.0, "test_per_10000": 2500.0}


@pytest.fixture
def old(tmp_path):
    """The text of an earlier training, as its export names it."""
    path = tmp_path / "old.tsv"
    path.write_text("".join(f"alter Satz {n}\told sentence {n}\n" for n in range(200)))
    values = settings({"old": files_corpus(path)}, split=QUARTERS)
    return build(DownloadParams, values, at="download").pinned()


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("".join(f"neuer Satz {n}\tnew sentence {n}\n" for n in range(40)))
    return files_corpus(path)


def files_corpus(path):
    return {"kind": "files", "licence": "own", "train": {"source": str(path)}}


def settings(corpora, **others):
    near = {"distance": 0.0}
    return {"languages": LANGUAGES, "corpora": corpora, "near_duplicates": near, **others}


def named(params):
    """Return text in the format of an export."""
    whole = params.model_dump(mode="json")
    return {name: whole[name] for name in ("languages", "corpora", "filter", "split")}


def train_on(folder, params, text):
    files.write_json(folder / TEXTS, text)
    measured, pairs = bring(params, folder, texts=read_texts(folder))
    return measured, {split: [*chain(*found)] for split, found in pairs.items()}


def going_on(corpora, **start):
    initial = {"kind": "bundle", "folder": "somewhere", **start}
    return build(
        DownloadParams, settings(corpora, initial_model=initial, split=QUARTERS), at="download"
    )


def test_old_text_has_its_share_without_test_sentences(tmp_path, old, new):
    _, before = train_on(tmp_path / "before", old, [])
    measured, lines = train_on(tmp_path / "after", going_on({"own": new}, replay=0.6), [named(old)])

    corpora = measured["corpora"]
    assert [*corpora] == ["own", "replay-old"]
    assert "replay-old (own)" in measured["corpus"]["text"]  # for the card of the model
    read = {name: one["weight"] * one["pairs"]["train"] for name, one in corpora.items()}
    assert read["replay-old"] / sum(read.values()) == pytest.approx(0.6)
    learnt = {*map(make_comparison_key, lines["train"])}
    for split in ("validation", "test"):
        assert not learnt & {*map(make_comparison_key, before[split])}
        assert all("neu" in line or "new" in line for line in lines[split])
    assert {line for line in lines["train"] if "alt" in line or "old" in line} == {*before["train"]}


def test_earlier_held_out_sentences_leave_new_text(tmp_path, old):
    _, before = train_on(tmp_path / "before", old, [])
    path = tmp_path / "same.tsv"
    path.write_text("".join(f"alter Satz {n}\tanother {n}\n" for n in range(200)))
    split = {"salt": "another", **QUARTERS}
    values = settings(
        {"own": files_corpus(path)}, initial_model={"kind": "bundle", "folder": "x"}, split=split
    )
    params = build(DownloadParams, values, at="download")
    measured, lines = train_on(tmp_path / "after", params, [named(old)])

    assert measured["removed"]["train"]["held_out_before"] > 10
    assert not {*lines["train"]} & {*before["test"], *before["validation"]}


def test_identical_old_and_new_text_is_accepted(tmp_path, old):
    path = tmp_path / "copy.tsv"
    path.write_text((tmp_path / "old.tsv").read_text() + "neu\tnew\n")
    measured, _ = train_on(tmp_path / "after", going_on({"own": files_corpus(path)}), [named(old)])

    assert measured["corpora"]["replay-old"]["pairs"]["train"] == 0
    assert measured["corpora"]["replay-old"]["weight"] == 0


def test_missing_text_is_reported_and_the_rest_used(tmp_path, old, new, caplog):
    (tmp_path / "old.tsv").write_text("anders\tother\n")
    more = tmp_path / "more.tsv"
    more.write_text("".join(f"mehr {n}\tmore {n}\n" for n in range(9)))
    text = named(old)
    text["corpora"]["more"] = files_corpus(more)
    measured, _ = train_on(tmp_path / "after", going_on({"own": new}), [text])

    assert [*measured["corpora"]] == ["own", "replay-more"]
    assert "old, on which the initial model was trained, is no longer available" in caplog.text
    assert "changed since params.yaml was written" in caplog.text


def test_text_in_both_trainings_is_read_once(old, new):
    present = old.corpora | going_on({"own": new}).corpora
    text = build_text(named(old))
    assert [*list_replayed([text, text], present, [old.languages])] == []
    corpus = old.corpora["old"]
    train = corpus.train.model_copy(update={"sha256": "0" * 64})
    grown = {"old": corpus.model_copy(update={"train": train})}
    assert [*list_replayed([text], grown, [old.languages])] == []
    assert [name for name, _ in list_replayed([text, text], {}, [old.languages])] == ["replay-old"]
    unread = {"old": old.corpora["old"].model_copy(update={"weight": 0.0})}
    assert [
        *list_replayed([text.model_copy(update={"corpora": unread})], {}, [text.languages])
    ] == []
    french = old.languages.model_copy(update={"source": "fr"})
    assert [*list_replayed([text], {}, [french])] == []
    taken = {"replay-old": going_on({"own": new}).corpora["own"]}
    [(name, _)] = list_replayed([text], taken, [old.languages])
    assert name not in taken


def build_text(values):
    return build(TrainedText, values, at="text")


def test_a_share_of_zero_replays_nothing(tmp_path, old, new):
    measured, _ = train_on(tmp_path / "after", going_on({"own": new}, replay=0.0), [named(old)])
    assert [*measured["corpora"]] == ["own"]


@given(
    sizes=st.lists(st.tuples(st.floats(0.1, 9), st.integers(1, 999)), min_size=2, max_size=5),
    share=st.floats(0.05, 0.95),
)
def test_replayed_corpora_have_their_share_together(sizes, share):
    weights = {str(n): weight for n, (weight, _) in enumerate(sizes)}
    pairs = {str(n): count for n, (_, count) in enumerate(sizes)}
    replayed = dict.fromkeys([*weights][1:])
    found = weigh_replayed(weights, pairs, replayed, share)
    read = {name: found[name] * pairs[name] for name in found}
    assert sum(read[name] for name in replayed) / sum(read.values()) == pytest.approx(share)
    assert found["0"] == weights["0"]


def test_an_export_names_its_text(tmp_path, old):
    folder = export(tmp_path / "model", texts=[named(old)])
    assert [text.corpora for text in read_texts(folder)] == [old.corpora]
    assert read_texts(tmp_path) == []
