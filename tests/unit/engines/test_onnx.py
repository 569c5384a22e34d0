"""ONNX Runtime against our own search over the same weights, for every shape it can express."""

import functools
import os
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.decoding.settings import BeamConfig
from nmt_core.engines import tracing
from nmt_core.engines.engine import Request
from nmt_core.engines.onnx import load_onnx
from nmt_core.engines.pytorch import PyTorchEngine
from nmt_core.engines.tracing import silence, watch, write_onnx
from nmt_core.models.architectures import build_model, read_model_config
from nmt_core.models.seq2seq import Memory, Seq2Seq, State
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from tests.support.presets import PRESETS, SHRUNK, VARIANTS, tiny_config
from tests.support.slow_cases import mark_slow

SIZE = 30
WORDS = Vocabulary([*SPECIALS, *(f"w{number}" for number in range(SIZE - 4))])
MODELS = [*PRESETS, *VARIANTS]
FAMILIES = [
    "rnn_attention",
    "rnn_bahdanau",
    "convs2s",
    "convs2s_article",
    "transformer",
    "transformer_article",
]
OTHERS = {
    "one layer": {"architecture": "rnn", "encoder_layers": 1, "decoder_layers": 1},
    "more to write than to read": {"architecture": "rnn", "cell": "gru", "decoder_layers": 3},
    "convs2s with sinusoids": {"architecture": "convs2s", "positions": "sinusoidal"},
    "convs2s of equal widths": {"architecture": "convs2s", "hidden_width": None, "kernel": 5},
    "transformer of one layer": {
        "architecture": "transformer",
        "encoder_layers": 1,
        "decoder_layers": 1,
        "activation": "gelu",
    },
}
QUIET = {"batch_tokens": 64, "probabilities": False, "attention": False}


def read_shape(name):
    """Return the settings of a small model."""
    if name in MODELS:
        return tiny_config(name)
    shape = OTHERS[name]
    known = read_model_config(shape).model_dump()
    small = {key: value for key, value in SHRUNK.items() if known.get(key) is not None}
    return read_model_config(small | shape)


@functools.cache
def build(name, seed=0):
    """Return a model that writes with certainty, and ends now and then."""
    torch.manual_seed(seed)
    model = build_model(read_shape(name), source_size=SIZE, target_size=SIZE).eval()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if weight.dim() == 2:
                weight.mul_(2.5 if key.startswith(("output", "target")) else 1.5)
    return model


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return PyTorch's engine and ONNX Runtime's over the same weights, traced once."""
    graphs = {}

    def trace_once(name, trace, model):
        if (name, trace) not in graphs:
            graphs[name, trace] = trace(model).SerializeToString()
        return onnx.load_from_string(graphs[name, trace])

    @functools.cache
    def make(name, precision="float32"):
        folder = tmp_path_factory.mktemp("onnx") / "model"
        with pytest.MonkeyPatch.context() as patch:
            for trace in (tracing.trace_encoder, tracing.trace_decoder):
                once = functools.partial(trace_once, name, trace)
                patch.setattr(tracing, trace.__name__, once)
            write_onnx(folder, precision, model=build(name), positions=600)
        other = load_onnx(folder, WORDS, WORDS, name=f"onnx_{precision}", device="cpu", threads=2)
        return PyTorchEngine(build(name), SIZE), other

    return make


def requests(count, *, seed=1, longest=14):
    draw = np.random.default_rng(seed)
    return [
        Request([*draw.integers(UNK + 1, SIZE, size=draw.integers(1, longest)).tolist(), EOS])
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    "search",
    [
        BeamConfig(beam_size=1, stopping="fast"),
        BeamConfig(beam_size=4, n_best=3),
    ],
    ids=["greedy", "beam"],
)
@pytest.mark.parametrize("name", mark_slow([*MODELS, *OTHERS], but=FAMILIES))
def test_it_finds_what_pytorch_finds(pair, name, search):
    asked = requests(20)
    wanted = QUIET | {"probabilities": True, "attention": True}
    mine, its = (engine.search(asked, search, **wanted) for engine in pair(name))

    assert [[one.tokens for one in best] for best in mine] == [
        [one.tokens for one in best] for best in its
    ]
    assert len({best[0].tokens for best in mine}) > 5
    for one, other in zip(chain(*mine), chain(*its), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-3)
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-3)
        without = getattr(read_shape(name), "attention", "") == "none"
        assert (one.attention is None) == (other.attention is None) == without
        if one.attention is not None:
            assert np.allclose(one.attention, other.attention, atol=1e-3)


def test_no_translation_holds_a_tag(pair, tmp_path):
    """Nor what else the vocabulary says that no text holds."""
    mine, plain = pair("rnn_attention")
    greedy = BeamConfig(beam_size=1, stopping="fast")
    written = Counter(
        token for [best] in plain.search(requests(20), greedy, **QUIET) for token in best.tokens
    )
    [(frequent, _)] = written.most_common(1)
    tokens = [f"<tag {n}>" if n == frequent else word for n, word in enumerate(WORDS.tokens)]
    write_onnx(tmp_path / "model", "float32", model=build("rnn_attention"), positions=600)
    tagged = Vocabulary(tokens)
    other = load_onnx(tmp_path / "model", WORDS, tagged, name="onnx", device="cpu", threads=1)
    mine = replace(mine, never=(frequent,))
    mine, its = (engine.search(requests(20), greedy, **QUIET) for engine in (mine, other))

    assert [best.tokens for [best] in mine] == [best.tokens for [best] in its]
    assert not any(frequent in best.tokens for [best] in its)


@dataclass(frozen=True)
class BagMemory(Memory):
    words: torch.Tensor  # (B, D)


@dataclass(frozen=True)
class BagState(State):
    words: torch.Tensor  # (R, D)


class Bag(Seq2Seq[BagMemory, BagState]):
    """An architecture of others: sums of the words read and written."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(SIZE, 16)

    def encode(self, source, source_padding):
        return BagMemory(self.words(source).masked_fill(source_padding[:, :, None], 0).sum(dim=1))

    def start(self, memory, beam_size=1):
        return BagState(torch.zeros_like(memory.words).repeat_interleave(beam_size, dim=0))

    def decode(self, tokens, memory, state):
        after = state.words[:, None] + self.words(tokens).cumsum(dim=1)
        both = after.view(memory.words.size(0), -1, *after.shape[1:]) + memory.words[:, None, None]
        return both.sin().flatten(0, 1), BagState(after[:, -1])

    def project(self, hidden, tokens=None):
        return 2 * hidden @ self.words.weight.T

    def attention(self, tokens, memory):
        return None


