"""Shortlists: the few target tokens that a translation may consist of, given those of its source.

A search then computes the probability of some hundred tokens in place of all of them (Jean et al.
2015, section 3.2; L'Hostis et al. 2016).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.batches import pair_text, spread
from nmt_core.text.aligner.learning import Learner
from nmt_core.text.aligner.lexicon import measure_priors
from nmt_core.text.aligner.settings import AlignerConfig, ShortlistConfig

MOST_PLACES = 2**26
"""Tokens of the source times those of the target, over all pairs, that are learnt from: memory for
more is some gigabytes."""

LEAST_COUNT = 0.01
"""Expected links of two tokens below which one is no translation of the other."""


class Shortlist(NamedTuple):
    """The target tokens that translations may consist of, in numbers."""

    always: Sequence[int]
    """Those of any translation."""
    translations: Mapping[int, Sequence[int]]
    """More for each token of the source."""


Tokens = NDArray[np.int64]


def learn_shortlist(
    pairs: Sequence[tuple[Tokens, Tokens]],
    tokens: tuple[Sequence[str], Sequence[str]],
    config: ShortlistConfig,
) -> Shortlist:
    """Learn a shortlist from numbered sentence pairs, by IBM model 1 in both directions.

    A token may always be translated by one that is spelt like it, and all may be spelt by single
    letters and digits.

    Args:
        pairs: source and target; those that are too long, or empty on a side, are passed over, and
            of too many long ones some all over the text are taken.
        tokens: the vocabularies of source and target.
        config: how many tokens.
    """
    settings = AlignerConfig()
    kept = [pair for pair in pairs if all(0 < len(side) <= settings.max_words for side in pair)]
    kept = kept[spread(kept, MOST_PLACES)]
    counted = Counter(number for _, target in kept for number in target.tolist())
    frequent = sorted(counted, key=lambda number: (-counted[number], number))[: config.frequent]
    letters = [n for n, token in enumerate(tokens[1]) if len(token) == 1 and token.isascii()]
    alike = {token: number for number, token in enumerate(tokens[1])}
    translations: dict[int, list[int]] = defaultdict(list)
    for number, token in enumerate(tokens[0]):
        if token in alike:
            translations[number].append(alike[token])
    for source, target in _list_links(kept, tokens, settings):
        known = translations[source]
        if len(known) < config.translations and target not in known:
            known.append(target)
    return Shortlist([*dict.fromkeys([*frequent, *letters])], dict(translations))


def _list_links(
    pairs: Sequence[tuple[Tokens, Tokens]],
    tokens: tuple[Sequence[str], Sequence[str]],
    settings: AlignerConfig,
) -> list[tuple[int, int]]:
    """Return linked tokens of source and target, those with the most expected links first."""
    if not pairs:
        return []
    text = pair_text([one for one, _ in pairs], [other for _, other in pairs], len(tokens[1]))
    learner = Learner(settings, text, measure_priors(text.keys, tokens, settings))
    for _ in range(settings.model_1_iterations):
        learner.step_model_1()
    counts = np.add(*(direction.pairs[:-1] for direction in learner.counts))
    order = np.argsort(-counts, kind="stable")
    keys = text.keys[order[counts[order] >= LEAST_COUNT]]
    return [*zip(*(side.tolist() for side in np.divmod(keys, len(tokens[1]))), strict=True)]
