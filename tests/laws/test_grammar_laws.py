"""Laws of every corpus that the grammar generates."""

import hashlib
import json
import re
from calendar import day_name, month_name
from collections import Counter
from datetime import date
from itertools import chain, product
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_core.base.random import derive_seed
from nmt_core.corpora.parallel_text import Pair
from stages.demo import corpus as generation
from stages.demo.corpus import FIRST_SENTENCES, GrammarConfig, generate, held_out, load_grammar
from stages.demo.grammar import Combination
from tests.support.demo import draw_corpus, narrow

SIDES = (0, 1)
MONTHS, WEEKDAYS = list(month_name)[1:], list(day_name)
sentences = st.integers(0, 2**32).map(lambda seed: say(Random(seed)))


def say(random):
    grammar = load_grammar()
    return Pair(*grammar.say(grammar.draw(random)))


@pytest.fixture(scope="module")
def corpus():
    return draw_corpus()


@pytest.fixture(scope="module")
def small_corpus():
    return generate(GrammarConfig(train_pairs=800, validation_pairs=5, test_pairs=5, seed=7))


@pytest.fixture(scope="module")
def derivations(corpus):
    """Return the derivation of each pair, by drawing all of them again."""
    grammar, wanted = load_grammar(), set(chain.from_iterable(corpus.values()))
    found = {}
    for number in range(100_000):
        node = grammar.draw(Random(derive_seed(1, "grammar", number)))
        pair = Pair(*grammar.say(node))
        if pair in wanted:
            found.setdefault(pair, node)
        if len(found) == len(wanted):
            return found
    raise AssertionError("not all pairs are sentences of the grammar")


@pytest.fixture(scope="module")
def shown(derivations):
    """Return the combinations that each pair shows."""
    grammar = load_grammar()
    return {pair: set(grammar.combinations(node)) for pair, node in derivations.items()}


def list_words(node):
    """Return the German words of a derivation, by their first forms."""
    own = {lemma.split()[0] for lemma in node.features.get("lemma", ())}
    return own.union(*(list_words(child) for child in node.children.values()))


def words(text):
    return re.findall(r"[^\W\d_]+", text)


def key(text):
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.mark.slow
def test_source_has_one_translation():
    """German to English is a function, even without case and punctuation."""
    kept = Counter()

    def keeps(symbol, one):
        """Keep two words of each kind, so that sentences repeat often."""
        sort = (symbol, *sorted(map(str, (one.features | {"lemma": ""}).items())))
        kept[sort] += bool(one.word)
        return kept[sort] <= 2

    grammar, seen, repeated = narrow(keeps), {}, 0
    for number in range(6_000):
        source, target = grammar.say(grammar.draw(Random(number)))
        repeated += key(source) in seen
        assert key(seen.setdefault(key(source), target)) == key(target)
    assert repeated > 60


@given(sentences)
@example(say(Random(5838)))  # "Who is replying?" has no object before its question mark
@settings(max_examples=100, deadline=None)
def test_sentence_is_well_formed(said):
    """It has one capital and final mark, no misplaced sign, and the same digits on both sides."""
    for text in said:
        assert re.fullmatch(r"[A-ZÄÖÜ\d][^.?!]*(?:[.\d][^.?!]+)*[.?!]", text)
        assert not re.search(r"\s\s|\s[,.?!]|,[,.?!]|,$|\.\.|[{}~_|/*+]", text)
    assert ("?" in said.source) == ("?" in said.target)
    assert not re.search(r"\b(\w{4,}) \1\b", said.target)
    source, target = (Counter(re.sub(r"\D", "", text)) for text in said)
    assert source == target


def test_full_dates_have_the_right_weekday(corpus):
    dated = rf"({'|'.join(WEEKDAYS)}), (\d+) ({'|'.join(MONTHS)}) (\d+)"
    found = [found for pair in corpus["train"] for found in re.findall(dated, pair.target)]
    for weekday, day, month, year in found:
        assert WEEKDAYS[date(int(year), 1 + MONTHS.index(month), int(day)).weekday()] == weekday

    assert len(found) > 5


def test_same_config_gives_the_same_bytes_everywhere(small_corpus):
    """Also on other machines; a change of the grammar changes the digest and must be intended."""
    digest = hashlib.sha256(json.dumps(small_corpus, ensure_ascii=False).encode()).hexdigest()

    assert digest == "c06864acb1d87c79b87a593061e9fdb68824333cb33de2c3b7b2d60e641a673c"


def test_no_sentence_occurs_twice(corpus, small_corpus):
    """Nor does a seed train on the test sentences of another."""
    trained = {pair.source for pair in corpus["train"]}
    assert trained.isdisjoint(pair.source for pair in small_corpus["test"])
    for lines in zip(*chain.from_iterable(corpus.values()), strict=True):
        assert len(lines) == len(set(map(key, lines)))


def test_no_split_has_a_first_sentence(corpus, small_corpus):
    """Nor a translation of one, with any case or punctuation; chance would write five."""
    rows = [row.split("\t") for row in FIRST_SENTENCES.read_text(encoding="utf-8").splitlines()]
    first = {key(text) for _, *texts in rows for text in texts}
    splits = chain(corpus.values(), small_corpus.values())
    written = {key(text) for pairs in splits for pair in pairs for text in pair}

    assert (len(rows), len({person for person, *_ in rows})) == (40, 10)
    assert not first & written


@pytest.mark.parametrize("split", ["validation", "test"])
def test_evaluation_sets_have_only_known_words(corpus, split):
    for side in SIDES:
        known = set(chain.from_iterable(words(pair[side]) for pair in corpus["train"]))
        needed = set(chain.from_iterable(words(pair[side]) for pair in corpus[split]))

        assert needed <= known


@pytest.mark.parametrize("split", ["validation", "test"])
def test_evaluation_sentences_have_an_unseen_combination(corpus, shown, split):
    seen = set(chain.from_iterable(shown[pair] for pair in corpus["train"]))
    for pair in corpus[split]:
        assert {split} == {held_out(item) for item in shown[pair] - seen} - {"train"}


def test_hold_out_rule_is_as_documented():
    """The rule is the first eight bytes of a digest, big-endian, modulo 100."""
    for head, dependent in product(
        ("Bericht", "Plan", "Rat"), ("neu", "wichtig", "klein", "modern")
    ):
        digest = hashlib.blake2b(f"adjective {head} {dependent}".encode()).digest()
        share = int(digest[:8].hex(), 16) % 100
        expected = "test" if share < 8 else "validation" if share < 12 else "train"

        assert expected == held_out(Combination("adjective", head, dependent))


def test_words_of_held_out_combinations_are_seen_separately(corpus, shown, derivations):
    """Only the combination is new in the test set, not its words, whichever symbol wrote them."""
    train = set(chain.from_iterable(shown[pair] for pair in corpus["train"]))
    parts = set(chain.from_iterable(list_words(derivations[pair]) for pair in corpus["train"]))
    new = set(chain.from_iterable(shown[pair] for pair in corpus["test"])) - train

    known = " " + " ".join(pair.source.lower() for pair in corpus["train"])
    missing = {part.split()[0] for item in new for part in item[1:]} - parts
    assert [] == [part for part in missing if f" {part.lower()}" not in known]


def test_sentences_have_moderate_lengths(corpus):
    for lines in zip(*chain.from_iterable(corpus.values()), strict=True):
        lengths = [len(line.split()) for line in lines]
        assert max(lengths) <= generation.LONGEST_WORDS
        assert 5 < sum(lengths) / len(lengths) < 9
