"""Training and validation pairs with tags, data augmentation and subword regularization."""

from collections.abc import Mapping, Sequence

from nmt_core.base.languages import Languages
from nmt_core.data.batch import DrawPair, NumberedPair
from nmt_core.data.drawn_pairs import AugmentedPairs, SampledPairs, TaggedPairs
from nmt_core.data.shards import ShardDataset
from nmt_core.text.side import Side
from nmt_core.text.subword_sampling import SubwordSampler
from stages.params import TrainParams


def draw_pairs(
    params: TrainParams,
    dataset: ShardDataset,
    sides: Mapping[str, Side],
    languages: Languages,
    tags: Sequence[str] = (),
) -> DrawPair | None:
    """Return a function that draws a training pair of an epoch; None if epochs do not differ.

    ``tags`` has the tag of each corpus, "" for a corpus without a tag; or it is empty.

    Raises:
        ConfigError: if subwords are to be sampled and a tokenizer has no subwords.
    """
    draw: DrawPair | None = None
    if params.augmentation:
        both = (sides["source"], sides["target"])
        config, codes = params.augmentation, languages.codes
        draw = AugmentedPairs(dataset, both, codes, config, params.seed).draw
    sampling = params.subword_sampling
    if sampling.kind != "none":
        source, target = (
            SubwordSampler(sampling, side.tokenizer) if sampling.sides in (name, "both") else None
            for name, side in sides.items()
        )
        draw = SampledPairs(draw or dataset.draw, source, target, params.seed).draw
    if any(tags):
        numbers, share = number_tags(sides["source"], tags), params.mixture.untagged
        draw = TaggedPairs(draw or dataset.draw, dataset.corpora, numbers, share, params.seed).draw
    return draw


def read_tagged(dataset: ShardDataset, source: Side, tags: Sequence[str]) -> list[NumberedPair]:
    """Return all pairs in order, each with the tag of its corpus, if it has one."""
    draw: DrawPair = dataset.draw
    if any(tags):
        numbers = number_tags(source, tags)
        draw = TaggedPairs(dataset.draw, dataset.corpora, numbers, untagged=0, seed=0).draw
    return [draw(number, 0) for number in range(len(dataset))]


def number_tags(source: Side, tags: Sequence[str]) -> list[int | None]:
    """Return the token ids of tags in the source vocabulary; None for an empty tag."""
    ids = source.vocabulary.tags
    return [ids[tag] if tag else None for tag in tags]
