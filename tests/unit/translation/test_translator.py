import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.text.side import Side
from nmt_core.text.vocabulary import PAD, SPECIALS, UNK, Vocabulary
from nmt_core.translation.forced_decoding import score_pairs, trace_attention
from nmt_core.translation.text_search import TranslatorConfig
from nmt_core.translation.translator import Translator
from tests.support.tiny import LINES, tiny_translator
from tests.support.toy_model import Toy, ToyMemory

WORDS = Vocabulary([*SPECIALS, "one", "two", "three"])
STRANGE = [
    "...!?",
    "🦊🦊 👩‍👩‍👧",
    "שלום עולם",
    "\u202eabc",
    "la " * 60,
    "\u0000\u0001",
    "a\u2028b\u0085c\rd\x0be\x0cf",
    "\N{LOWER ONE EIGHTH BLOCK}",
    "\ufeff",
    "<s> </s> <pad> <unk>",
]


class Words:
    """Tokens are the words between spaces."""

    def encode(self, line):
        return line.split()

    def surfaces(self, line):
        return line.split()

    def decode(self, tokens):
        return " ".join(tokens)

    def save(self, folder):
        raise NotImplementedError


class LowerWords(Words):
    """The same in lower case."""

    def encode(self, line):
        return line.lower().split()


class Puzzled(Toy):
    """Writes one unknown word more than the source has words; attends to them from the last to the
    first, to the first twice, and to the end of the sentence most."""

    def project(self, hidden):
        logits = super().project(hidden)
        logits[..., UNK] += 50.0
        return logits

    def attention(self, tokens, memory):
        source = memory.words.size(1)
        end = memory.words.ne(PAD).sum(dim=1, keepdim=True) - 1
        place = (end - 1 - torch.arange(tokens.size(1))).clamp(min=0)
        return 0.4 * F.one_hot(place, source).double() + 0.6 * F.one_hot(end, source)

    def encode(self, source, source_padding):
        return PuzzledMemory(super().encode(source, source_padding).digest, source)


@dataclass(frozen=True)
class PuzzledMemory(ToyMemory):
    words: torch.Tensor


class Blind(Puzzled):
    """Writes unknown words alone, and has no attention."""

    def attention(self, tokens, memory):
        return None


def toy_translator(target_tokenizer=None, *, model=None, source_tokenizer=None, **config):
    return Translator(
        engine=PyTorchEngine(model or Toy(end=1.0), len(WORDS)),
        source=Side(source_tokenizer or Words(), WORDS),
        target=Side(target_tokenizer or Words(), WORDS),
        config=TranslatorConfig(**config),
    )


words = st.sampled_from(["one", "two", "three", "four", " ", ""])
lines = st.lists(st.lists(words, max_size=9).map(" ".join), max_size=12)


@settings(max_examples=15, deadline=None)
@given(lines, st.integers(1, 40))
def test_a_line_gives_one_result_in_any_batch(lines, max_tokens):
    """Sorting, batching and padding have no effect, and the order is restored."""
    alone, together = toy_translator(), toy_translator(batch_tokens=max_tokens)
    sampling = SamplingConfig(samples=2)

    assert [alone.translate_sentences([line])[0] for line in lines] == together.translate_sentences(
        lines
    )
    assert [alone.sample([line], sampling)[0] for line in lines] == together.sample(lines, sampling)


@settings(max_examples=15, deadline=None)
@example(STRANGE)
@given(st.lists(st.text(max_size=30), max_size=5))
def test_one_line_gives_one_line(lines):
    """For any line, and for any bytes that the model writes."""
    texts = TINY.translate_sentences(lines)

    assert len(lines) == len(texts)
    assert all(len(f"{text}.".splitlines()) == 1 for text in texts)


TINY = tiny_translator()


def test_an_empty_line_stays_empty():
    lines = ["", " ", "\t", "\u00a0", "\u200b"]
    assert TINY.translate_sentences(["Hund", *lines])[1:] == [""] * len(lines)


@pytest.mark.parametrize(
    ("long", "short", "count"),
    [
        (("one two three", ""), ("one two", ""), 3),
        (("one", "two two one one"), ("one", "two two"), 4),
    ],
)
def test_truncated_lines_and_prefixes_are_reported(caplog, long, short, count):
    translator = toy_translator(max_source_tokens=2)
    first, second = (
        translator.translate_sentences([line], prefixes=[prefix]) for line, prefix in (long, short)
    )

    assert first == second
    assert f"{count} tokens, but only the first 2 are translated" in caplog.text
    assert len(caplog.records) == 1


