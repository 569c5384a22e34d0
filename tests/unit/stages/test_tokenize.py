"""Tokenizers of the pipeline are built as settings say."""

import pytest

from stages.params import TokenizeParams
from stages.tokenize import build_tokenizers


@pytest.mark.parametrize("codes", [("de-AT", "en-GB"), ("de-Latn-DE", "en")])
def test_spacy_cuts_by_the_language_of_any_region(tmp_path, codes):
    built = build_tokenizers(TokenizeParams(kind="spacy"), languages=codes, corpus=tmp_path)
    assert built["target"].encode("It isn't here.") == ["it", "is", "here", "."]
    assert built["source"].encode("Das geht nicht.") == ["das", "geht", "nicht", "."]
