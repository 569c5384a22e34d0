"""Trace our models by examples into ONNX graphs.

Only export imports this file.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import torch
from jaxtyping import Float
from onnx import ModelProto, TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.onnx.errors import OnnxExporterError
from typing_extensions import override

from nmt_core.data.batch import pad
from nmt_core.engines.engine import InexpressibleError
from nmt_core.engines.quantization import quantize
from nmt_core.engines.settings import AFTER, DECODER, ENCODER, Precision
from nmt_core.models.embedding import SinusoidalPositions
from nmt_core.models.seq2seq import Carried, Memory, Seq2Seq, State
from nmt_core.text.vocabulary import EOS, PAD

OPERATORS = 17
"""The version of ONNX's operators."""

STDERR = 2
"""Its number."""

EXAMPLE = ((EOS, EOS, EOS), (EOS, EOS))
LONGER_EXAMPLE = ((EOS,) * 5,) * 3
"""Sources in numbers of tokens, which every vocabulary has."""


class Encode(nn.Module):
    """Encodes sources: returns the memory of each sentence, and its first state."""

    def __init__(self, model: Seq2Seq[Any, Any]) -> None:
        super().__init__()
        self.model = model

    @override
    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        memory = self.model.encode(source, source == PAD)
        carried = self.model.start(memory).take_apart()
        return (*memory.tensors(), *carried.past, *carried.own)


class Decode(nn.Module):
    """Reads one more token of every hypothesis.

    It returns log-probabilities (R, V), attention (R, S) if there is any, and the next state.

    Args:
        model: the model.
        memory: an example.
        state: an example.
    """

    def __init__(self, model: Seq2Seq[Any, Any], memory: Memory, state: State) -> None:
        super().__init__()
        self.model = model
        self.memory, self.state = memory, state
        self.shared = len(state.take_apart().past)

    @override
    def forward(
        self, tokens: Tensor, parents: Tensor, position: Tensor, *parts: Tensor
    ) -> tuple[Tensor, ...]:
        given = iter(parts)
        memory = self.memory.map(lambda _: next(given))
        past = list(islice(given, self.shared))
        state = self.state.put_together(Carried(past, list(given), position), parents)
        with watch(self.model.list_looking()) as looks:
            hidden, after = self.model.decode(tokens, memory, state)
        log_probs = self.model.project(hidden[:, -1]).log_softmax(dim=-1)
        seen = [join_looks(looks)] if looks else []
        seen = [self.model.leave_source_start(look) for look in seen]
        carried = after.take_apart()
        return (log_probs, *seen, *carried.past, *carried.own)


def join_looks(looks: Sequence[Tensor]) -> Float[Tensor, "R S"]:
    """Return the mean over layers, (R, 1, S) each, or over the heads of one, (B, H, K, S)."""
    first, *_ = looks
    if first.dim() == len("BHKS"):
        return first.mean(dim=1).flatten(0, 1)
    return torch.stack(list(looks)).mean(dim=0)[:, -1]


