"""Tokenizers are built from settings, and vocabularies from tokens and tags."""

from itertools import pairwise

import pytest

from nmt_core.base import files
from nmt_core.base.jobs import WorkersConfig
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text import Characters
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from stages import paths, tokenize, vocabulary
from stages.params import TokenizeParams, VocabularyParams
from stages.tokenize import build_tokenizers, read_training_lines


@pytest.mark.parametrize("codes", [("de-AT", "en-GB"), ("de-Latn-DE", "en")])
def test_spacy_splits_by_the_language_of_any_region(tmp_path, codes):
    built = build_tokenizers(TokenizeParams(kind="spacy"), languages=codes, corpus=tmp_path)
    assert built["target"].encode("It isn't here.") == ["it", "is", "here", "."]
    assert built["source"].encode("Das geht nicht.") == ["das", "geht", "nicht", "."]


@pytest.mark.parametrize(("most", "lines"), [(4, 4), (5, 5), (99, 20)])
def test_training_lines_are_evenly_spread(tmp_path, most, lines):
    (tmp_path / "text").write_text("".join(f"{n}\n" for n in range(20)))
    read = [*map(int, read_training_lines(tmp_path / "text", most))]
    assert len(read) == lines
    assert max(b - a for a, b in pairwise(read)) <= -(-20 // lines)


def test_both_sides_know_the_characters_of_either(tmp_path):
    """Counted together, the most frequent first; a rare character is unknown on both sides."""
    text = {"source": ["über aller", "aber"], "target": ["all over", "xx ææææ"]}
    for side, lines in text.items():
        for split in paths.SPLITS:
            files.write_lines(tmp_path / "corpus" / f"{split}.{side}", lines)
    places = {name: tmp_path / name for name in ("tokenizer", "tokenized")}
    workers = WorkersConfig(processes=1)
    made = tokenize.run(
        TokenizeParams(kind="characters"),
        languages=("de", "en"),
        corpus=tmp_path / "corpus",
        workers=workers,
        **places,
    )
    measured = vocabulary.run(
        VocabularyParams(min_count=2),
        vectors=tmp_path / "vectors",
        vocabulary=tmp_path / "vocabulary",
        workers=workers,
        **places,
    )
    source, target = (
        Vocabulary.load(tmp_path / "vocabulary" / f"{side}.txt") for side in paths.SIDES
    )

    assert made["train_source_tokens"] == sum(map(len, text["source"])) == 14
    assert source.tokens == target.tokens == (*SPECIALS, *"elræa▁bx", *ALL_SYMBOLS)
    assert measured["source_size"] == measured["target_size"] == 12 + len(ALL_SYMBOLS)
    assert measured["source_unknown_rate"] == 1 / 14
    assert measured["target_unknown_rate"] == 2 / 15


def test_both_sides_know_all_tags(tmp_path):
    files.write_json(tmp_path / "tags.json", [[], ["own"], [], ["news"], ["own"]])
    initial = tmp_path / "initial"
    assert vocabulary.list_known_tags(tmp_path / "tags.json", initial) == {"news", "own"}
    old = Vocabulary([*SPECIALS, "a"]).with_tags(["law"])
    old.save(initial / "vocabulary" / "source.txt")
    assert vocabulary.list_known_tags(tmp_path / "tags.json", initial) == {"law", "news", "own"}

    places = {name: tmp_path / name for name in ("tokenizer", "tokenized", "vocabulary")}
    for side in paths.SIDES:
        Characters().save(places["tokenizer"] / side)
        files.write_lines(places["tokenized"] / f"train.{side}", ["a b", "b"])
    made = {}
    for tags in ((), ("news", "law")):
        vocabulary.run(
            VocabularyParams(),
            vectors=tmp_path / "vectors",
            workers=WorkersConfig(processes=1),
            tags=tags,
            **places,
        )
        made[tags] = [Vocabulary.load(places["vocabulary"] / f"{side}.txt") for side in paths.SIDES]
    for plain, tagged in zip(*made.values(), strict=True):
        assert tagged.tokens == (*plain.tokens, "<tag law>", "<tag news>")
        assert not plain.tags
