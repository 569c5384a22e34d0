"""Models that are tables of probabilities, so tests can reproduce examples from papers.

A table says what follows a prefix: ``{("How",): {"will": 0.36, "are": 0.32}}``. The remaining
probability is spread evenly over all other tokens except PAD and BOS. ``otherwise`` says what
follows prefixes that are not in the table.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt_core.extensions.language_models.model import LanguageModel, LanguageState
from nmt_core.models.seq2seq import Memory, Seq2Seq, State
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary

END = "</s>"

Rows = Mapping[tuple[str, ...], Mapping[str, float]]


class Table(nn.Module):
    """Log-probabilities of the next token for each prefix, with ``filler`` extra words."""

    def __init__(self, rows: Rows, *, otherwise: Mapping[str, float], filler: int = 0) -> None:
        super().__init__()
        known = dict.fromkeys(
            word for prefix, row in rows.items() for word in (*prefix, *row) if word != END
        )
        spare = [f"filler-{number}" for number in range(filler)]
        self.vocabulary = Vocabulary([*SPECIALS, *known, *spare])
        self.rows = {tuple(self.numbers(prefix)): self._spread(row) for prefix, row in rows.items()}
        self.otherwise = self._spread(otherwise)
        self.place = nn.Parameter(torch.zeros(()))  # a model is where its parameters are

    def numbers(self, words):
        """Return the ids of words; ``END`` is EOS."""
        return [EOS if word == END else self.vocabulary.encode([word])[0] for word in words]

    def forward(self, read: Tensor) -> Tensor:
        """Return what follows every row of tokens; each row starts with BOS."""
        return torch.stack([self.rows.get(tuple(row[1:]), self.otherwise) for row in read.tolist()])

    def _spread(self, row: Mapping[str, float]) -> Tensor:
        size = len(self.vocabulary)
        left = (1 - sum(row.values())) / (size - 2 - len(row))
        p = torch.full((size,), max(left, 0.0), dtype=torch.float64)
        p[[PAD, BOS]] = 0.0
        p[self.numbers(row)] = torch.tensor(list(row.values()), dtype=torch.float64)
        return p.log()


def look_up(table: Table, tokens: Tensor, read: Tensor) -> tuple[Tensor, Tensor]:
    """Return what follows each of some tokens, and everything read so far."""
    found = []
    for token in tokens.unbind(dim=1):
        read = torch.cat([read, token[:, None]], dim=1)
        found.append(table(read))
    return torch.stack(found, dim=1), read


class TableLanguageModel(LanguageModel):
    """Reads every line from its start."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def start(self, rows):
        return LanguageState(tokens=torch.empty((rows, 0), dtype=torch.long))

    def decode(self, tokens, state):
        found, read = look_up(self.table, tokens, state.tokens)
        return found, LanguageState(tokens=read)

    def log_probs(self, hidden):
        return hidden


@dataclass(frozen=True)
class Sentences(Memory):
    """The number of sentences is all that the encoder keeps of the source, (B,)."""

    rows: Tensor


@dataclass(frozen=True)
class Written(State):
    """The tokens written so far, (R, t)."""

    tokens: Tensor


class TableTranslator(Seq2Seq[Sentences, Written]):
    """Translates every source by one table."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def encode(self, source, source_padding):
        return Sentences(source[:, 0])

    def start(self, memory, beam_size=1):
        return Written(torch.empty((len(memory.rows) * beam_size, 0), dtype=torch.long))

    def decode(self, tokens, memory, state):
        found, written = look_up(self.table, tokens, state.tokens)
        return found, Written(written)

    def project(self, hidden):
        return hidden

    def attention(self, tokens, memory):
        return None
