"""Learning word alignments: the laws of expectation maximisation, and what comes out of it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from nmt_core.alignment.aligner import Aligner
from nmt_core.alignment.batches import pair_text, plan_batches
from nmt_core.alignment.bundle import load_aligner, write_aligner
from nmt_core.alignment.learning import JUMP_SMOOTHING, Learner, learn_aligner
from nmt_core.alignment.lexicon import measure_priors
from nmt_core.alignment.settings import AlignerConfig
from nmt_core.alignment.words import cut_line
from nmt_core.errors import BundleError, CorpusError

WORDS = {"das": "the", "haus": "house", "hund": "dog", "sieht": "sees", "rote": "red", "er": "he"}
ORDERS = [
    ("das rote haus", "the house red"),
    ("er sieht das haus", "he sees the house"),
    ("das haus", "the house"),
    ("er sieht das rote haus .", "he sees the house red ."),
    ("das sieht er", "he sees the"),
    ("das haus sieht er", "he sees the house"),
]
PAIRS = [
    *ORDERS,
    *((one.replace("haus", "hund"), other.replace("house", "dog")) for one, other in ORDERS),
]


@pytest.fixture(scope="module")
def learnt():
    return learn_aligner(PAIRS)


def prepare(config):
    pieces = [[cut_line(line).spelt for line in pair] for pair in PAIRS]
    words = [sorted({word for pair in pieces for word in pair[side]}) for side in (0, 1)]
    numbers = [
        [np.array([words[side].index(word) for word in pair[side]]) for pair in pieces]
        for side in (0, 1)
    ]
    text = pair_text(*numbers, len(words[1]))
    return Learner(config, text, measure_priors(text.keys, words, config))


def prior_log_probability(learner):
    """Of the lexicons and the jumps, up to a constant."""
    found = 0.0
    for side, prior in enumerate(learner.priors):
        direction, table = learner.directions[side], learner.table(side)
        found += (prior.counts * np.log(direction.lexicon.pairs[:-1])).sum()
        met = np.bincount(prior.givens, minlength=prior.sizes[0])
        found += prior.unmet * ((prior.sizes[1] - met) * np.log(prior.unmet / table.totals)).sum()
        found += prior.unmet * np.log(direction.lexicon.nulls).sum()
        weights = learner.jumps[side].weights
        found += JUMP_SMOOTHING * np.log(weights / weights.sum()).sum()
    return found


@pytest.mark.parametrize("method", ["model 1", "HMM"])
def test_no_iteration_lowers_the_posterior_probability(method):
    """What is maximised is the likelihood times that of the parameters under their priors."""
    learner = prepare(AlignerConfig(pseudo_count=0.05))
    found = []
    for _ in range(6):
        prior = prior_log_probability(learner)
        step = (
            learner.step_model_1 if method == "model 1" else lambda: learner.step_hmm(agree=False)
        )
        found.append(step() + prior)

    assert (np.diff(found) > -1e-9).all()
    assert found[-1] > found[0] + 1


def test_the_words_of_a_small_language_are_found(learnt):
    """In a sentence and order that were never seen."""
    [links] = learnt.align([("er sieht das rote haus", "he sees the house red")])

    assert {(0, 0), (1, 1), (2, 2), (3, 4), (4, 3)} == links


def test_unknown_words_that_are_spelt_alike_are_linked(learnt):
    """Though others stand nearer."""
    [links] = learnt.align([("Straßburg Zebra", "giraffe Strasbourg")])

    assert (0, 1) in links
    assert (0, 0) not in links


def test_what_a_word_is_translated_by_sums_to_one():
    """With all that it never met; and so what none translates."""
    learner = prepare(AlignerConfig())
    learner.step_model_1()
    for side, prior in enumerate(learner.priors):
        lexicon, totals = learner.directions[side].lexicon, learner.table(side).totals
        met = np.bincount(prior.givens, lexicon.pairs[:-1])
        unmet = prior.sizes[1] - np.bincount(prior.givens)

        np.testing.assert_allclose(met + unmet * prior.unmet / totals, 1)
        assert lexicon.nulls.sum() == pytest.approx(1)


def test_probabilities_are_probabilities(learnt):
    pieces = [tuple(cut_line(line, 6) for line in pair) for pair in PAIRS]
    for forward, backward in learnt.explain(pieces):
        assert (forward >= 0).all()
        assert (backward >= 0).all()
        assert (forward.sum(axis=0) <= 1 + 1e-12).all()
        assert (backward.sum(axis=1) <= 1 + 1e-12).all()


def test_links_do_not_depend_on_neighbours(learnt):
    alone = [learnt.explain([tuple(cut_line(line, 6) for line in pair)])[0] for pair in PAIRS]
    together = learnt.explain([tuple(cut_line(line, 6) for line in pair) for pair in PAIRS])

    assert all(
        (a == b).all()
        for one, two in zip(alone, together, strict=True)
        for a, b in zip(one, two, strict=True)
    )


def test_an_empty_side_has_no_links(learnt):
    assert [frozenset(), frozenset()] == learnt.align([("", "the"), ("das", "")])
    assert [] == learnt.align([])


def test_pairs_that_teach_nothing_are_passed_over(learnt):
    more = [("", "the"), ("das " * 101, "the"), *PAIRS]

    assert learn_aligner(more).align(PAIRS) == learnt.align(PAIRS)
    with pytest.raises(CorpusError, match="no pair has 1 to 100 words"):
        learn_aligner([("", "the")])


def test_every_pair_is_in_one_batch():
    lengths = np.random.default_rng(1).integers(1, 90, (2, 500)).tolist()
    batches = list(plan_batches(*lengths))

    assert sorted(row for rows in batches for row in rows) == list(range(500))
    assert len(batches) < 60


def test_what_is_saved_is_loaded(learnt, tmp_path):
    write_aligner(tmp_path / "aligner", learnt)
    loaded = load_aligner(tmp_path / "aligner")

    assert isinstance(loaded, Aligner)
    assert loaded.align(PAIRS) == learnt.align(PAIRS)
    assert (loaded.counts == learnt.counts).all()
    assert loaded.config == learnt.config


def test_an_aligner_that_was_altered_is_refused(learnt, tmp_path):
    write_aligner(tmp_path / "aligner", learnt)
    path = tmp_path / "aligner" / "words.json"
    path.write_text(path.read_text().replace("haus", "maus"))
    with pytest.raises(BundleError, match=r"words.json was altered"):
        load_aligner(tmp_path / "aligner")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"keys": lambda keys: keys[::-1].copy()}, "no aligner has"),
        ({"counts": lambda counts: counts * np.nan}, "no aligner has"),
        ({"target.totals": lambda totals: totals * 0}, "no aligner has"),
        ({"target.jumps": lambda jumps: jumps[:-1].copy()}, "does not fit"),
    ],
)
def test_a_forged_aligner_is_refused(learnt, tmp_path, change, reason, monkeypatch):
    """Its seal is right, its numbers are not."""
    from nmt_core.alignment import bundle  # noqa: PLC0415

    save = bundle.save_file
    monkeypatch.setattr(
        bundle,
        "save_file",
        lambda tensors, path: save(
            {name: change.get(name, np.array)(array) for name, array in tensors.items()}, path
        ),
    )
    write_aligner(tmp_path / "aligner", learnt)
    with pytest.raises(BundleError, match=reason):
        load_aligner(tmp_path / "aligner")


def test_no_bit_depends_on_threads():
    """Sums are made in order, and none by BLAS."""
    program = f"""
import hashlib
from nmt_core.alignment.learning import learn_aligner
learnt = learn_aligner({PAIRS!r} * 40)
arrays = (learnt.counts, *learnt.tables[0], *learnt.tables[1], *learnt.jumps[0], *learnt.jumps[1])
print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5")
    }

    assert len(digests) == 1
