"""A demo corpus out of nothing: a synchronous grammar of German and English debates."""

from nmt_core.grammar.generate import GrammarConfig, Pair, generate

__all__ = ["GrammarConfig", "Pair", "generate"]
