"""A model whose logits are a hash of the source and of everything written so far.

The function is not smooth: a search that confuses two rows, two positions or two sentences gets
other results at once.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt_core.models.seq2seq import Memory, Seq2Seq, State
from nmt_core.text.vocabulary import EOS


@dataclass(frozen=True)
class ToyMemory(Memory):
    digest: Tensor  # (B,)


@dataclass(frozen=True)
class ToyState(State):
    digest: Tensor  # (R,)


class Toy(Seq2Seq[ToyMemory, ToyState]):
    """Args: seed; spread and bias of the logits; end, added to the logit of EOS."""

    def __init__(self, seed=0, *, target_size=7, spread=6.0, end=0.0):
        super().__init__()
        self.seed, self.spread, self.end = seed, spread, end
        self.place = nn.Parameter(torch.zeros(()))  # a model is where its parameters are
        self.words = nn.Buffer(torch.arange(1, target_size + 1))

    def encode(self, source, source_padding):
        digest = torch.full_like(source[:, 0], self.seed)
        for token, padding in zip(source.T, source_padding.T, strict=True):
            digest = digest.where(padding, mix(digest, token))
        return ToyMemory(digest)

    def start(self, memory, beam_size=1):
        return ToyState(torch.zeros_like(memory.digest).repeat_interleave(beam_size))

    def decode(self, tokens, memory, state):
        sentence = memory.digest.repeat_interleave(len(tokens) // len(memory.digest))
        digest, hidden = state.digest, []
        for token in tokens.T:
            digest = mix(digest, token)
            noise = mix(mix(sentence, digest)[:, None], self.words)
            hidden.append((noise & 0xFFFFFF) / 2**24 * self.spread)
        return torch.stack(hidden, dim=1), ToyState(digest)

    def project(self, hidden):
        logits = hidden.double()
        logits[..., EOS] += self.end
        return logits

    def attention(self, tokens, memory):
        return None


def mix(digest, token):
    digest = (digest ^ (token + 1)) * 0x2545F4914F6CDD1D
    digest = (digest ^ (digest >> 29)) * 0x1B873593CC9E2D51
    return digest ^ (digest >> 32)