@contextmanager
def watch(modules: Sequence[nn.Module]) -> Iterator[list[Tensor]]:
    """Record the second outputs of modules."""
    seen: list[Tensor] = []
    hooks = [
        module.register_forward_hook(lambda _module, _inputs, output: seen.append(output[1]))
        for module in modules
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def write_onnx(
    folder: Path, precision: Precision, *, model: Seq2Seq[Any, Any], positions: int, **_: object
) -> None:
    """Write a model as ONNX Runtime reads it.

    Args:
        folder: where to; it is made.
        precision: of products by weights.
        model: of any architecture.
        positions: how many there may be on either side, in tokens.

    Raises:
        InexpressibleError: if ONNX has no operator for something that the model does.
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
    names = [*name_parts(*encode(model, EXAMPLE))]
    sizes = {"source": {0: "B", 1: "S"}} | name_axes(model)
    return trace(Encode(model), {"source": pad(EXAMPLE)}, names, sizes)


def trace_decoder(model: Seq2Seq[Any, Any]) -> ModelProto:
    """Return the graph that reads a token of every hypothesis, and ranks the next ones."""
    memory, state = encode(model, EXAMPLE)
    parts = name_parts(memory, state)
    inputs = {
        "tokens": torch.full((2 * len(EXAMPLE), 1), EOS),
        "parents": torch.arange(len(EXAMPLE)).repeat_interleave(2),
        "position": torch.tensor(1),
        **parts,
    }
    axes = name_axes(model)
    after = {
        f"{name}{AFTER}": {axis: f"{letter}{AFTER}" for axis, letter in axes[name].items()}
        for name in parts
        if not name.startswith("memory")
    }
    names = ["all", *(["looks"] if model.list_looking() else []), *after]
    sizes = {"tokens": {0: "R"}, "parents": {0: "R"}} | axes | after
    graph = trace(Decode(model, memory, state), inputs, names, sizes)
    add_choice(graph)
    return graph


@torch.no_grad()
def encode(model: Seq2Seq[Any, Any], source: Sequence[Sequence[int]]) -> tuple[Memory, State]:
    """Return the memory of example sentences, and their first state."""
    padded = pad(source)
    memory = model.encode(padded, padded == PAD)
    return memory, model.start(memory)


def name_parts(memory: Memory, state: State) -> dict[str, Tensor]:
    """Name the tensors that go from the encoder to the decoder, and from step to step."""
    carried = state.take_apart()
    kinds = {"memory": memory.tensors(), "past": carried.past, "state": carried.own}
    return {
        f"{kind}.{number}": part
        for kind, parts in kinds.items()
        for number, part in enumerate(parts)
    }


def name_axes(model: Seq2Seq[Any, Any]) -> dict[str, dict[int, str]]:
    """Name the axes of these that vary.

    They are sentences, B, or hypotheses that were there before, P; the length of the sentences, S,
    or M where it counts a BOS; and what they have read, E, which is nothing at first.
    """
    length = "M" if model.source_start else "S"
    one, other = (name_parts(*encode(model, source)) for source in (EXAMPLE, LONGER_EXAMPLE))
    return {
        name: {
            axis: (length if size else "E") if axis else ("P" if name.startswith("state") else "B")
            for axis, size in enumerate(part.shape)
            if size != other[name].size(axis) or not size
        }
        for name, part in one.items()
    }


@contextmanager
def silence() -> Iterator[None]:
    """Silence torch's messages of tracing, some of which come from C++."""
    stderr = os.dup(STDERR)
    try:
        with Path(os.devnull).open("wb") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.dup2(nowhere.fileno(), STDERR)
            yield
    finally:
        os.dup2(stderr, STDERR)
        os.close(stderr)


def trace(
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    outputs: Sequence[str],
    sizes: Mapping[str, Mapping[int, str]],
) -> ModelProto:
    """Trace a module into a graph.

    Args:
        module: of tensors in, tensors out.
        inputs: examples, by the names that they get.
        outputs: the names that they get.
        sizes: dynamic axes of inputs, by name.
    """
    file = BytesIO()
    try:
        with silence(), torch.enable_grad():  # else layers compute as is fastest in a search
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
    except OnnxExporterError as error:
        raise InexpressibleError(str(error).split("\n")[0].rstrip(".")) from None
    return onnx.load_model_from_string(file.getvalue())


def add_choice(model: ModelProto) -> None:
    """Let a graph choose the likeliest tokens that are not ``forbidden``, an input.

    They replace the log-probabilities of all tokens, which nothing else needs.
    """
    graph = model.graph
    [everything] = (output for output in graph.output if output.name == "all")
    graph.output.remove(everything)
    vocabulary = everything.type.tensor_type.shape.dim[1].dim_value
    graph.initializer.append(numpy_helper.from_array(np.array(EOS), "EOS"))
    whole, floating = TensorProto.INT64, TensorProto.FLOAT
    graph.input.extend(
        [
            helper.make_tensor_value_info("forbidden", floating, [vocabulary]),
            helper.make_tensor_value_info("count", whole, [1]),
        ]
    )
    graph.output.extend(
        [
            helper.make_tensor_value_info("log_probs", floating, ["R", "N"]),
            helper.make_tensor_value_info("next", whole, ["R", "N"]),
            helper.make_tensor_value_info("end", floating, ["R"]),
        ]
    )
    graph.node.extend(
        [
            helper.make_node("Add", ["all", "forbidden"], ["allowed"]),
            helper.make_node("TopK", ["allowed", "count"], ["log_probs", "next"]),
            helper.make_node("Gather", ["all", "EOS"], ["end"], axis=1),
        ]
    )
