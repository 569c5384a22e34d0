"""Pairs of lines in subwords, which can be segmented anew for each epoch."""

import functools

from nmt_core.data.drawn_pairs import SampledPairs
from nmt_core.data.shards import Block, ShardDataset, write_shards
from nmt_core.text import Subwords
from nmt_core.text.subword_sampling import SubwordSampler, SubwordSampling
from nmt_core.text.subwords import SubwordConfig

PIECES = 340
KINDS = {"bpe_dropout": "bpe", "unigram": "unigram"}
GERMAN = ("Hund", "Garten", "Haus", "Markt", "Brot", "Stadt", "Platz", "Tier")
ENGLISH = ("dog", "garden", "house", "market", "bread", "town", "place", "animal")
LINES = [
    (f"Der {GERMAN[one]} ist im {GERMAN[other]}.", f"the {ENGLISH[one]} is in the {ENGLISH[other]}")
    for one in range(4)
    for other in range(4)
] + [("Gärten", "gardens of 1999"), ("Ja!", "yes")]


@functools.cache
def subwords(model_type):
    """Subwords of both models; most words have several segmentations."""
    words = (GERMAN, ENGLISH)
    compounds = [one + other.lower() for side in words for one in side for other in side]
    text = [side for pair in LINES for side in pair] + compounds
    return Subwords.train(text, SubwordConfig(model_type=model_type, vocab_size=PIECES))


def sampler(kind, **settings):
    return SubwordSampler(SubwordSampling(kind=kind, **settings), subwords(KINDS[kind]))


def write_lines(folder, kind, lines=LINES):
    """Return the lines in their best segmentation, as the shard stage writes them."""
    own = subwords(KINDS[kind])
    number = own.vocabulary.encode
    pairs = (tuple(number(own.encode(side)) for side in pair) for pair in lines)
    write_shards([Block.of(pairs)], folder, pairs_per_shard=7, corpora=[len(lines)])
    return ShardDataset(folder)


def drawn(dataset, kind="bpe_dropout", *, seed=5, **settings):
    """Return the random generator of a pair, by the pair's number and the epoch's."""
    settings = settings or {"dropout": 0.3}
    own = sampler(kind, **settings)
    return SampledPairs(dataset.draw, own, own, seed).draw