def test_an_architecture_needs_no_more_than_the_contract(tmp_path):
    torch.manual_seed(0)
    model = Bag().eval()
    write_onnx(tmp_path / "model", "float32", model=model, positions=80)
    other = load_onnx(tmp_path / "model", WORDS, WORDS, name="onnx", device="cpu", threads=1)
    mine, its = (
        engine.search(requests(20), BeamConfig(beam_size=4, n_best=3), **QUIET)
        for engine in (PyTorchEngine(model, SIZE), other)
    )

    assert len({best[0].tokens for best in mine}) > 5
    assert [[one.tokens for one in best] for best in mine] == [
        [one.tokens for one in best] for best in its
    ]


@st.composite
def searches(draw):
    beam_size = draw(st.integers(1, 7))
    factor, offset, most = draw(
        st.sampled_from([(1.5, 10, 256), (0.5, 1, 256), (0.0, 1, 9), (1.5, 10, 4)])
    )
    return BeamConfig(
        beam_size=beam_size,
        n_best=draw(st.integers(1, beam_size)),
        length_penalty=draw(st.sampled_from([0.0, 0.6, 1.0, 2.0])),
        stopping=draw(st.sampled_from(["exact", "fast"])),
        unknown=draw(st.sampled_from(["forbid", "write"])),
        max_length_factor=factor,
        max_length_offset=offset,
        max_length=most,
        no_repeat_ngram_size=draw(st.sampled_from([0, 0, 1, 2, 3])),
    )


@pytest.mark.parametrize("name", ["rnn_attention", "convs2s", "transformer_article"])
@settings(max_examples=25)
@given(search=searches(), seed=st.integers(0, 9))
def test_every_search_is_ours(pair, name, search, seed):
    mine, its = (engine.search(requests(6, seed=seed), search, **QUIET) for engine in pair(name))

    assert [[one.tokens for one in best] for best in mine] == [
        [one.tokens for one in best] for best in its
    ]


@pytest.mark.parametrize("precision", mark_slow(["float32", "int8"], but=["int8"]))
@pytest.mark.parametrize("name", FAMILIES)
def test_a_sentence_is_translated_alike_in_any_company(pair, name, precision):
    _, engine = pair(name, precision)
    search = BeamConfig(beam_size=3, n_best=2)
    asked = requests(40)
    alone = [engine.search([request], search, **QUIET)[0] for request in asked]
    together = engine.search(asked, search, **QUIET | {"batch_tokens": 10_000})

    assert [[one.tokens for one in best] for best in alone] == [
        [one.tokens for one in best] for best in together
    ]


@pytest.mark.parametrize("name", FAMILIES)
def test_int8_is_near(pair, name):
    one, other = pair(name)[0], pair(name, "int8")[1]
    search = BeamConfig(beam_size=1, stopping="fast")
    found = [engine.search(requests(60), search, **QUIET) for engine in (one, other)]
    apart = [abs(mine.score - its.score) for [mine], [its] in zip(*found, strict=True)]

    assert 0 < np.mean(apart) < 0.5


