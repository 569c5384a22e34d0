"""Settings of learning aligners and shortlists, and of their decisions."""

from pydantic import Field

from nmt_core.base.config import Config


class AlignerConfig(Config):
    """All that decides which links an aligner finds, besides its text."""

    max_words: int = Field(100, ge=1, le=1000)
    """Pieces of a sentence; pairs with more on either side are not learnt from."""
    stem_length: int = Field(6, ge=1, le=100)
    """First letters of a word that it is known by; what is alike in them counts as one word."""
    tail_length: int = Field(5, ge=0, le=100)
    """Last letters of a long word that are known by themselves, too; 0 for none."""
    model_1_iterations: int = Field(4, ge=1, le=100)
    """Of IBM model 1 with a preference for the diagonal, from which the HMM starts."""
    hmm_iterations: int = Field(2, ge=0, le=100)
    """Of the HMM, each direction for itself."""
    agreement_iterations: int = Field(3, ge=0, le=100)
    """Of the HMM, counting what both directions agree on (Liang et al. 2006)."""
    pseudo_count: float = Field(0.01, ge=0.005, le=10)
    """Of any pair of words before any text is seen: the Dirichlet's parameter."""
    likeness_count: float = Field(1.0, ge=0, le=1000)
    """More of it for pairs that are spelt alike, times how much so."""
    least_likeness: float = Field(0.6, gt=0, le=1)
    """From which words count as spelt alike."""
    null_probability: float = Field(0.1, gt=0, lt=1)
    """That a word translates none."""
    diagonal: float = Field(4.0, ge=0, le=100)
    """How much model 1 prefers words at the same relative place (Dyer et al. 2013)."""
    jump_width: int = Field(8, ge=1, le=100)
    """Positions up to which the HMM tells jumps apart."""
    threshold: float = Field(0.3, gt=0, lt=1)
    """From which geometric mean of both directions' probabilities two words are linked."""


class ShortlistConfig(Config):
    """How many tokens a shortlist holds, and from how much text it is learnt."""

    translations: int = Field(20, ge=1, le=1000)
    """Target tokens for each token of the source: those that it is linked with most often."""
    frequent: int = Field(50, ge=1, le=10_000)
    """Target tokens for any source: those that are most frequent."""
    pairs: int = Field(200_000, ge=1, le=10_000_000)
    """Training pairs to learn from."""
