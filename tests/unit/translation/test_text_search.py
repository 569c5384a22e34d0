"""Lines become requests, and attention loses the tag."""

from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from nmt_core.search.engine import Hypothesis, Request
from nmt_core.text.aligner.learning import learn_aligner
from nmt_core.text.side import Tokenized
from nmt_core.text.translation import EMPTY_TRANSLATION
from nmt_core.translation.text_search import (
    SourceTask,
    TextSearch,
    TranslatorConfig,
    add_links,
    copy_unknown,
    drop_tags,
)


@pytest.mark.parametrize(
    ("name", "most"), [("batch_tokens", 1_000_000), ("max_source_tokens", 10_000)]
)
def test_sizes_have_bounds(name, most):
    for value in (1, most):
        assert getattr(TranslatorConfig(**{name: value}), name) == value
    for value in (0, most + 1):
        with pytest.raises(ValidationError, match=name):
            TranslatorConfig(**{name: value})


@pytest.mark.parametrize(
    ("attention", "left"),
    [
        ([[0.5, 0.25, 0.25]], [[0.5, 0.5]]),
        ([[0.2, 0.6, 0.2], [0.9, 0.0, 0.1]], [[0.75, 0.25], [0.0, 1.0]]),
        ([[1.0, 0.0, 0.0]], [[0.0, 0.0]]),
    ],
)
def test_attention_without_its_tag_keeps_its_sums(attention, left):
    np.testing.assert_allclose(
        drop_tags(np.array(attention, np.float32), Tokenized("", [], ("own",))), left, atol=1e-6
    )


@pytest.mark.parametrize(
    ("tags", "read"), [((), [*"abc"]), (("own",), [*"ab"]), ((">en", "own"), ["a"])]
)
def test_tags_count_as_tokens(tags, read):
    assert TextSearch(None, None, max_tokens=3).cut(Tokenized("abcd", [*"abcd"], tags)) == read


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("tags", [("own",), ()])
def test_unknown_words_are_copied_by_attention(seen, tags):
    source = SimpleNamespace(surfaces=str.split)
    numbers = [*[9] * len(tags), 5, 6, 7, 2]
    own = np.array([[0.1, 0.6, 0.2, 0.1], [0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]], np.float32)
    whole = np.concatenate([np.zeros((3, 1), np.float32), own], axis=1) if tags else own
    unknown = Hypothesis((3, 3, 3), 0.0, 0.0, ())._replace(attention=whole if seen else None)
    calls = []

    def attend(sources, tokens):
        calls.append((sources, tokens))
        return [whole]

    tokens = [["a", "<unk>", "<unk>"], ["b", "c"]]
    pairs = [
        (
            SourceTask(Tokenized("x y z", [*"xyz"], tags), [*"xyz"], ["a"], Request(numbers)),
            unknown,
        ),
        (
            SourceTask(Tokenized("u", ["u"]), ["u"], [], Request([5, 2])),
            Hypothesis((5, 6), 0.0, 0.0, ()),
        ),
    ]
    copy_unknown(pairs, tokens, source, lambda: SimpleNamespace(attend=attend))
    assert tokens == [["a", "x", "z"], ["b", "c"]]
    assert calls == ([] if seen else [([numbers], [(3, 3, 3)])])


def test_links_come_from_the_aligner():
    pairs = [("das haus", "the house"), ("rote haus", "house red"), ("das", "the"), ("rote", "red")]
    translation = EMPTY_TRANSLATION._replace(text="house red")
    [[linked], [same]] = add_links(
        ["rote haus"] * 2, [[translation], [translation]], learn_aligner(pairs * 9)
    )

    assert linked.links == same.links == [1, 0]
