"""ONNX Runtime (onnxruntime.ai): the models that CTranslate2 cannot express, in int8 or float32.

The bundle holds two graphs: one reads sources, the other one more token of every hypothesis. The
search around them is ours. This file imports no torch.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as state
from typing_extensions import override

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.seal import explain_unreadable
from nmt_core.data.by_length import batches_by_length
from nmt_core.decoding.beam import Ints, Next, search_beams
from nmt_core.decoding.hypothesis import Hypothesis
from nmt_core.decoding.settings import BeamConfig
from nmt_core.engines.engine import MOST_ROWS, PlainEngine, Request, explain_failure
from nmt_core.engines.settings import AFTER, DECODER, ENCODER
from nmt_core.text.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

FAILURES = (
    state.Fail,
    state.InvalidArgument,
    state.InvalidProtobuf,
    state.InvalidGraph,
    state.NoSuchFile,
    state.NotImplemented,
    state.RuntimeException,
)
"""Errors of ONNX Runtime on files that it cannot read or compute with."""

DECODER_OUTPUTS = frozenset({"log_probs", "next", "end"})
"""Outputs that the decoder must have."""

Graph: TypeAlias = onnxruntime.InferenceSession
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class OnnxEngine(PlainEngine):
    """Searches a model that was written for ONNX Runtime."""

    encoder: Graph
    decoder: Graph
    vocabulary_size: int
    """Of the target language, in tokens, V."""
    name: str
    threads: int
    """Batches that are searched at once."""
    never: tuple[int, ...] = ()
    """Numbers of tokens that no translation may hold, beside the reserved ones."""

    @property
    @override
    def sees_attention(self) -> bool:
        return any(output.name == "looks" for output in self.decoder.get_outputs())

    @override
    def search(
        self,
        requests: Sequence[Request],
        search: BeamConfig,
        *,
        batch_tokens: int,
        probabilities: bool,
        attention: bool,
    ) -> list[list[Hypothesis]]:
        attention = attention and self.sees_attention
        lengths = {row: len(request.source) for row, request in enumerate(requests)}
        batches = list(batches_by_length(lengths, max_tokens=batch_tokens, max_rows=MOST_ROWS))

        def search_batch(rows: Sequence[int]) -> list[list[Hypothesis]]:
            sources = [requests[row].source for row in rows]
            with explain_failure(self.name, *FAILURES):
                batch = OnnxBatch(self, sources, search, attention=attention)
                return search_beams(batch, batch.limits.tolist(), search)

        by_row: dict[int, list[Hypothesis]] = {}
        with ThreadPoolExecutor(self.threads) as pool:
            each = pool.map if len(batches) > 1 else map
            for rows, best in zip(batches, each(search_batch, batches), strict=True):
                by_row |= zip(rows, best, strict=True)
        return [
            [leave_padding(hypothesis, length) for hypothesis in by_row[row]]
            for row, length in lengths.items()
        ]


def leave_padding(hypothesis: Hypothesis, length: int) -> Hypothesis:
    """Cut a hypothesis's attention to the tokens of its own source sentence."""
    looks = hypothesis.attention
    return hypothesis if looks is None else hypothesis._replace(attention=looks[:, :length])


