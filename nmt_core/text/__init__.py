"""Text: normalisation, sentences, words, tokenizers and vocabularies."""

from nmt_core.text.side import load_tokenizer
from nmt_core.text.subwords import Subwords
from nmt_core.text.tokenizer import Characters, Tokenizer

__all__ = ["Characters", "Subwords", "Tokenizer", "load_tokenizer"]