def test_the_best_come_first_with_their_probabilities():
    for found in TINY.search(LINES[:2], beam_size=4, n_best=4):
        assert len(found) == 4
        assert sorted(found, key=lambda best: -best.score) == found
        for best in found:
            logs = [math.log(probability) for probability in best.token_probabilities]

            assert best.score == pytest.approx(sum(logs) / len(logs), rel=1e-4)
            assert len(best.tokens) + 1 == len(logs)
            assert TINY.target.vocabulary.encode(best.tokens) == list(best.ids)


@pytest.mark.parametrize(
    ("changes", "size", "count"),
    [
        ({}, 5, 4),
        ({"beam_size": 2}, 2, 2),
        ({"beam_size": 9}, 9, 4),
        ({"n_best": 5}, 5, 5),
        ({"beam_size": 9, "n_best": 8, "diversity": 0.5}, 9, 8),
    ],
)
def test_few_beams_return_at_most_their_number(changes, size, count):
    own = toy_translator(beam=BeamConfig(beam_size=5, n_best=4))
    wide = toy_translator(beam=BeamConfig(beam_size=size, n_best=count))
    assert len(found := own.search(["one two"], **changes)[0]) == count
    assert found == wide.search(["one two"], diversity=changes.get("diversity"))[0]


def test_the_unknown_token_is_shown_if_allowed():
    translator = toy_translator(beam=BeamConfig(beam_size=9, n_best=9, unknown="write"))
    found = [best for [*every] in translator.search(["one"] * 2) for best in every]

    assert any("<unk>" in best.text.split() for best in found)
    assert all(("<unk>" in best.tokens) == (UNK in best.ids) for best in found)


COPYING = {
    "source_tokenizer": LowerWords(),
    "beam": BeamConfig(
        unknown="copy", max_length_factor=1, max_length_offset=1, length_penalty=2.0
    ),
    "batch_tokens": 7,
}


def test_unknown_words_are_copied_from_the_source():
    """Each from its own line, by attention, although the model knows them in lower case alone.

    Nothing is copied into a prefix that the model does not know.
    """
    translator = toy_translator(model=Puzzled(), **COPYING)
    lines = ["Haus 2014 Donaudampfschiff", "ONE 3,5", "", "Zwei"]
    found = translator.search(lines)

    assert [best.text for [best] in found] == [
        "Donaudampfschiff 2014 Haus Haus",
        "3,5 ONE ONE",
        "",
        "Zwei Zwei",
    ]
    assert all(set(best.ids) <= {UNK} for [best] in found)
    assert translator.translate_sentences(["a b c d"], prefixes=["Ein Haus"]) == ["Ein Haus b a a"]


def test_without_attention_nothing_is_copied():
    [[best]] = toy_translator(model=Blind(), **COPYING).search(["Haus 2014"])

    assert UNK not in best.ids


def test_every_architecture_leaves_no_word_unknown(model):
    """It copies with attention, and forbids the unknown word without attention."""
    vocabulary = Vocabulary([*SPECIALS, *"abcde"])
    translator = Translator(
        engine=PyTorchEngine(model, len(vocabulary)),
        source=Side(LowerWords(), vocabulary),
        target=Side(Words(), vocabulary),
        config=TranslatorConfig(beam=BeamConfig(unknown="copy", beam_size=9, n_best=9)),
    )
    [best_first] = translator.search(["A 2014 Zebra"])
    unknown = {
        word
        for best in best_first
        for number, word in zip(best.ids, best.tokens, strict=True)
        if number == UNK
    }

    assert unknown <= {"A", "2014", "Zebra"}
    has_attention = trace_attention(translator, "a", best_first[0]) is not None
    assert has_attention or not unknown


def test_translations_start_with_their_prefix():
    prefixes = ["two", "", "three one one"]
    texts = toy_translator(batch_tokens=5).translate_sentences(
        ["one", "one two", "three"], prefixes=prefixes
    )

    assert all(
        text.split()[: len(p.split())] == p.split() for text, p in zip(texts, prefixes, strict=True)
    )
    assert texts[1] == toy_translator().translate_sentences(["one two"])[0]


@pytest.mark.parametrize("prefix", ["Das Haus", "🦊", "</s>", "a\u2028b"])
def test_a_subword_translation_starts_with_any_text(prefix):
    [[best]] = TINY.search(["Hund"], prefixes=[prefix])

    assert best.text.startswith(prefix.replace("\u2028", " "))


def test_every_line_needs_its_prefix():
    with pytest.raises(ValueError, match="2 lines but 1 prefixes"):
        TINY.search(["Hund", "Haus"], prefixes=["dog"])


def test_samples_and_next_tokens_have_requested_numbers():
    found = TINY.sample([*LINES, " "], SamplingConfig(samples=3, top_k=5))

    assert [len(every) for every in found] == [3 if line else 1 for line in [*LINES, ""]]
    assert TINY.sample(["Hund"]) == TINY.sample(["Hund"], SamplingConfig(samples=1))
    assert [len(TINY.next_tokens("Hund", count=count)) for count in (1, 5)] == [1, 5]
    assert TINY.next_tokens(" ") == []


