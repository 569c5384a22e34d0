"""Beam search by CTranslate2 over a part of the target's tokens."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError
from nmt_core.search.ctranslate2 import load_ctranslate2
from nmt_core.search.engine import SCORES, SHORTLIST, Request
from nmt_core.search.settings import BeamConfig
from nmt_core.text.aligner.learning import Shortlist
from nmt_core.text.vocabulary import EOS, SPECIALS, UNK
from tests.unit.search.test_ctranslate2 import GREEDY, QUIET, WORDS, pair, requests

LETTERS = range(len(SPECIALS), len(WORDS))
BEAM = BeamConfig(beam_size=4, n_best=3)


def draw_shortlist(seed=0):
    """Return a shortlist of some letters for each source letter."""
    draw = np.random.default_rng(seed)
    lists = {one: draw.choice(LETTERS, 3, replace=False).tolist() for one in LETTERS}
    return Shortlist(draw.choice(LETTERS, 4, replace=False).tolist(), lists)


def list_allowed(shortlist, request):
    return {*shortlist.always}.union(*(shortlist.translations.get(n, ()) for n in request.source))


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    shortlist = draw_shortlist()
    folder = tmp_path_factory.mktemp("short")
    return shortlist, pair(folder, {}, shortlist=shortlist)[1]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"unknown": "write"},
        {"no_repeat_ngram_size": 1},
        {"no_repeat_ngram_size": 2, "length_penalty": 0.6},
        {"max_length_factor": 0.4, "max_length_offset": 2},
    ],
)
def test_a_list_of_all_tokens_changes_nothing(tmp_path, changes):
    """In any order of the list."""
    everything = [*np.random.default_rng(1).permutation(LETTERS).tolist()]
    _, plain = pair(tmp_path / "plain", {}, likely=EOS)
    _, listed = pair(tmp_path / "listed", {}, shortlist=Shortlist(everything, {}))
    search = BEAM.model_copy(update=changes)
    asked = requests(20)
    wanted = QUIET | {"attention": True, "probabilities": True}
    one, other = (engine.search(asked, search, **wanted) for engine in (plain, listed))

    assert (plain.has_shortlist, listed.has_shortlist) == (False, True)
    for mine, its in zip(one, other, strict=True):
        assert [each.tokens for each in mine] == [each.tokens for each in its]
        assert [each.score for each in mine] == pytest.approx([e.score for e in its], abs=1e-4)
        for first, second in zip(mine, its, strict=True):
            assert first.token_log_probs == pytest.approx(second.token_log_probs, abs=1e-4)
            assert np.allclose(first.attention, second.attention, atol=1e-4)


def test_translations_consist_of_listed_tokens(short):
    shortlist, engine = short
    asked = requests(40)
    found = [*map(list, engine.search(asked, BEAM, **QUIET | {"batch_tokens": 10_000}))]
    kept = [
        {*each.tokens} <= list_allowed(shortlist, request)
        for request, several in zip(asked, found, strict=True)
        for each in several
    ]

    assert all(kept)
    assert len({each.tokens for several in found for each in several}) > 20


@settings(max_examples=10)
@given(st.lists(st.integers(0, 29), max_size=30), st.sampled_from([1, 4]))
def test_a_sentence_translates_alike_in_any_batch(short, chosen, beam_size):
    """Tokens of other sentences do not count; products of other sizes may round differently."""
    _, engine = short
    search = BeamConfig(beam_size=beam_size)
    everything = requests(30)
    alone = [[*engine.search([request], search, **QUIET)[0]] for request in everything]
    together = QUIET | {"batch_tokens": 10_000}
    found = [*map(list, engine.search([everything[n] for n in chosen], search, **together))]

    assert [[each.tokens for each in several] for several in found] == [
        [each.tokens for each in alone[n]] for n in chosen
    ]
    if beam_size > 1:
        scores = [several[0].score for several in found]
        assert scores == pytest.approx([alone[n][0].score for n in chosen], rel=1e-5)


def test_greedy_search_uses_all_tokens(short, tmp_path):
    _, engine = short
    _, plain = pair(tmp_path, {})
    one, other = (each.search(requests(30), GREEDY, **QUIET) for each in (engine, plain))

    assert [best for [best] in one] == [best for [best] in other]


def test_scores_are_corrected_to_all_tokens(short):
    _, engine = short
    shifted = replace(engine, score_shift=0.25)
    for search, shift in ((BEAM, 0.25), (GREEDY, 0.0)):
        one, other = (each.search(requests(60), search, **QUIET) for each in (engine, shifted))
        differences = [
            mine.score - its.score
            for request, [mine, *_], [its, *_] in zip(requests(60), one, other, strict=True)
            if len(mine.tokens) + 1 < search.limit_length(len(request.source))
        ]

        assert len(differences) > 5
        assert differences == pytest.approx([shift] * len(differences))


def test_a_sealed_shortlist_is_read(tmp_path):
    pair(tmp_path, {}, shortlist=draw_shortlist())
    folder = tmp_path / "float32"
    for scores, patience in (({"shift": 0.125}, 1.4), ({"shift": 0.125, "patience": 1.0}, 1.0)):
        (folder / SCORES).write_text(json.dumps(scores))
        assert (load(folder).score_shift, load(folder).patience) == (0.125, patience)
    for wrong in (
        '{"shift": "x"}',
        '{"patience": 0.5}',
        '{"other": 1}',
        "[]",
        '{"shift": NaN}',
        "{",
    ):
        (folder / SCORES).write_text(wrong)
        with pytest.raises(BundleError, match=SCORES):
            load(folder)


def load(folder):
    return load_ctranslate2(folder, WORDS, WORDS, name="float32", device="cpu", threads=1)


@pytest.mark.parametrize(
    ("line", "named"), [("a\tb zz", "zz"), ("zz\ta", "zz"), ("\tzz", "zz"), ("a", "")]
)
def test_a_forged_shortlist_is_refused(tmp_path, line, named):
    """A shortlist without an entry for some token is valid."""
    pair(tmp_path, {}, shortlist=Shortlist([*LETTERS], {}))
    path = tmp_path / "float32" / SHORTLIST
    path.write_text(f"{path.read_text()}{line}\n")
    if not named:
        assert load(path.parent).has_shortlist
        return
    with pytest.raises(
        BundleError, match=f"{SHORTLIST} has '{named}', which is not in the vocabulary"
    ):
        load(path.parent)


def test_unknown_words_allow_the_common_tokens(short):
    shortlist, engine = short
    [[best, *_]] = engine.search([Request([UNK, EOS])], BEAM, **QUIET)

    assert {*best.tokens} <= {*shortlist.always}
