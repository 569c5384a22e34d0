"""Learning word alignments: the laws of expectation maximisation, and the results."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError, CorpusError
from nmt_core.base.random import make_generator
from nmt_core.text.aligner import aligner as aligner_module
from nmt_core.text.aligner import learning, lexicon
from nmt_core.text.aligner.aligner import fill_gaps, format_links, load_aligner, write_aligner
from nmt_core.text.aligner.learning import LARGE_TEXT, Learner, choose_pairs, learn_aligner
from nmt_core.text.aligner.lexicon import (
    make_priors,
    pair_text,
    start_jumps,
    sum_alignments,
    weigh_jumps,
)
from nmt_core.text.aligner.pieces import AlignerConfig, cut_line, cut_word
from nmt_core.text.words import UNALIGNED
from tests.support.processes import run_python

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
WHOLE = AlignerConfig(stem_length=100, tail_length=0)


@pytest.fixture(scope="module")
def learnt():
    return learn_aligner(PAIRS)


# pieces of words


@given(st.text("aß1.,'’-„“", min_size=1, max_size=8))
def test_pieces_spell_their_word(word):
    pieces = cut_word(word)
    assert word == "".join(pieces)
    assert all(pieces)


@given(st.text("aB., '", max_size=12))
def test_pieces_belong_to_words_between_spaces(line):
    pieces = cut_line(line, WHOLE)
    words = line.casefold().split()
    assert words == [
        "".join(texts for texts, number in zip(*pieces, strict=True) if number == word)
        for word in range(len(words))
    ]


@pytest.mark.parametrize(
    ("line", "config", "texts"),
    [
        (
            "Er sagt: „Die Non-food-Kulturen, 6,2 %\"; the Commission's",
            WHOLE,
            "er sagt : „ die non-food-kulturen , 6,2 % \" ; the commission 's",
        ),
        ("'s", WHOLE, "'s"),
        ("Kulturausschuss tagt, 東京", AlignerConfig(), "kultur -chuss tagt , 東 京"),
        ("Straßen", AlignerConfig(), "strass"),
    ],
)
def test_a_line_is_split_into_pieces(line, config, texts):
    """Punctuation and endings are separate; long words have a start and an end; case is folded."""
    assert cut_line(line, config).texts == texts.split()


# learning


def prepare(config):
    pieces = [[cut_line(line, config).texts for line in pair] for pair in PAIRS]
    words = [sorted({word for pair in pieces for word in pair[side]}) for side in (0, 1)]
    numbers = [
        [np.array([words[side].index(word) for word in pair[side]]) for pair in pieces]
        for side in (0, 1)
    ]
    made, keys = pair_text(*numbers, len(words[1]))
    return Learner(config, made, make_priors(keys, words, config))


@pytest.mark.parametrize("waiting", [1, 7, 10**6])
def test_each_place_has_its_word_pairs_number(monkeypatch, waiting):
    monkeypatch.setattr(lexicon, "PENDING_PAIRS", waiting)
    draw = make_generator(1, "sentences")
    source, target = ([draw.integers(0, 12, draw.integers(1, 9)) for _ in range(90)] for _ in "st")
    made, keys = pair_text(source, target, 12)

    met = {
        (one, other)
        for ours, theirs in zip(source, target, strict=True)
        for one in ours.tolist()
        for other in theirs.tolist()
    }
    assert keys.tolist() == sorted(one * 12 + other for one, other in met)
    assert sorted(row for batch in made for row in batch.rows) == [*range(90)]
    for batch in made:
        for column, row in enumerate(batch.rows):
            ours, theirs = source[row], target[row]
            held = batch.cells[:, :, column]
            place = np.ix_(range(len(ours)), range(len(theirs)))
            np.testing.assert_array_equal(keys[held[place]], ours[:, None] * 12 + theirs)
            assert (held == len(keys)).sum() == held.size - len(ours) * len(theirs)
            np.testing.assert_array_equal(batch.source[: len(ours), column], ours)
            np.testing.assert_array_equal(batch.target[: len(theirs), column], theirs)


def prior_log_probability(learner):
    """The posterior probability of the lexicons, up to a constant."""
    found = 0.0
    for prior, direction, totals in zip(
        learner.priors, learner.directions, learner.totals, strict=True
    ):
        found += (prior.counts * np.log(direction.pairs[:-1])).sum()
        met = np.bincount(prior.given_words, minlength=prior.sizes[0])
        found += prior.unseen * ((prior.sizes[1] - met) * np.log(prior.unseen / totals)).sum()
        found += prior.unseen * np.log(direction.nulls).sum()
    return found


@pytest.mark.parametrize("method", ["model 1", "HMM"])
def test_no_iteration_lowers_the_posterior_probability(method):
    """The maximum is that of the likelihood times the priors of the parameters."""
    learner = prepare(AlignerConfig(pseudo_count=0.05))
    found = []
    for _ in range(6):
        prior = prior_log_probability(learner)
        found.append(learner.step(method) + prior)
    assert (np.diff(found) > -1e-9).all()
    assert found[-1] > found[0] + 1


@pytest.mark.parametrize("iterations", [(1, 0, 0), (2, 2, 0), (2, 1, 1), (3, 0, 2)])
def test_learning_makes_the_configured_iterations(iterations):
    """Model 1, then the HMM, and finally iterations with counts on which both directions agree."""
    model_1, hmm, agreement = iterations
    config = AlignerConfig(
        model_1_iterations=model_1, hmm_iterations=hmm, agreement_iterations=agreement
    )
    learner, reported = prepare(config), []
    methods = ["model 1"] * model_1 + ["HMM"] * hmm + ["agreement"] * agreement
    likelihoods = [learner.step(method) for method in methods]
    learnt = learn_aligner(PAIRS, config, report=lambda _, likelihood: reported.append(likelihood))
    assert reported == likelihoods
    assert learnt.totals[1].tolist() == learner.totals[1].tolist()


def test_all_words_explain_alike_at_first():
    learner = prepare(AlignerConfig(null_probability=0.2))
    for nulls, pairs, side in zip(learner.nulls, learner.pairs, (1, 0), strict=True):
        words = sum(len(each[side].split()) for each in PAIRS)
        assert nulls.sum() == pytest.approx(0.2 * words)
        assert pairs.sum() == pytest.approx(0.8 * words)


def test_model_1_prefers_the_diagonal():
    """By the formula of Dyer et al. (2013, section 2), word by word."""
    learner = prepare(config := AlignerConfig(null_probability=0.2, diagonal=3.0))
    learner.step("model 1")
    for direction, batch in zip(learner.directions, learner.batches[-1], strict=True):
        links, log_likelihood = direction.align_model_1(batch)
        for row, sizes in enumerate(zip(batch.source_lengths, batch.target_lengths, strict=True)):
            total = 0.0
            for word in range(sizes[1]):
                places = [(i + 1) / (sizes[0] + 1) for i in range(sizes[0])]
                place = (word + 1) / (sizes[1] + 1)
                near = np.exp([-config.diagonal * abs(place - other) for other in places])
                given = direction.pairs[batch.cells[: sizes[0], word, row]]
                found = (1 - config.null_probability) * near / near.sum() * given
                none = config.null_probability * direction.nulls[batch.target[word, row]]
                total += np.log(found.sum() + none)
                np.testing.assert_allclose(
                    links[: sizes[0], word, row], found / (found.sum() + none)
                )
            assert log_likelihood[row] == pytest.approx(total)


def test_translation_probabilities_sum_to_one():
    """Words that it never met are included, and so are those without a translation."""
    learner = prepare(AlignerConfig())
    for prior, direction, totals in zip(
        learner.priors, learner.directions, learner.totals, strict=True
    ):
        met = np.bincount(prior.given_words, direction.pairs[:-1])
        unseen = prior.sizes[1] - np.bincount(prior.given_words)

        np.testing.assert_allclose(met + unseen * prior.unseen / totals, 1)
        assert direction.nulls.sum() == pytest.approx(1)


def test_vocabularies_have_the_allowed_size():
    for pair in (("eins zwei drei", "one"), ("eins", "one two three")):
        learnt = learn_aligner([("a", "b"), pair], AlignerConfig(max_words=3))
        shorter = learn_aligner([("a", "b"), pair], AlignerConfig(max_words=2))

        assert [len(words) for words in learnt.words] == [1 + len(line.split()) for line in pair]
        assert [["a"], ["b"]] == [*shorter.words]


@pytest.mark.parametrize(
    ("words", "config", "chosen"),
    [
        ([9] * 50_000, AlignerConfig(), range(0, 50_000, 3)),
        ([40] * 50_000, LARGE_TEXT, range(0, 50_000, 8)),
        ([40, 5, 40] * 50_000, LARGE_TEXT, range(1, 150_000, 3)),
        ([40, 10] * 50_000, LARGE_TEXT, range(1, 100_000, 4)),
    ],
)
def test_short_pairs_of_a_large_text_are_chosen(words, config, chosen):
    indices, own = choose_pairs(np.array(words), np.array(words))
    assert ([*chosen], config) == (indices.tolist(), own)


def test_only_part_of_a_long_text_is_learnt(monkeypatch):
    monkeypatch.setattr(learning, "MAX_WORD_CELLS", 8)
    even, odd = ("eins zwei", "one two"), ("drei vier", "three four")
    learnt = learn_aligner([even, odd, even, odd])
    assert learnt.words == (["eins", "zwei"], ["one", "two"])


def test_uninformative_pairs_are_skipped(learnt):
    more = [("", "the"), ("das " * 101, "the"), *PAIRS]
    assert learn_aligner(more).align(PAIRS) == learnt.align(PAIRS)
    with pytest.raises(CorpusError, match="no pair has 1 to 100 words"):
        learn_aligner([("", "the")])


def test_results_do_not_depend_on_threads():
    """Sums are computed in order, not by BLAS."""
    program = f"""