@pytest.mark.parametrize(
    "name",
    ["convs2s", "convs2s with sinusoids", "transformer_article", "transformer_post_learned"],
)
def test_positions_count_on_for_long_sentences(pair, name):
    """Longer ones than any table had room for when the model was traced."""
    search = BeamConfig(beam_size=1, stopping="fast", max_length_factor=2.0)
    asked = [Request([*range(UNK + 1, SIZE)] * 11 + [EOS])]
    mine, its = (engine.search(asked, search, **QUIET) for engine in pair(name))

    assert mine[0][0].tokens == its[0][0].tokens


def test_many_sentences_come_back_in_order(pair):
    _, engine = pair("rnn_attention")
    search = BeamConfig(beam_size=2)
    asked = requests(200)
    found = engine.search(asked, search, **QUIET)
    again = engine.search(asked[::-1], search, **QUIET)

    assert [best.tokens for [best] in found] == [best.tokens for [best] in again[::-1]]
    assert engine.search([], search, **QUIET) == []


def test_reserved_tokens_are_never_written(pair):
    _, engine = pair("rnn_attention")
    found = engine.search(requests(40), BeamConfig(beam_size=7, n_best=7), **QUIET)

    assert not {PAD, BOS, UNK} & {token for best in found for one in best for token in one.tokens}


@pytest.mark.parametrize("precision", mark_slow(["float32", "int8"], but=["int8"]))
@pytest.mark.parametrize("name", ["rnn_attention", "convs2s", "transformer_article"])
def test_the_same_model_is_the_same_bytes(tmp_path, name, precision):
    for folder in ("one", "other"):
        write_onnx(tmp_path / folder, precision, model=build(name), positions=600)
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        for folder in ("one", "other")
    )

    assert set(one) == {"encoder.onnx", "decoder.onnx"}
    assert one == other
    assert not any(b"/nmt_core/" in content or b".py" in content for content in one.values())


def test_writing_changes_no_model(tmp_path):
    model = build("convs2s")
    before = {key: weight.clone() for key, weight in model.state_dict().items()}
    write_onnx(tmp_path / "model", "int8", model=model, positions=9999)

    assert all(weight.equal(before[key]) for key, weight in model.state_dict().items())
    assert all(weight.requires_grad for weight in model.parameters())


def test_eight_bits_take_less_room(tmp_path):
    sizes = {}
    for precision in ("float32", "int8"):
        folder = tmp_path / precision
        write_onnx(folder, precision, model=build("convs2s"), positions=80)
        sizes[precision] = sum(path.stat().st_size for path in folder.iterdir())

    assert sizes["int8"] < sizes["float32"]


def test_other_devices_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="onnx_int8 computes on the processor, not on 'cuda'"):
        load_onnx(tmp_path, WORDS, WORDS, name="onnx_int8", device="cuda", threads=1)


@pytest.mark.parametrize(
    ("content", "told"), [(b"", ""), (b"no graph", ""), (None, ""), ("encoder", " gives no end")]
)
def test_what_is_no_graph_or_another_is_told_in_a_sentence(tmp_path, content, told):
    write_onnx(tmp_path / "model", "float32", model=build("rnn_attention"), positions=80)
    file = tmp_path / "model/decoder.onnx"
    file.unlink()
    if content == "encoder":
        content = file.with_name("encoder.onnx").read_bytes()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BundleError, match=rf"decoder\.onnx{told}"):
        load_onnx(tmp_path / "model", WORDS, WORDS, name="onnx_int8", device="cpu", threads=1)


def test_a_watched_model_is_as_it_was_afterwards():
    """Also where it fails; or every later export would look on."""
    module = torch.nn.Identity()
    for ending in (nullcontext(), pytest.raises(ZeroDivisionError)):
        with ending, watch([module]) as seen:
            module(("hidden", "looked at"))
            1 / int(isinstance(ending, nullcontext))
        module(("hidden", "looked at later"))

        assert seen == ["looked at"]


def test_what_torch_says_of_a_trace_is_not_heard_and_all_else_is(capfd):
    """Some of it from below Python, at the number that standard error has."""
    with silence():
        os.write(2, b"said from below")
        warnings.warn("a trace", stacklevel=1)
    os.write(2, b"said later")

    assert capfd.readouterr().err == "said later"


def test_weights_in_another_file_are_refused(tmp_path):
    tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], bytes(4), raw=True)
    onnx.external_data_helper.set_external_data(tensor, location="../../secret")
    graph = onnx.helper.make_graph([], "g", [], [], [tensor])
    (tmp_path / "encoder.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())

    with pytest.raises(BundleError, match=r"encoder\.onnx .*it keeps weights in another file"):
        load_onnx(tmp_path, WORDS, WORDS, name="x", device="cpu", threads=1)
