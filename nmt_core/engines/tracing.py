"""Our models as graphs of ONNX: what PyTorch does for an example, written down.

Only export imports this file.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper
from torch import Tensor, nn
from typing_extensions import override

from nmt_core.data.batch import pad
from nmt_core.engines.quantization import quantize
from nmt_core.engines.settings import AFTER, DECODER, ENCODER, Precision
from nmt_core.models import convs2s, rnn
from nmt_core.models.convs2s import ConvS2SState
from nmt_core.models.embedding import SinusoidalPositions
from nmt_core.models.seq2seq import Memory, Seq2Seq, State
from nmt_core.models.settings import Seq2SeqConfig, TransformerConfig
from nmt_core.text.vocabulary import EOS, PAD

OPERATORS = 17
"""The version of ONNX's operators."""

LOOKING = (rnn.Attention, convs2s.PublishedAttention, convs2s.ArticleAttention)
"""What returns, second, at what each position looks."""


STDERR = 2
"""Its number."""

EXAMPLE = ((EOS, EOS, EOS), (EOS, EOS))
LONGER_EXAMPLE = ((EOS,) * 5,) * 3
"""Sources in numbers of tokens, which every vocabulary has."""


def explain_untraceable(config: Seq2SeqConfig) -> str | None:
    """Return why a model cannot be written for ONNX Runtime, in a few words; None if it can."""
    return "a Transformer's cache" if isinstance(config, TransformerConfig) else None


class Encode(nn.Module):
    """Reads sources: returns what belongs to each sentence, and the state it begins from.

    What a recurrent encoder says of every word goes out, too, though nothing may need it: torch
    fails to write down a recurrence of which only the end is used.
    """

    def __init__(self, model: Seq2Seq[Any, Any]) -> None:
        super().__init__()
        self.model = model

    @override
    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        words: list[Tensor] = []
        with watch(self.model, (rnn.Encoder,), 0, words):
            memory = self.model.encode(source, source == PAD)
        return (*memory.tensors(), *self.model.start(memory).tensors(), *words)


class Decode(nn.Module):
    """Reads one more token of every hypothesis.

    It returns log-probabilities (R, V), what was looked at (R, S) if anything, and the state.

    Args:
        model: what reads.
        memory: an example.
        state: an example.
    """

    def __init__(self, model: Seq2Seq[Any, Any], memory: Memory, state: State) -> None:
        super().__init__()
        self.model = model
        self.memory, self.state = memory, state

    @override
    def forward(
        self, tokens: Tensor, parents: Tensor, position: Tensor, *parts: Tensor
    ) -> tuple[Tensor, ...]:
        given = iter(parts)
        memory = self.memory.map(lambda _: next(given))
        state = self.state.map(lambda _: next(given)).select(parents)
        if isinstance(state, ConvS2SState):
            state = replace(state, position=cast("Any", position))
        looks: list[Tensor] = []
        with watch(self.model, LOOKING, 1, looks):
            hidden, after = self.model.decode(tokens, memory, state)
        log_probs = self.model.project(hidden[:, -1]).log_softmax(dim=-1)
        seen = [torch.stack(looks).mean(dim=0)[:, -1]] if looks else []
        if isinstance(after, ConvS2SState):
            after = replace(after, position=0)
        return (log_probs, *seen, *after.tensors())