import hashlib
from nmt_core.text.aligner.learning import learn_aligner
learnt = learn_aligner({PAIRS!r} * 40)
arrays = (learnt.counts, *learnt.totals, *learnt.nulls)
print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""
    digests = {
        run_python(program, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads)
        for threads in ("1", "5")
    }
    assert len(digests) == 1


# sums over all alignments


def draw_lattice(seed, sizes):
    """Return a lattice of sentence pairs of (source, target) words, and its jumps."""
    random = np.random.default_rng(seed)
    source, target = (np.array(side) for side in zip(*sizes, strict=True))
    jumps = random.uniform(0.1, 1, 5)
    emissions = np.zeros((target.max(), source.max() + 1, len(sizes)))
    nulls = np.zeros((target.max(), len(sizes)))
    for row, (one, other) in enumerate(sizes):
        own = np.random.default_rng([seed, one, other])
        emissions[:other, 1 : one + 1, row] = own.uniform(0.01, 1, (other, one))
        nulls[:other, row] = own.uniform(0.01, 1, other)
    return (0.7 * emissions, 0.3 * nulls, *weigh_jumps(jumps, source), target), jumps


def enumerate_alignments(lattice, jumps, source, target, row):
    """Yield (probability, links) of every alignment of one pair, one path after another."""
    linked, none, *_ = lattice

    def weigh(old, new):
        return jumps[np.clip(new - old, -2, 2) + 2]

    for path in product(range(source + 1), repeat=target):
        place, probability = 0, 1.0
        for word, position in enumerate(path):
            if position == 0:
                probability *= none[word, row]
                continue
            norm = sum(weigh(place, k) for k in range(1, source + 1))
            probability *= linked[word, position, row] * weigh(place, position) / norm
            place = position
        yield probability, path


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=3),
)
def test_sums_cover_all_alignments(seed, sizes):
    lattice, jumps = draw_lattice(seed, sizes)
    explained, log_likelihood = sum_alignments(*lattice)
    for row, (source, target) in enumerate(sizes):
        every = list(enumerate_alignments(lattice, jumps, source, target, row))
        total = sum(probability for probability, _ in every)
        links = np.zeros_like(explained[..., row])
        for probability, path in every:
            for word, position in enumerate(path):
                links[word, position] += (position > 0) * probability / total

        assert log_likelihood[row] == pytest.approx(np.log(total))
        np.testing.assert_allclose(explained[..., row], links, atol=1e-12)


