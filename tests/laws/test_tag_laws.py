"""Laws of tags: no text contains one, no translation has one, and a seed draws the tagged lines."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages
from nmt_core.data.drawn_pairs import TaggedPairs
from nmt_core.data.settings import AugmentationConfig, MixtureConfig
from nmt_core.text import Characters
from nmt_core.text.restoration import Restorer
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampling
from nmt_core.text.tokenizer import Words
from nmt_core.text.vocabulary import EOS, SPECIALS, TAG_BEGIN, UNK, Vocabulary
from nmt_core.translation.engine_export import HeldOutText, prepare_engines
from nmt_core.translation.forced_decoding import score_pairs
from nmt_core.translation.translator import Translator
from stages.runtime.drawn_pairs import draw_pairs, read_tagged
from tests.support.pairs import write_pairs
from tests.support.scripted import scripted_translator
from tests.support.tagged import NAMES, tagged_translator
from tests.support.tiny import LINES, MODEL, export, subwords

TOKENIZERS = (Characters(), Words("whitespace"), Words("punctuation"), subwords())
GERMAN = Languages(source="de", target="en")
like_tags = st.sampled_from(
    ["<tag own>", "<tag", "own>", "news", " ", "<tag\N{NO-BREAK SPACE}own>"]
)
texts = st.lists(like_tags | st.text(max_size=8), max_size=6).map("".join)
tags = st.lists(st.from_regex("[A-Za-z0-9_-]{1,9}", fullmatch=True), max_size=4)


@given(names=tags, tokens=st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=9))
def test_tags_follow_all_tokens_and_move_none(names, tokens):
    plain = Vocabulary([*SPECIALS, *(token for token in tokens if token not in SPECIALS)])
    known = plain.with_tags(names)

    assert known.tokens[: len(plain)] == plain.tokens
    assert [*known.tags] == sorted({*names})
    assert [*known.tags.values()] == [*range(len(plain), len(known))]
    assert known.with_tags(names[:1]).tokens == known.tokens
    assert known.decode(range(len(known))) == plain.decode(range(len(plain)))
    assert known.encode(known.tokens)[len(plain) :] == [UNK] * len(known.tags)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda one: type(one).__name__)
@given(text=texts)
def test_no_text_becomes_a_tag(tokenizer, text):
    tokens = tokenizer.encode(text)
    side = Side(tokenizer, Vocabulary([*SPECIALS, *{*tokens} - {*SPECIALS}]).with_tags(NAMES))

    assert not any(token.startswith(TAG_BEGIN) for token in tokens)
    assert not {*side.ids(text)} & {*side.vocabulary.tags.values()}


@pytest.fixture
def dataset(tmp_path):
    """Sixty pairs, of three corpora."""
    pairs = write_pairs(tmp_path / "pairs", longest=6)
    pairs.corpora = [range(25), range(25, 40), range(40, 60)]
    return pairs


def strip(pair):
    source, target = pair
    return ([*source][1:], [*target])


def test_tagged_lines_depend_on_seed_epoch_and_number(dataset):
    pairs = TaggedPairs(dataset.draw, dataset.corpora, [(100,), (), (101,)], 0.25, seed=3)
    again = TaggedPairs(dataset.draw, dataset.corpora, [(100,), (), (101,)], 0.25, seed=3)
    other = TaggedPairs(dataset.draw, dataset.corpora, [(100,), (), (101,)], 0.25, seed=4)
    seen, met, differing = Counter(), [set(), set()], 0
    for epoch in range(40):
        for number in reversed(range(60)):
            drawn, plain = pairs.draw(number, epoch), dataset[number]
            tag = next((one for one in (100, 101) if one == drawn[0][0]), None)
            assert [*again.draw(number, epoch)[0]] == [*drawn[0]]
            differing += len(other.draw(number, epoch)[0]) != len(drawn[0])
            if tag is None:
                assert drawn[0].tolist() == plain[0].tolist()
            else:
                assert strip(drawn) == (plain[0].tolist(), plain[1].tolist())
                assert tag == (100 if number < 25 else 101)
                assert not 25 <= number < 40
            seen[tag] += not 25 <= number < 40
            if number < 25:
                met[tag is None].add(number)

    assert seen[None] / seen.total() == pytest.approx(0.25, abs=0.03)
    assert met == [{*range(25)}, {*range(25)}]  # one without randomness is always the same
    assert differing


@pytest.mark.parametrize(("share", "tagged"), [(0.0, 45), (1.0, 0)])
def test_all_or_no_lines_have_tags_if_configured(dataset, share, tagged):
    pairs = TaggedPairs(dataset.draw, dataset.corpora, [(100,), (), (101,)], share, seed=1)
    assert sum(pairs.draw(number, 7)[0][0] >= 100 for number in range(60)) == tagged


def test_the_target_language_is_always_read(dataset):
    pairs = TaggedPairs(
        dataset.draw, dataset.corpora, [(7,), (8, 100), ()], 1.0, 1, required=[7, 8]
    )
    heads = [[*pairs.draw(number, 3)[0][:2]] for number in (0, 30, 50)]
    plain = [[*dataset[number][0]] for number in (0, 30, 50)]

    assert heads[0] == [7, plain[0][0]]
    assert heads[1] == [8, plain[1][0]]
    assert heads[2] == plain[2][:2]


def settings(**changes):
    plain = {
        "augmentation": AugmentationConfig(),
        "subword_sampling": SubwordSampling(),
        "mixture": MixtureConfig(untagged=0.0),
        "seed": 1,
    }
    return SimpleNamespace(**plain | changes)


def test_augmented_and_validation_pairs_have_their_tags(dataset):
    known = Vocabulary([*SPECIALS, *"abcdefgh"]).with_tags(NAMES)
    side, of_corpora = Side(Words("whitespace"), known), (("own",), (), ("news",))
    sides = {"source": side, "target": side}
    merged = AugmentationConfig(merged=1.0)
    plain = draw_pairs(settings(augmentation=merged), dataset, sides, [GERMAN] * 3)
    drawn = draw_pairs(settings(augmentation=merged), dataset, sides, [GERMAN] * 3, of_corpora)
    for number in range(60):
        names = of_corpora[0 if number < 25 else 1 if number < 40 else 2]
        tag = [known.tags[name] for name in names]
        source, target = plain(number, 2)
        assert [*map(list, drawn(number, 2))] == [[*tag, *source], [*target]]
        assert [*read_tagged(dataset, side, of_corpora)[number][0]] == [*tag, *dataset[number][0]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """An export of a model with tags, with one more engine."""
    folder = tmp_path_factory.mktemp("tagged")
    translator = tagged_translator()
    engines, _ = prepare_engines(
        ["float32"],
        translator=translator,
        model_config=MODEL,
        folder=folder,
        text=HeldOutText(LINES, LINES),
        threads=1,
    )
    return export(folder / "export", translator=translator, engines=engines)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_tag_is_read_and_never_generated(bundle, engine):
    """The model of this test would generate only tags."""
    translator = Translator.load(bundle, engine=engine, threads=1)
    assert translator.engine.name.startswith(engine)
    assert translator.tags == NAMES
    found = {tag: translator.choose_tag(tag).search(LINES, n_best=2) for tag in (None, *NAMES)}
    numbers = {*translator.target.vocabulary.tags.values()}
    for several in found.values():
        assert [one.text for one in several[2]] == [""]
        for each in (one for line in several for one in line):
            assert not numbers & {*each.ids}
            assert len(each.ids) == len(each.tokens)
            assert len(each.token_probabilities) in {0, len(each.tokens) + 1}
    assert len({str(each) for each in found.values()}) == len(found)
    original = tagged_translator()
    for tag in (None, *NAMES):
        wanted = original.choose_tag(tag).translate(LINES, beam_size=1)
        assert translator.translate(LINES, beam_size=1, tag=tag) == wanted


RESTORER = Restorer.learn(["Der Hund sieht das Haus im Garten."] * 20)


class Recorder:
    """An engine that records its input."""

    name, has_attention = "recorder", True

    def __init__(self, engine):
        self.engine, self.asked = engine, []

    def explain_refusal(self, search, *, prefixes):
        return None

    def search(self, requests, search, **options):
        self.asked += [list(one.source) for one in requests]
        return self.engine.search(requests, search, **options)


@pytest.mark.parametrize("by_line", [False, True])
def test_every_search_of_a_line_keeps_its_tag(by_line):
    """Also searches with symbols for lost literals, in ordinary case, and without loops."""
    plain = scripted_translator(lambda _: "x x x x x x x x", restorer=RESTORER)
    side = replace(plain.source, vocabulary=plain.source.vocabulary.with_tags(NAMES))
    recorder = Recorder(replace(plain.engine, side=side))
    translator = replace(plain, engine=recorder, source=side, target=side)
    lines = ["Der {name} hat 94 Häuser.", "DER HUND", "", "<tag own>"]
    if by_line:
        read = map(side.tokenize, lines)
        translator.search([text._replace(tags=("own",)) for text in read], n_best=1)
    else:
        translator.choose_tag("own").search(lines, n_best=1)
    own = translator.source.vocabulary.tags["own"]

    assert len(recorder.asked) > 4
    assert all(source[0] == own and own not in source[1:] for source in recorder.asked)
    assert all(source[-1] == EOS and len(source) > 2 for source in recorder.asked)


def test_score_of_a_pair_depends_on_its_tag(bundle):
    translator = Translator.load(bundle, engine="torch")
    pairs = [(LINES[0], "the dog"), (LINES[1], "")]
    plain, tagged, line_by_line = (
        [one.log_likelihood for one in score_pairs(*asked)]
        for asked in (
            (translator, pairs),
            (translator.choose_tag("own"), pairs),
            (
                translator,
                [(translator.source.tokenize(s)._replace(tags=("own",)), t) for s, t in pairs],
            ),
        )
    )
    assert tagged == pytest.approx(line_by_line)
    assert plain != pytest.approx(tagged)


@pytest.mark.parametrize("tag", ["Own", "", "<tag own>"])
def test_unknown_tag_error_names_the_known_ones(tag):
    with pytest.raises(ConfigError, match=r"no tag .*; choose one of news, own, or none"):
        tagged_translator().translate(["x"], tag=tag)


def test_model_without_tags_rejects_all_tags(tmp_path):
    translator = Translator.load(export(tmp_path / "plain"))
    assert translator.tags == ()
    with pytest.raises(ConfigError, match="no tag 'own'; leave it out"):
        translator.translate(["x"], tag="own")
