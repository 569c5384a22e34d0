"""Quantize ONNX graphs to products of eight-bit numbers, with independent rows.

Weights are scaled for each output, inputs for each row by its largest number: with one scale for a
whole batch, as in quantisers at large, a translation would depend on its neighbours. Products are
summed in whole numbers, exactly, so in any order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

INPUT_LEVELS = 63
"""Of inputs, 64 is added to which: two products of at most 127 by 127 fit the 16 bits in which
processors without VNNI add them up; more would be cut off."""

WEIGHT_LEVELS = 127

LEAST_OUTPUTS = 16
"""A product with fewer is as fast in float32."""

CONTRIBUTED = "com.microsoft"
"""Operators of ONNX Runtime that ONNX does not have."""


def quantize(model: ModelProto) -> None:
    """Replace every product by constant weights by one of eight-bit numbers."""
    graph = model.graph
    constants = read_constants(graph)
    writer = _Writer(graph)
    for node in list(graph.node):
        weight = find_weight(node, constants)
        if weight is None or weight.shape[1] < LEAST_OUTPUTS:
            writer.nodes.append(node)
        else:
            writer.write_product(node, weight)
    del graph.node[:]
    graph.node.extend(writer.nodes)
    drop_unused(graph)
    model.opset_import.append(helper.make_opsetid(CONTRIBUTED, 1))


def read_constants(graph: GraphProto) -> dict[str, NDArray[Any]]:
    """Return the constants of a graph, by name."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        elif node.op_type == "Transpose" and node.input[0] in constants:
            order = next((list(tensor.ints) for tensor in node.attribute), None)
            constants[node.output[0]] = constants[node.input[0]].transpose(order)
    return constants


def find_weight(node: NodeProto, constants: dict[str, NDArray[Any]]) -> NDArray[np.float32] | None:
    """Return the weights (inputs, outputs) of a product by a constant matrix; None of others."""
    if node.op_type not in ("MatMul", "Gemm") or node.input[1] not in constants:
        return None
    weight = constants[node.input[1]]
    turned = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    is_matrix = len(weight.shape) == len(("inputs", "outputs"))
    return (weight.T if turned else weight) if is_matrix else None


def drop_unused(graph: GraphProto) -> None:
    """Drop nodes that no output needs."""
    needed = {tensor.name for tensor in graph.output}
    used = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            used.append(node)
    initial = [tensor for tensor in graph.initializer if tensor.name in needed]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(used))
    graph.initializer.extend(initial)


class _Writer:
    """Nodes of a new graph, in order."""

    def __init__(self, graph: GraphProto) -> None:
        self.graph = graph
        self.nodes: list[NodeProto] = []
        self._read: set[str] = set()  # inputs that are there in eight bits
        self.one = self._constant("one", np.float32(1))
        self.zero = self._constant("zero", np.uint8(64))
        self.step = self._constant("step", np.float32(1 / INPUT_LEVELS))
        self.least = self._constant("least", np.float32(1e-30))

    def _constant(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        self.graph.initializer.append(numpy_helper.from_array(array, f"quantized.{name}"))
        return f"quantized.{name}"

    def _node(self, kind: str, *inputs: str, output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def write_product(self, node: NodeProto, weight: NDArray[np.float32]) -> None:
        """Write a product, and its bias if it has one."""
        x, [y] = node.input[0], node.output
        scale = np.abs(weight).max(axis=0) / np.float32(WEIGHT_LEVELS)
        scale[scale == 0] = 1
        whole = np.rint(weight / scale).astype(np.int8)
        self._read_input(x)
        product = self._node(
            "MatMulIntegerToFloat",
            f"{x}.whole",
            self._constant(f"{y}.weight", whole),
            self.one,
            self._constant(f"{y}.scale", scale.astype(np.float32)),
            self.zero,
            output=f"{y}.product",
            domain=CONTRIBUTED,
        )
        _, _, *biases = node.input
        scaled = f"{y}.scaled" if biases else y
        self._node("Mul", product, f"{x}.scale", output=scaled)
        for bias in biases:
            self._node("Add", scaled, bias, output=y)

    def _read_input(self, x: str) -> None:
        """Write the rows of an input in eight bits, and the scale of each."""
        if x in self._read:
            return
        self._read.add(x)
        size = self._node("Abs", x, output=f"{x}.size")
        most = self._node("ReduceMax", size, output=f"{x}.most", axes=[-1], keepdims=1)
        step = self._node("Mul", most, self.step, output=f"{x}.step")
        scale = self._node("Max", step, self.least, output=f"{x}.scale")
        scaled = self._node("Div", x, scale, output=f"{x}.scaled")
        self._node("QuantizeLinear", scaled, self.one, self.zero, output=f"{x}.whole")