@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=4),
)
@settings(max_examples=15, deadline=None)
def test_a_pair_depends_on_no_other_pair(seed, sizes):
    together, _ = sum_alignments(*draw_lattice(seed, sizes)[0])
    for row, size in enumerate(sizes):
        alone, _ = sum_alignments(*draw_lattice(seed, [size])[0])

        assert (together[: size[1], : size[0] + 1, row] == alone[..., 0]).all()
        assert not together[size[1] :, :, row].any()


def test_far_jumps_share_a_weight():
    matrix, norms = weigh_jumps(np.array([1.0, 2.0, 3.0]), np.array([3, 1]))
    assert matrix.tolist() == [[0, 3, 3, 3], [0, 2, 3, 3], [0, 1, 2, 3], [0, 1, 1, 2]]
    assert norms.T.tolist() == [[9, 8, 6, 4], [3, 2, 1, 1]]


def test_the_next_position_is_the_most_likely():
    jumps = start_jumps(8)
    assert len(jumps) == 17
    assert jumps.argmax() == 9
    assert jumps[8] == jumps[10] > jumps[7] > jumps[0] > 0


# links


@pytest.mark.parametrize(
    ("pair", "links"),
    [
        (("er sieht das rote haus", "he sees the house red"), "0-0 1-1 2-2 3-4 4-3"),
        (("„er“ sieht das rote haus", "he sees the house red"), "0-0 1-1 2-2 3-4 4-3"),
        (("er sieht das rote haus", "“he” sees the house red"), "0-0 1-1 2-2 3-4 4-3"),
        (("Merkel Zebra", "giraffe Merkel"), "0-1 1-0"),
        (("", "the"), ""),
        (("das", ""), ""),
    ],
)
def test_links_are_found(learnt, pair, links):
    """In an unseen sentence; equal words are linked even if others are nearer."""
    assert links == format_links(learnt.align([pair])[0])