@contextmanager
def watch(
    model: nn.Module, kinds: tuple[type[nn.Module], ...], part: int, seen: list[Tensor]
) -> Iterator[None]:
    """Note a part of what all modules of some kinds return, each time they do."""
    hooks = [
        module.register_forward_hook(lambda _module, _inputs, output: seen.append(output[part]))
        for module in model.modules()
        if isinstance(module, kinds)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def write_onnx(
    folder: Path, precision: Precision, *, model: Seq2Seq[Any, Any], positions: int
) -> None:
    """Write a model as ONNX Runtime reads it.

    Args:
        folder: where to; it is made.
        precision: of products by weights.
        model: of whose settings :func:`explain_untraceable` has nothing to say.
        positions: how many there may be on either side, in tokens.
    """
    model = deepcopy(model).to("cpu", torch.float32).eval().requires_grad_(requires_grad=False)
    for module in model.modules():
        if isinstance(module, SinusoidalPositions):
            module(torch.zeros(1, 1, module.table.size(1)), positions)  # makes its table so long
    folder.mkdir(parents=True)
    for name, graph in ((ENCODER, trace_encoder(model)), (DECODER, trace_decoder(model))):
        if precision == "int8":
            quantize(graph)
        onnx.checker.check_model(graph)
        onnx.save(graph, folder / name)


def trace_encoder(model: Seq2Seq[Any, Any]) -> ModelProto:
    """Return the graph that reads sources (B, S)."""
    memory, state = encode(model, EXAMPLE)
    names = [*name_parts("memory", memory), *name_parts("state", state)]
    if isinstance(model, rnn.Rnn):
        names.append("words")
    return trace(Encode(model), {"source": pad(EXAMPLE)}, names, {"source": {0: "B", 1: "S"}})


def trace_decoder(model: Seq2Seq[Any, Any]) -> ModelProto:
    """Return the graph that reads a token of every hypothesis, and finds what follows best."""
    memory, state = encode(model, EXAMPLE)
    inputs = {
        "tokens": torch.full((2 * len(EXAMPLE), 1), EOS),
        "parents": torch.arange(len(EXAMPLE)).repeat_interleave(2),
        "position": torch.tensor(1),
        **(kept := name_parts("memory", memory)),
        **(carried := name_parts("state", state)),
    }
    others = name_parts("memory", encode(model, LONGER_EXAMPLE)[0])
    sizes = {
        "tokens": {0: "R"},
        "parents": {0: "R"},
        **{name: name_axes(part, others[name]) for name, part in kept.items()},
        **{name: {0: "P"} for name in carried},  # rows that were there before
    }
    looking = any(isinstance(module, LOOKING) for module in model.modules())
    names = ["all", *(["looks"] if looking else []), *(f"{name}{AFTER}" for name in carried)]
    graph = trace(Decode(model, memory, state), inputs, names, sizes)
    add_choice(graph)
    return graph


@torch.no_grad()
def encode(model: Seq2Seq[Any, Any], source: Sequence[Sequence[int]]) -> tuple[Memory, State]:
    """Return what belongs to example sentences, and the state they begin from."""
    padded = pad(source)
    memory = model.encode(padded, padded == PAD)
    return memory, model.start(memory)


def name_parts(kind: str, rows: Memory | State) -> dict[str, Tensor]:
    """Return all tensors by name."""
    return {f"{kind}.{number}": part for number, part in enumerate(rows.tensors())}


def name_axes(part: Tensor, other: Tensor) -> dict[int, str]:
    """Name the axes of which the size depends on the sentences: how many and how long."""
    sizes = zip(part.shape, other.shape, strict=True)
    return {axis: "S" if axis else "B" for axis, (one, two) in enumerate(sizes) if one != two}


@contextmanager
def silence() -> Iterator[None]:
    """Keep from people what torch says of how it traces, some of it from below Python."""
    kept = os.dup(STDERR)
    try:
        with Path(os.devnull).open("wb") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.dup2(nowhere.fileno(), STDERR)
            yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)


def trace(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    sizes: Mapping[str, Mapping[int, str]],
) -> ModelProto:
    """Return what a module does, as a graph.

    Args:
        module: of tensors in, tensors out.
        inputs: examples, by the names that they get.
        outputs: the names that they get.
        sizes: what varies: of inputs, names of axes.
    """
    file = BytesIO()
    with silence(), torch.enable_grad():  # else layers lay out weights for a search
        torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            cast("Any", file),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=sizes,
            opset_version=OPERATORS,
            dynamo=False,  # whose successor knows no packed sequences
        )
    return onnx.load_model_from_string(file.getvalue())


def add_choice(model: ModelProto) -> None:
    """Let a graph choose the likeliest tokens of what may be written, by input ``forbidden``.

    That takes the place of the log-probabilities of all tokens, which nobody else needs.
    """
    graph = model.graph
    [everything] = (one for one in graph.output if one.name == "all")
    graph.output.remove(everything)
    vocabulary = everything.type.tensor_type.shape.dim[1].dim_value
    graph.initializer.append(numpy_helper.from_array(np.array(EOS), "EOS"))
    whole, real = TensorProto.INT64, TensorProto.FLOAT
    graph.input.extend(
        [
            helper.make_tensor_value_info("forbidden", real, [vocabulary]),
            helper.make_tensor_value_info("count", whole, [1]),
        ]
    )
    graph.output.extend(
        [
            helper.make_tensor_value_info("log_probs", real, ["R", "N"]),
            helper.make_tensor_value_info("next", whole, ["R", "N"]),
            helper.make_tensor_value_info("end", real, ["R"]),
        ]
    )
    graph.node.extend(
        [
            helper.make_node("Add", ["all", "forbidden"], ["allowed"]),
            helper.make_node("TopK", ["allowed", "count"], ["log_probs", "next"]),
            helper.make_node("Gather", ["all", "EOS"], ["end"], axis=1),
        ]
    )
