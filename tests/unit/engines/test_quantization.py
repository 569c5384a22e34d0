"""Products of eight-bit numbers: near the real ones, and each row by itself."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from nmt_core.engines.quantization import INPUT_LEVELS, LEAST_OUTPUTS, WEIGHT_LEVELS, quantize


def multiply(weight, *, bias=None, kind="MatMul", eight_bits=True):
    """Return a product by these weights (inputs, outputs), as ONNX Runtime computes it."""
    turned = kind == "Gemm"
    initial = [numpy_helper.from_array(np.ascontiguousarray(weight.T if turned else weight), "w")]
    if bias is not None:
        initial.append(numpy_helper.from_array(bias, "b"))
    attributes = {"transB": 1} if turned else {}
    inputs = ["x", "w"] + ["b"] * (bias is not None)
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, ["y"], **attributes)],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["R", weight.shape[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["R", weight.shape[1]])],
        initial,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if eight_bits:
        quantize(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return model, lambda x: session.run(None, {"x": x})[0]


def draw(seed, *shape, spread=1.0):
    """Return numbers of which the rows have very different sizes."""
    source = np.random.default_rng(seed)
    sizes = np.exp(source.normal(0, spread, (shape[0], 1)))
    return (source.standard_normal(shape) * sizes).astype(np.float32)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 999),
    rows=st.integers(1, 70),
    inputs=st.sampled_from([1, 7, 64, 300]),
    outputs=st.sampled_from([LEAST_OUTPUTS, 33, 128]),
)
def test_it_is_as_near_as_its_levels_allow(seed, rows, inputs, outputs):
    weight, x = draw(seed, outputs, inputs).T.copy(), draw(seed + 1, rows, inputs, spread=3.0)
    _, product = multiply(weight)
    half_input = np.abs(x).max(axis=1, keepdims=True) / INPUT_LEVELS / 2
    half_weight = np.abs(weight).max(axis=0, keepdims=True) / WEIGHT_LEVELS / 2
    bound = (
        half_input * np.abs(weight).sum(axis=0, keepdims=True)
        + np.abs(x).sum(axis=1, keepdims=True) * half_weight
        + inputs * half_input * half_weight
    )

    assert (np.abs(product(x) - x.astype(np.float64) @ weight) <= bound * 1.001 + 1e-6).all()


@settings(max_examples=30)
@given(
    seed=st.integers(0, 999),
    inputs=st.sampled_from([1, 7, 64, 300]),
    outputs=st.sampled_from([LEAST_OUTPUTS, 33]),
)
def test_it_is_the_product_of_whole_numbers(seed, inputs, outputs):
    """The nearest ones, summed exactly; only scales are rounded."""
    weight, x = draw(seed, outputs, inputs).T.copy(), draw(seed + 1, 9, inputs, spread=3.0)
    sizes, steps = np.abs(weight).max(axis=0), np.abs(x).max(axis=1, keepdims=True)
    scale = sizes / np.float32(WEIGHT_LEVELS)
    step = steps * np.float32(1 / INPUT_LEVELS)
    whole, read = np.rint(weight / scale).astype(np.int64), np.rint(x / step).astype(np.int64)
    _, product = multiply(weight)

    assert np.abs(whole).max() == np.iinfo(np.int8).max
    assert np.abs(read).max() == INPUT_LEVELS
    np.testing.assert_allclose(product(x), (read @ whole) * step.astype(float) * scale, rtol=1e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 999), rows=st.integers(2, 70))
def test_no_row_knows_of_another(seed, rows):
    """To the last bit, whatever stands beside it."""
    _, product = multiply(draw(seed, 64, 96, spread=0.1).T.copy())
    x = draw(seed + 1, rows, 96, spread=4.0)
    together = product(x)

    assert all(np.array_equal(product(x[row : row + 1])[0], together[row]) for row in range(rows))


def test_the_largest_numbers_do_not_overflow():
    """Two products at once of the greatest inputs by the greatest weights, in 16 bits.

    64 are added to inputs; a processor with VNNI would not notice.
    """
    assert 2 * (64 + INPUT_LEVELS) * WEIGHT_LEVELS <= np.iinfo(np.int16).max
    _, product = multiply(np.full((256, 64), 3.0, dtype=np.float32))
    for sign in (1, -1):
        x = np.full((3, 256), sign * 5.0, dtype=np.float32)

        assert product(x) == pytest.approx(np.full((3, 64), sign * 256 * 15.0), rel=1e-5)


def test_zeros_stay_zeros():
    _, product = multiply(np.zeros((8, 32), dtype=np.float32))
    assert (product(np.ones((2, 8), dtype=np.float32)) == 0).all()
    _, product = multiply(np.ones((8, 32), dtype=np.float32))
    assert (product(np.zeros((2, 8), dtype=np.float32)) == 0).all()


def test_products_with_a_bias_are_the_same():
    weight, x = draw(1, 48, 20).T.copy(), draw(2, 5, 20)
    bias = np.arange(48, dtype=np.float32)
    _, without = multiply(weight)
    model, product = multiply(weight, bias=bias, kind="Gemm")
    _, turned = multiply(weight, kind="Gemm")

    assert product(x) == pytest.approx(without(x) + bias, abs=1e-4)
    assert (turned(x) == without(x)).all()
    assert "Gemm" not in {node.op_type for node in model.graph.node}


def test_few_outputs_stay_as_they_are():
    model, _ = multiply(np.ones((8, LEAST_OUTPUTS - 1), dtype=np.float32))
    assert [node.op_type for node in model.graph.node] == ["MatMul"]


def test_weights_are_kept_once():
    model, _ = multiply(np.ones((512, 64), dtype=np.float32))
    assert model.ByteSize() < 512 * 64 * 1.2