def test_links_are_written_by_source_and_target():
    assert "0-1 2-0 2-10" == format_links({(2, 10), (2, 0), (0, 1)})


def test_links_are_those_above_the_threshold(learnt):
    [shares] = learnt.score_links(PAIRS[:1])
    [links] = learnt.align(PAIRS[:1])
    assert links == {(i, j) for i, j in np.ndindex(shares.shape) if shares[i, j] > 0.3}
    assert 0 < shares.max() <= 1


@pytest.mark.parametrize("side", [0, 1])
def test_links_need_the_counts_of_both_directions(learnt, side):
    counts = learnt.counts.copy()
    counts[side] = 0
    one_sided = replace(learnt, counts=counts).score_links(PAIRS[:1])[0]
    assert one_sided.max() < 0.5 * learnt.score_links(PAIRS[:1])[0].max()


def test_links_do_not_depend_on_neighbours(learnt):
    alone = [learnt.score_links([pair])[0] for pair in PAIRS]
    together = learnt.score_links([("", "x"), *PAIRS])[1:]
    assert all((one == other).all() for one, other in zip(alone, together, strict=True))
    assert [] == learnt.align([])


@pytest.mark.parametrize(
    ("links", "filled"),
    [
        ([0, -1, -1, 0, 1], [0, 0, 0, 0, 1]),
        ([0, -1, 1, -1, 0], [0, -1, 1, -1, 0]),
        ([-1, 0, -1], [-1, 0, -1]),
        ([], []),
    ],
)
def test_gaps_inside_one_translation_belong_to_it(links, filled):
    assert fill_gaps(links) == filled


def test_each_target_word_is_traced_to_its_source(learnt):
    words = [(source.split(), target.split()) for source, target in PAIRS[:2]]
    assert learnt.trace([*words, ([], ["x"])]) == [[0, 2, 1], [0, 1, 2, 3], [UNALIGNED]]


def test_punctuation_and_words_never_translate_each_other():
    learnt = learn_aligner([("haus", "!")] * 9)
    assert learnt.align([("haus", "!")]) == [{(0, 0)}]
    assert learnt.trace([(["haus"], ["!"])]) == [[UNALIGNED]]


# folders


def test_saved_aligners_load(learnt, tmp_path):
    write_aligner(tmp_path / "aligner", learnt)
    loaded = load_aligner(tmp_path / "aligner")
    assert loaded.align(PAIRS) == learnt.align(PAIRS)
    assert loaded.trace([(["das"], ["the"])]) == [[0]]
    assert (loaded.counts == learnt.counts).all()
    assert loaded.config == learnt.config
    for name in ("totals", "nulls", "jumps"):
        ours, theirs = getattr(learnt, name), getattr(loaded, name)
        assert [one.tolist() for one in ours] == [other.tolist() for other in theirs]


def test_an_altered_aligner_is_refused(learnt, tmp_path):
    write_aligner(tmp_path / "aligner", learnt)
    path = tmp_path / "aligner" / "words.json"
    path.write_text(path.read_text().replace("haus", "maus"))
    with pytest.raises(BundleError, match=r"words.json was altered"):
        load_aligner(tmp_path / "aligner")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"keys": lambda keys: keys[::-1].copy()}, "contains invalid numbers"),
        ({"counts": lambda counts: counts * np.nan}, "contains invalid numbers"),
        ({"target.totals": lambda totals: totals * 0}, "contains invalid numbers"),
        ({"target.jumps": lambda jumps: jumps[:-1].copy()}, "does not match"),
    ],
)
def test_a_forged_aligner_is_refused(learnt, tmp_path, change, reason, monkeypatch):
    """Its seal is valid, its numbers are not."""
    save = aligner_module.save_file
    monkeypatch.setattr(
        aligner_module,
        "save_file",
        lambda tensors, path: save(
            {name: change.get(name, np.array)(array) for name, array in tensors.items()}, path
        ),
    )
    write_aligner(tmp_path / "aligner", learnt)
    with pytest.raises(BundleError, match=reason):
        load_aligner(tmp_path / "aligner")
