"""Pairs of training and validation as a model reads them: modified, cut anew, and with tags."""

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
    """Return what draws the training pairs of an epoch; None if they are the same in each.

    ``tags`` are those of each corpus, empty for one without; none at all if no corpus has any.

    Raises:
        ConfigError: if subwords are to be drawn and a tokenizer has none.
    """
    draw: DrawPair | None = None
    if params.augmentation:
        both = (sides["source"], sides["target"])
        config, codes = params.augmentation, languages.codes
        draw = AugmentedPairs(dataset, both, codes, config, params.seed).draw
    wanted = params.subword_sampling
    if wanted.kind != "none":
        source, target = (
            SubwordSampler(wanted, side.tokenizer) if wanted.sides in (name, "both") else None
            for name, side in sides.items()
        )
        draw = SampledPairs(draw or dataset.draw, source, target, params.seed).draw
    if any(tags):
        numbers, share = number_tags(sides["source"], tags), params.mixture.untagged
        draw = TaggedPairs(draw or dataset.draw, dataset.corpora, numbers, share, params.seed).draw
    return draw


def read_tagged(dataset: ShardDataset, source: Side, tags: Sequence[str]) -> list[NumberedPair]:
    """Return all pairs, in order, each with the tag of its corpus, where there are any."""
    draw: DrawPair = dataset.draw
    if any(tags):
        numbers = number_tags(source, tags)
        draw = TaggedPairs(dataset.draw, dataset.corpora, numbers, untagged=0, seed=0).draw
    return [draw(number, 0) for number in range(len(dataset))]


def number_tags(source: Side, tags: Sequence[str]) -> list[int | None]:
    """Return the numbers of tags in the vocabulary of source lines; None where there is none."""
    known = source.vocabulary.tags
    return [known[tag] if tag else None for tag in tags]
