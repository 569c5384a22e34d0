"""One direction of an aligner: the words of one side are explained by those of the other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_core.text.aligner.batches import AlignmentBatch
from nmt_core.text.aligner.jumps import Jumps
from nmt_core.text.aligner.lattice import Lattice, Posteriors, sum_alignments
from nmt_core.text.aligner.lexicon import Lexicon

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Direction:
    """A model that explains each target word by a source word, or by none."""

    lexicon: Lexicon
    jumps: Jumps
    null_probability: float
    diagonal: float

    def explain(self, batch: AlignmentBatch) -> Posteriors:
        """Return the posteriors of the HMM; see :class:`Posteriors`, J being target words."""
        words, pairs = batch.target.shape
        positions = len(batch.source) + 1
        emissions = np.zeros((words, positions, pairs))
        emissions[:, 1:] = self.lexicon.pairs[batch.cells].transpose(1, 0, 2)
        return sum_alignments(
            Lattice(
                emissions,
                self.lexicon.nulls[batch.target],
                self.jumps.matrix(positions),
                self.jumps.norms(batch.source_lengths),
                batch.target_lengths,
                self.null_probability,
            )
        )

    def explain_by_place(self, batch: AlignmentBatch) -> tuple[Array, Array]:
        """Return the posteriors and log-likelihoods of IBM model 1 that prefers the diagonal.

        Its prior is that of Dyer et al. (2013, section 2).

        Returns:
            Probabilities (target words, source words + 1, pairs), the first position empty, and
            the log-likelihood of each pair.
        """
        words, pairs = batch.target.shape
        ours = (np.arange(len(batch.source))[:, None] + 1) / (batch.source_lengths + 1)
        theirs = (np.arange(words)[:, None] + 1) / (batch.target_lengths + 1)
        prior = np.exp(-self.diagonal * np.abs(theirs[:, None] - ours))
        prior *= np.arange(len(batch.source))[:, None] < batch.source_lengths
        prior /= np.add.reduce(prior, axis=1, keepdims=True)
        links = np.zeros((words, len(batch.source) + 1, pairs))
        links[:, 1:] = self.lexicon.pairs[batch.cells].transpose(1, 0, 2) * prior
        links *= 1 - self.null_probability
        none = self.null_probability * self.lexicon.nulls[batch.target]
        totals = np.add.reduce(links, axis=1) + none
        inside = np.arange(words)[:, None] < batch.target_lengths
        links = np.where(inside[:, None], links / totals[:, None], 0.0)
        return links, np.where(inside, np.log(totals), 0.0).sum(axis=0)