def test_next_tokens_follow_the_best_translation():
    """If the search writes token by token, the look-up gives the same probabilities."""
    translator = toy_translator(beam=BeamConfig(unknown="write", beam_size=1))
    [[best]] = translator.search(["one two"])
    prefix = ""
    for token, probability in zip((*best.tokens, "</s>"), best.token_probabilities, strict=True):
        found = dict(translator.next_tokens("one two", prefix, count=99))

        assert found[token] == pytest.approx(probability)
        assert sum(found.values()) == pytest.approx(1.0)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        prefix = f"{prefix} {token}"


def test_attention_is_shown_token_by_token():
    [[best]] = TINY.search(["Der Hund"])
    weights = trace_attention(TINY, "Der Hund", best).weights

    assert weights.shape == (len(best.tokens) + 1, len(TINY.source.tokens("Der Hund")) + 1)
    assert np.allclose(weights.sum(axis=1), 1.0)
    [several] = TINY.search(["Der Hund"], n_best=3, attention=True)
    for each in several:
        assert np.allclose(each.attention, trace_attention(TINY, "Der Hund", each).weights)
    assert trace_attention(TINY, "", best) is None
    assert trace_attention(toy_translator(), "one", best) is None


class Watched(Toy):
    """Remembers the largest number of next tokens in one tensor."""

    most = 0

    def project(self, hidden):
        logits = super().project(hidden)
        self.most = max(self.most, logits.numel())
        return logits


@pytest.mark.parametrize(
    "search",
    [
        lambda translator: translator.search(["one two"] * 40),
        lambda translator: translator.sample(["one two"] * 40, SamplingConfig(samples=4)),
    ],
)
def test_memory_is_bounded_by_the_vocabulary(search, monkeypatch):
    """A large vocabulary makes smaller batches, which changes no translation."""
    model = Watched(end=1.0)
    translator = toy_translator(model=model, beam=BeamConfig(beam_size=3))
    roomy, free = search(translator), model.most
    model.most, room = 0, 6 * 4 * len(WORDS)
    monkeypatch.setattr("nmt_core.search.pytorch.MAX_BATCH_LOG_PROBS", room)

    assert roomy == search(translator)
    assert room // 2 < model.most <= room < free


def test_many_samples_take_the_memory_of_few():
    """Batches shrink if there are more hypotheses than in the configured beam."""
    for many in (1, 2, 8):
        model = Watched(end=1.0)
        translator = toy_translator(model=model, beam=BeamConfig(beam_size=2), batch_tokens=48)
        translator.sample(["one two"] * 40, SamplingConfig(samples=many))

        assert model.most == min(many, 2) * 16 * len(WORDS)


# --- scores of given translations


PAIRS = [("one two three one", "two"), ("one", "three two one one"), ("", "two two"), ("two", "")]


def test_pairs_score_the_same_together_or_alone():
    """Neither padding nor neighbours count, for any lengths."""
    for translator, pairs in ((toy_translator(), PAIRS), (TINY, [*PAIRS, tuple(LINES[:2])])):
        together = score_pairs(translator, pairs)

        for pair, score in zip(pairs, together, strict=True):
            [alone] = score_pairs(translator, [pair])

            assert score.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-5)
            assert score[1:] == alone[1:]
            assert score.tokens == len(translator.target.tokens(pair[1])) + 1


def test_batches_of_pairs_are_bounded_by_tokens(monkeypatch):
    """Neither long lines nor a large vocabulary exceed the limit of a tensor."""
    model = Watched(end=1.0)
    pairs = [(" ".join(["one"] * n), " ".join(["two"] * (40 - n))) for n in range(40)]
    free = score_pairs(toy_translator(model=model), pairs)
    monkeypatch.setattr("nmt_core.translation.forced_decoding.MAX_BATCH_LOG_PROBS", 5 * len(WORDS))
    model.most = 0
    rows, encode = [], model.encode
    monkeypatch.setattr(model, "encode", lambda s, p: rows.append(s.shape) or encode(s, p))

    bounded = score_pairs(toy_translator(model=model, batch_tokens=82), pairs)

    for one, other in zip(free, bounded, strict=True):
        assert one == pytest.approx(other)
    assert model.most == 5 * len(WORDS)
    assert max(batch * tokens for batch, tokens in rows) <= 82


def test_a_long_pair_is_scored_to_its_limit(caplog):
    translator = toy_translator(max_source_tokens=2)
    [cut] = score_pairs(translator, [("one two three", "two one  one")])

    assert [cut] == score_pairs(translator, [("one two", "two one")])
    assert caplog.text.count("3 tokens, but only the first 2 are translated") == 2
