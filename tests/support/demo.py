"""A corpus of the demo grammar; and the grammar with few words, to search for certain sentences."""

import re
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from operator import itemgetter
from random import Random

from nmt_core.corpora.parallel_text import Pair
from nmt_core.corpora.splitting import Split
from stages.demo.corpus import GrammarConfig, generate, load_grammar
from stages.demo.grammar import Alternative, DeadEndError, Grammar, Node

ROUND = 50
"""Number of draws after which the sentences most similar to the wanted one get more weight."""


@cache
def draw_corpus() -> dict[Split, list[Pair]]:
    """Return a corpus of the grammar, generated once; tests use as many pairs as they need."""
    return generate(GrammarConfig(train_pairs=2400, validation_pairs=100, test_pairs=150))


def forms_of(word: Alternative, side: int) -> set[str]:
    """Return the non-empty forms of a word in a language."""
    bodies = word.sides[side].values()
    forms = ([body] if isinstance(body, str) else body.words.values() for body in bodies)
    return {form.strip() for found in forms for form in found} - {""}


def narrow(keeps: Callable[[str, Alternative], bool]) -> Grammar:
    """Return a copy of the grammar with only the kept alternatives, if there are several."""
    grammar = copy(load_grammar())
    grammar._fitting = {symbol: (names, {}) for symbol, (names, _) in grammar._fitting.items()}
    grammar.symbols = {symbol: [*map(replace, ones)] for symbol, ones in grammar.symbols.items()}
    for symbol, ones in grammar.symbols.items():
        for one in ones:
            one.word = one.word and one.word._replace(alternative=one)
        if len(ones) > 1:
            ones[:] = [one for one in ones if keeps(symbol, one)]
    return grammar


def translate(sentence: str) -> str | None:
    """Return the English of a German sentence, with 0 for each number, or None."""
    wanted = re.sub(r"\d+", "0", sentence)
    shown = sentence.lower()
    words = re.findall(r"\w+|[^\w\s]", shown)
    parts = {cut for word in words for n in range(len(word) + 1) for cut in (word[:n], word[n:])}

    def keeps(symbol: str, one: Alternative) -> bool:
        """Keep alternatives with only words of the sentence, and prefer long ones."""
        del symbol
        one.weight = 1
        if one.word:
            forms = forms_of(one, 0)
            found = [len(form) for form in forms if parts.issuperset(form.lower().split())]
            one.weight = max(found, default=1)
            return not forms or bool(found)
        bodies = [body for body in one.sides[0].values() if isinstance(body, list)]
        said = [[p for word in body for p in word if isinstance(p, str)] for body in bodies]
        return any(all(p.lower() in shown for p in text) for text in said)

    grammar, drawn = narrow(keeps), list[tuple[float, Node]]()
    for number in range(40_000):
        try:
            node = grammar.draw(Random(number))
        except DeadEndError:  # the remaining words do not fit together
            continue
        german, english = (re.sub(r"\d+", "0", text) for text in grammar.say(node))
        if german == wanted:
            return english
        drawn.append((SequenceMatcher(None, german.split(), wanted.split()).ratio(), node))
        if len(drawn) == ROUND:
            drawn.sort(key=itemgetter(0))
            prefer([node for _, node in drawn[-ROUND // 10 :]])
            drawn.clear()
            for _, totals in grammar._fitting.values():
                totals.clear()
    return None


def prefer(nodes: Iterable[Node]) -> None:
    """Increase the weights of the alternatives of these sentences."""
    for node in nodes:
        node.alternative.weight += 1
        prefer(node.children.values())
