"""Tokenizers of the pipeline are built as settings say."""

from collections import Counter

import pytest

from nmt_core.text.subwords import SubwordConfig
from stages.params import TokenizeParams
from stages.tokenize import build_tokenizers, read_lines_to_learn


@pytest.mark.parametrize("codes", [("de-AT", "en-GB"), ("de-Latn-DE", "en")])
def test_spacy_cuts_by_the_language_of_any_region(tmp_path, codes):
    built = build_tokenizers(TokenizeParams(kind="spacy"), languages=codes, corpus=tmp_path)
    assert built["target"].encode("It isn't here.") == ["it", "is", "here", "."]
    assert built["source"].encode("Das geht nicht.") == ["das", "geht", "nicht", "."]


@pytest.mark.parametrize(("share", "alone"), [(0.0, 0), (0.5, 10), (0.8, 40)])
def test_monolingual_text_has_its_share_of_lines(tmp_path, share, alone):
    pairs, monolingual = tmp_path / "pairs", tmp_path / "alone"
    pairs.write_text("ein Paar\n" * 10)
    monolingual.write_text("allein\n" * 1000)
    config = SubwordConfig(monolingual=share)
    lines = Counter(read_lines_to_learn(config, pairs, monolingual))

    assert lines == Counter({"ein Paar": 10, "allein": alone})