class OnnxBatch:
    """Sentences that are translated together, after their sources were encoded.

    Args:
        engine: the engine.
        sources: numbers of tokens, EOS last.
        search: settings of forbidden tokens and lengths.
        attention: whether to return attention.
    """

    def __init__(
        self,
        engine: OnnxEngine,
        sources: Sequence[Sequence[int]],
        search: BeamConfig,
        *,
        attention: bool,
    ) -> None:
        self.limits = np.array([search.limit_length(len(source)) for source in sources])
        padded = np.full((len(sources), max(map(len, sources))), PAD, dtype=np.int64)
        for row, source in zip(padded, sources, strict=True):
            row[: len(source)] = source
        self._decoder = engine.decoder
        self._wanted = {tensor.name for tensor in engine.decoder.get_inputs()}
        self._outputs = [
            tensor.name
            for tensor in engine.decoder.get_outputs()
            if attention or tensor.name != "looks"
        ]
        self._forbidden = np.zeros(engine.vocabulary_size, dtype=np.float32)
        unknown = [UNK] if search.unknown == "forbid" else []
        self._forbidden[[PAD, BOS, *unknown, *engine.never]] = -np.inf
        names = [tensor.name for tensor in engine.encoder.get_outputs()]
        parts = dict(zip(names, engine.encoder.run(names, {"source": padded}), strict=True))
        self._memory, self._past, self._state = (
            self._take(kind, parts) for kind in ("memory", "past", "state")
        )
        self._position = 0
        self._no_repeat = search.no_repeat_ngram_size

    def _take(self, kind: str, parts: Mapping[str, NDArray[Any]]) -> Arrays:
        """Return those that the decoder needs to go on, by the names of its inputs."""
        return {
            name.removesuffix(AFTER): part
            for name, part in parts.items()
            if name.startswith(f"{kind}.") and name.removesuffix(AFTER) in self._wanted
        }

    def read(self, tokens: Ints, parents: Ints, count: int) -> Next:
        """Read the last token of every hypothesis; at the length limit, EOS alone follows."""
        repeats = list_repeats(tokens, self._no_repeat)
        count += max(map(len, repeats), default=0)
        inputs = {
            "tokens": tokens[:, -1:],
            "parents": parents,
            "position": np.array(self._position),
            "forbidden": self._forbidden,
            "count": np.array([min(count, len(self._forbidden))]),
        }
        given = {name: value for name, value in inputs.items() if name in self._wanted}
        answer = self._decoder.run(self._outputs, given | self._memory | self._past | self._state)
        parts = dict(zip(self._outputs, answer, strict=True))
        self._past, self._state = self._take("past", parts), self._take("state", parts)
        self._position += 1
        log_probs, following = parts["log_probs"], parts["next"]
        for row, forbidden in enumerate(repeats):
            log_probs[row, np.isin(following[row], forbidden)] = -np.inf
        ending = np.repeat(self.limits == self._position, len(tokens) // len(self.limits))
        log_probs[ending] = -np.inf
        log_probs[ending, 0], following[ending, 0] = parts["end"][ending], EOS
        return Next(log_probs, following, parts.get("looks"))

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences alone."""
        self.limits = self.limits[sentences]
        self._memory, self._past = (
            {name: part[sentences] for name, part in parts.items()}
            for parts in (self._memory, self._past)
        )


def load_onnx(
    folder: Path, source: Vocabulary, target: Vocabulary, *, name: str, device: str, threads: int
) -> OnnxEngine:
    """Load a model that export wrote.

    Args:
        folder: of a verified bundle.
        source: tokens of the source language.
        target: tokens of the target language.
        name: the name of the engine.
        device: ``cpu``.
        threads: of the processor; each computes a batch of its own.

    Raises:
        BundleError: if there is no such model in the folder.
        ConfigError: if the device is another.
    """
    del source
    if device != "cpu":
        raise ConfigError(
            f"{name} computes on the processor, not on {device!r}; use --engine torch"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    encoder, decoder = (_load_graph(folder / file, options) for file in (ENCODER, DECODER))
    if missing := DECODER_OUTPUTS - {output.name for output in decoder.get_outputs()}:
        raise BundleError(f"{folder / DECODER} gives no {min(missing)}; export the model again")
    never = tuple(target.tags.values())
    return OnnxEngine(encoder, decoder, len(target), name, threads, never)


def _load_graph(path: Path, options: onnxruntime.SessionOptions) -> Graph:
    with explain_unreadable(path, *FAILURES):
        if b"location" in path.read_bytes():  # the key of weights in another file, anywhere
            raise ValueError("it keeps weights in another file")
        return Graph(path, options, providers=["CPUExecutionProvider"])


def list_repeats(tokens: Ints, size: int) -> list[list[int]]:
    """Return the tokens that would make ``size`` tokens in a row stand twice, of each hypothesis.

    Args:
        tokens: of hypotheses, (hypotheses, tokens so far).
        size: 0 forbids nothing.
    """
    if not 0 < size <= tokens.shape[1]:
        return []
    seen = np.lib.stride_tricks.sliding_window_view(tokens, size, axis=1)
    latest = tokens[:, tokens.shape[1] - size + 1 :]
    repeats = (seen[:, :, :-1] == latest[:, None]).all(axis=2)
    return [
        grams[row_repeats, -1].tolist() for grams, row_repeats in zip(seen, repeats, strict=True)
    ]
