"""Training and validation pairs with tags, data augmentation and subword regularization."""

from collections.abc import Mapping, Sequence

from nmt_core.base.languages import Languages
from nmt_core.data.batch import DrawPair, NumberedPair
from nmt_core.data.drawn_pairs import AugmentedPairs, SampledPairs, TaggedPairs
from nmt_core.data.shards import ShardDataset
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampler
from nmt_core.text.vocabulary import TARGET
from stages.params import TrainParams


def draw_pairs(
    params: TrainParams,
    dataset: ShardDataset,
    sides: Mapping[str, Side],
    languages: Sequence[Languages],
    tags: Sequence[Sequence[str]] = (),
) -> DrawPair | None:
    """Return a function that draws a training pair of an epoch; None if epochs do not differ.

    ``languages`` and ``tags`` have the direction and the tags of each corpus; ``tags`` may be
    empty.

    Raises:
        ConfigError: if subwords are to be sampled and a tokenizer has no subwords.
    """
    draw: DrawPair | None = None
    if params.augmentation:
        both = (sides["source"], sides["target"])
        config, codes = params.augmentation, [each.codes for each in languages]
        draw = AugmentedPairs(dataset, both, codes, config, params.seed).draw
    sampling = params.subword_sampling
    if sampling.kind != "none":
        source, target = (
            SubwordSampler(sampling, side.tokenizer) if sampling.sides in (name, "both") else None
            for name, side in sides.items()
        )
        draw = SampledPairs(draw or dataset.draw, source, target, params.seed).draw
    if any(tags):
        share = params.mixture.untagged
        draw = tag_pairs(draw or dataset.draw, dataset, sides["source"], tags, share, params.seed)
    return draw


def read_tagged(
    dataset: ShardDataset, source: Side, tags: Sequence[Sequence[str]]
) -> list[NumberedPair]:
    """Return all pairs in order, each with the tags of its corpus."""
    draw: DrawPair = dataset.draw
    if any(tags):
        draw = tag_pairs(draw, dataset, source, tags, untagged=0, seed=0)
    return [draw(number, 0) for number in range(len(dataset))]


def tag_pairs(
    read: DrawPair,
    dataset: ShardDataset,
    source: Side,
    tags: Sequence[Sequence[str]],
    untagged: float,
    seed: int,
) -> DrawPair:
    """Return a function that adds the tags of its corpus to a pair; see ``TaggedPairs``."""
    ids = source.vocabulary.tags
    numbers = [[ids[tag] for tag in own] for own in tags]
    required = {number for tag, number in ids.items() if tag.startswith(TARGET)}
    return TaggedPairs(read, dataset.corpora, numbers, untagged, seed, required).draw
