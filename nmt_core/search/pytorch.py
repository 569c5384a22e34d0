"""The engine PyTorch, which supports every model and every search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import override

from nmt_core.base import files
from nmt_core.base.compute import find_device, set_threads
from nmt_core.base.seal import explain_unreadable
from nmt_core.data.batch import pad
from nmt_core.models.seq2seq import Seq2Seq
from nmt_core.models.settings import build_model, read_model_config
from nmt_core.models.weights import restore_model
from nmt_core.search.beam import beam_search
from nmt_core.search.engine import Engine, Hypothesis, Request, batches_by_length
from nmt_core.search.rules import Constraint, forbid_tokens
from nmt_core.search.settings import BeamConfig, SamplingConfig
from nmt_core.search.stepwise import sample
from nmt_core.search.trace import Step, trace_beam_search
from nmt_core.text.vocabulary import BOS, PAD, Vocabulary

MAX_BATCH_LOG_PROBS = 2**24
"""Maximum log-probabilities of a batch, hypotheses times vocabulary: 70 MB, or several times as
much for sampling."""


@dataclass(frozen=True)
class PyTorchEngine(Engine):
    """Translates with a PyTorch model, which it puts in evaluation mode."""

    model: Seq2Seq[Any, Any]
    vocabulary_size: int
    """Size of the target vocabulary in tokens, V."""
    name: str = "torch"
    never: tuple[int, ...] = ()
    """IDs of tokens that must not occur in a translation."""

    def __post_init__(self) -> None:
        self.model.eval()

    @override
    def explain_refusal(self, search: BeamConfig, *, prefixes: bool) -> str | None:
        return None

    @override
    def search(
        self,
        requests: Sequence[Request],
        search: BeamConfig,
        *,
        batch_tokens: int,
        probabilities: bool = True,
        attention: bool = False,
    ) -> list[list[Hypothesis]]:
        run = partial(beam_search, self.model, config=search, constraints=self._constraints)
        results = self._run(requests, run, hypotheses=search.beam_size, batch_tokens=batch_tokens)
        return [*map(self._add_attention, requests, results)] if attention else results

    def trace(self, request: Request, search: BeamConfig) -> tuple[list[Step], list[Hypothesis]]:
        """Return the unfinished hypotheses after every token, and the n-best list of a sentence."""
        prefix = self._rows([request.prefix])
        source = self._rows([request.source])
        constraints = self._constraints
        return trace_beam_search(self.model, source, search, constraints=constraints, prefix=prefix)

    def sample(
        self,
        requests: Sequence[Request],
        sampling: SamplingConfig,
        search: BeamConfig,
        *,
        batch_tokens: int,
    ) -> list[list[Hypothesis]]:
        """Return sampled translations of every request, in the order they were drawn."""
        run = partial(
            sample, self.model, sampling=sampling, search=search, constraints=self._constraints
        )
        return self._run(requests, run, hypotheses=sampling.samples, batch_tokens=batch_tokens)

    @torch.inference_mode()
    def next_tokens(self, request: Request, count: int) -> list[tuple[int, float]]:
        """Return the most likely tokens after the prefix with their probabilities, best first."""
        source, target = self._rows([request.source]), self._rows([[BOS, *request.prefix]])
        memory = self.model.encode(source, source == PAD)
        hidden, _ = self.model.decode(target, memory, self.model.start(memory))
        probabilities = self.model.log_probs(hidden[0, -1]).exp()
        best = probabilities.topk(min(count, len(probabilities)))
        return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))

    @torch.inference_mode()
    def attend(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]] | None:
        """Return the attention of each target token and EOS to each source token and EOS.

        The result is one array (target tokens + 1, source tokens + 1) per sentence, or None if the
        model has no attention. Sources end with EOS, targets do not.
        """
        source = self._rows(sources)
        memory = self.model.encode(source, source == PAD)
        weights = self.model.attention(self._rows([[BOS, *tokens] for tokens in targets]), memory)
        if weights is None:
            return None
        return [
            np.asarray(matrix[: len(target) + 1, : len(source)], dtype=np.float32)
            for matrix, source, target in zip(weights.cpu(), sources, targets, strict=True)
        ]

    def _add_attention(self, request: Request, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses with their attention weights."""
        matrices = self.attend(
            [request.source] * len(hypotheses), [hypothesis.tokens for hypothesis in hypotheses]
        )
        if matrices is None:
            return hypotheses
        return [
            hypothesis._replace(attention=weights)
            for hypothesis, weights in zip(hypotheses, matrices, strict=True)
        ]

    def _run(
        self,
        requests: Sequence[Request],
        run: Callable[..., list[list[Hypothesis]]],
        *,
        hypotheses: int,
        batch_tokens: int,
    ) -> list[list[Hypothesis]]:
        """Batch the requests by length; return the results of ``run`` in the order of requests."""
        lengths = {row: len(request.source) for row, request in enumerate(requests)}
        max_rows = MAX_BATCH_LOG_PROBS // (hypotheses * self.vocabulary_size)
        results: list[list[Hypothesis]] = [[] for _ in requests]
        for rows in batches_by_length(lengths, max_tokens=batch_tokens, max_rows=max_rows):
            batch = [requests[row] for row in rows]
            source = self._rows([request.source for request in batch])
            prefix = self._rows([request.prefix for request in batch])
            found = run(source=source, source_padding=source == PAD, prefix=prefix)
            for row, translations in zip(rows, found, strict=True):
                results[row] = translations
        return results

    @property
    def _constraints(self) -> tuple[Constraint, ...]:
        device = next(self.model.parameters()).device
        return (forbid_tokens(self.never, device),) if self.never else ()

    def _rows(self, numbers: Sequence[Sequence[int]]) -> Int[Tensor, "B T"]:
        """Return padded rows on the model's device."""
        return pad(numbers).to(next(self.model.parameters()).device)


def load_pytorch(
    folder: Path, source: Vocabulary, target: Vocabulary, *, device: str, threads: int | None
) -> PyTorchEngine:
    """Load the model of a verified bundle.

    The device ``auto`` is a GPU if there is one. ``threads`` None keeps the number of CPU threads.

    Raises:
        BundleError: if the weights are missing, or do not match the settings.
        ConfigError: if the device does not exist.
    """
    set_threads(threads)
    with explain_unreadable(folder / "model.json"):
        settings = read_model_config(files.read_json(folder / "model.json"))
    build = partial(build_model, settings, source_size=len(source), target_size=len(target))
    with explain_unreadable(folder / "model.json"):  # settings may not fit the vocabularies
        model = restore_model(folder / "model.safetensors", build)
    return PyTorchEngine(
        model.to(find_device(device)), len(target), never=tuple(target.tags.values())
    )
