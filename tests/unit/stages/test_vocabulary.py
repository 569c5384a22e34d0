"""Which characters a model knows."""

from nmt_core.base import files
from nmt_core.base.parallel.jobs import WorkersConfig
from nmt_core.literals.symbols import ALL_SYMBOLS
from nmt_core.text.vocabulary import SPECIALS, Vocabulary
from stages import paths, tokenize, vocabulary
from stages.params import TokenizeParams, VocabularyParams


def test_both_sides_know_the_characters_of_either(tmp_path):
    """Counted together, the most frequent first; a rare one is unknown on both sides."""
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
