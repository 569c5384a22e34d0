"""CTranslate2 is compared with our search over the same weights, for every supported shape."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.models.settings import ConvS2SConfig, RnnConfig, TransformerConfig, build_model
from nmt_core.search import ctranslate2 as engine_file
from nmt_core.search.conversion import explain_inexpressible, write_ctranslate2
from nmt_core.search.ctranslate2 import load_ctranslate2
from nmt_core.search.engine import Hypothesis, Request
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.search.rules import compute_length_limits
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from tests.support.presets import PRESETS, VARIANTS, tiny_config

WORDS = Vocabulary([*SPECIALS, *"abcdefghijklmnopqrstuvwxyz"])
MORE = Vocabulary([*SPECIALS, *"abcdefghijklmnopqrstuvwxyzäöü"])
SMALL = {
    "width": 16,
    "heads": 2,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "feed_forward_width": 24,
}
SHAPES = {
    "default": {},
    "post-norm": {"norm": "post"},
    "gelu": {"activation": "gelu"},
    "learned positions": {"positions": "learned", "max_positions": 6},
    "rotary positions": {"positions": "rotary"},
    "trained scale": {"position_scale": "trained"},
    "untied": {"tie": "none"},
    "output tied": {"tie": "output"},
    "no bias": {"projection_bias": False, "attention_output_bias": False},
    "no scale of norms": {"norm_scale": False},
    "words as they are": {"scale_embeddings": False},
    "head width given": {"head_width": 8},
    "two layers": {"encoder_layers": 1, "decoder_layers": 2},
    "one head": {"width": 20, "heads": 1},
}
EXPRESSED = ("transformer", "transformer_base", "transformer_post_learned")
GREEDY = BeamConfig(beam_size=1, stopping="fast")
SEVERAL = pytest.mark.parametrize("engines", [*SHAPES][:3], indirect=True)
QUIET = {"batch_tokens": 64, "probabilities": False, "attention": False}


@torch.no_grad()
def make_certain(model, config, likely):
    """Make a model write like trained models: with certainty, no reserved token, and to an end."""
    for name, weight in model.named_parameters():
        if weight.dim() == 2:
            weight.mul_(2.0 if "table" in name else 1.5)
    hidden = torch.randn(model.output.weight.size(1))
    after = model.decoder[-1].transform.after
    last = model.decoder_norm if hasattr(model.decoder_norm, "bias") else after
    last.bias.copy_(hidden)
    model.output.weight[[PAD, BOS, UNK]] = -6 * hidden / hidden.norm()
    model.output.weight[likely] += (
        (8 if likely == UNK else 1.2 if config.tie == "all" else 0.3) * hidden / hidden.norm()
    )


def pair(folder, shape, *, seed=0, precision="float32", likely=EOS, shortlist=None):
    """Return PyTorch's engine and CTranslate2's over the same weights."""
    config = TransformerConfig(**SMALL | shape)
    source, target = (WORDS, WORDS) if config.tie == "all" else (WORDS, MORE)
    torch.manual_seed(seed)
    model = build_model(config, source_size=len(source), target_size=len(target)).eval()
    make_certain(model, config, likely)
    write_ctranslate2(
        folder / precision,
        precision,
        model=model,
        config=config,
        vocabularies=(source, target),
        positions=80,
        shortlist=shortlist,
    )
    other = load_ctranslate2(
        folder / precision, source, target, name=precision, device="cpu", threads=1
    )
    return PyTorchEngine(model, len(target)), other


def requests(count, *, seed=1):
    draw = np.random.default_rng(seed)
    return [
        Request([*draw.integers(UNK + 1, len(WORDS), size=draw.integers(1, 14)).tolist(), EOS])
        for _ in range(count)
    ]


@pytest.fixture(scope="module", params=SHAPES)
def engines(request, tmp_path_factory):
    return pair(tmp_path_factory.mktemp("engines"), SHAPES[request.param])


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    return pair(tmp_path_factory.mktemp("engines"), {})


def test_greedy_search_equals_pytorchs(engines):
    search = GREEDY
    one, other = (engine.search(requests(16), search, **QUIET) for engine in engines)

    assert [best.tokens for [best] in one] == [best.tokens for [best] in other]
    assert len({best.tokens for [best] in one}) > 5


@SEVERAL
@pytest.mark.parametrize("size", [1, 2])
def test_no_forbidden_ngram_is_repeated(engines, size):
    search = GREEDY.model_copy(update={"no_repeat_ngram_size": size})
    one, other = (engine.search(requests(12), search, **QUIET) for engine in engines)

    assert [best.tokens for [best] in one] == [best.tokens for [best] in other]
    for [best] in one:
        runs = [best.tokens[at : at + size] for at in range(len(best.tokens) - size + 1)]
        assert len({*runs}) == len(runs)


@SEVERAL
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_patient_search_equals_exact_search(engines, penalty):
    """Wherever the best is not cut off; without a length penalty these models repeat themselves."""
    exact, patient = engines[0], replace(engines[1], patience=12.0)
    search = BeamConfig(beam_size=4, length_penalty=penalty)
    asked = requests(5)
    one, other = (engine.search(asked, search, **QUIET) for engine in (exact, patient))
    free = [
        (mine.tokens, its.tokens)
        for request, [mine], [its] in zip(asked, one, other, strict=True)
        if len(mine.tokens) + 1 < search.limit_length(len(request.source))
    ]

    assert all(mine == its for mine, its in free)


def test_scores_probabilities_and_attention_equal_pytorchs(engines):
    search = GREEDY
    wanted = {"batch_tokens": 64, "probabilities": True, "attention": True}
    one, other = (engine.search(requests(8), search, **wanted) for engine in engines)

    for [mine], [its] in zip(one, other, strict=True):
        for name in ("log_prob", "score", "token_log_probs"):
            values = getattr(mine, name), getattr(its, name)
            assert values[0] == pytest.approx(values[1], rel=2e-2, abs=2e-2)
        assert mine.attention.shape == its.attention.shape
        assert len(mine.attention) == len(mine.tokens) + 1
        assert np.allclose(mine.attention, its.attention, atol=1e-4)


def test_attention_of_beam_search_belongs_to_its_sentence(default):
    """CTranslate2 returns a neighbour's attention for the first token of some sentences."""
    torch_engine, engine = default
    asked = requests(20)
    wanted = {"batch_tokens": 10_000, "probabilities": False, "attention": True}
    found = [best for [best] in engine.search(asked, BeamConfig(beam_size=4), **wanted)]
    free = [
        len(best.tokens) + 1 < 2 * len(one.source) for one, best in zip(asked, found, strict=True)
    ]
    looks = torch_engine.attend([one.source for one in asked], [best.tokens for best in found])

    assert sum(free) > 5
    for best, look, ended in zip(found, looks, free, strict=True):
        assert np.allclose(
            best.attention[: -1 if not ended else None],
            look[: -1 if not ended else None],
            atol=1e-4,
        )


@settings(max_examples=10)
@given(st.lists(st.integers(0, 29), max_size=30), st.sampled_from([1, 3]))
def test_a_sentence_translates_alike_in_any_batch(default, chosen, beam_size):
    """In any order, also for a sentence at its limit, whatever the limits of its neighbours."""
    _, engine = default
    search = BeamConfig(beam_size=beam_size, max_length_factor=0.5, max_length_offset=2)
    everything = requests(30)
    alone = [[*engine.search([request], search, **QUIET)[0]] for request in everything]
    together = QUIET | {"batch_tokens": 10_000}
    found = engine.search([everything[n] for n in chosen], search, **together)

    assert [best.tokens for [best] in found] == [alone[n][0].tokens for n in chosen]


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("limits", [(0.5, 1, 256), (1.5, 10, 4), (0.0, 1, 256), (1.1, 1, 256)])
def test_limits_equal_pytorchs(default, beam_size, limits):
    exact, patient = default[0], replace(default[1], patience=12.0)
    factor, offset, most = limits
    search = BeamConfig(
        beam_size=beam_size,
        stopping="fast" if beam_size == 1 else "exact",
        max_length_factor=factor,
        max_length_offset=offset,
        max_length=most,
    )
    asked = requests(30)
    one, other = (engine.search(asked, search, **QUIET) for engine in (exact, patient))

    if beam_size == 1:
        assert [best.tokens for [best] in one] == [best.tokens for [best] in other]
    together = QUIET | {"batch_tokens": 10_000}
    for request, [best] in zip(asked, patient.search(asked, search, **together), strict=True):
        assert len(best.tokens) + 1 <= search.limit_length(len(request.source))


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_the_n_best_are_different_and_in_order(default, penalty):
    search = BeamConfig(beam_size=5, n_best=4, length_penalty=penalty)
    for found in map(list, default[1].search(requests(20), search, **QUIET)):
        scores = [one.score for one in found]

        assert len({one.tokens for one in found}) == len(found) == 4
        assert scores == sorted(scores, reverse=True)
        for one in found:
            length = len(one.tokens) + 1
            assert one.score == pytest.approx(one.log_prob / length**penalty)


def test_the_unknown_token_is_written_if_allowed(tmp_path):
    _, engine = pair(tmp_path, {}, likely=UNK)
    for unknown, is_there in (("forbid", False), ("write", True)):
        search = BeamConfig(beam_size=5, n_best=5, unknown=unknown)
        found = engine.search(requests(40), search, **QUIET)
        assert any(UNK in one.tokens for best in found for one in best) is is_there


def test_int8_is_close(tmp_path):
    """A few translations of a model without certainty differ, and scores differ little."""
    one, other = pair(tmp_path, {}, precision="int8")
    search = GREEDY
    found = [engine.search(requests(60), search, **QUIET) for engine in (one, other)]
    apart = [abs(mine.score - its.score) for [mine], [its] in zip(*found, strict=True)]

    assert 0 < np.mean(apart) < 0.5
    assert (tmp_path / "int8/model.bin").stat().st_size < 40_000


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ConvS2SConfig(), "it is not a Transformer"),
        (RnnConfig(), "it is not a Transformer"),
        (TransformerConfig(norm="article"), "norm 'article'"),
        (TransformerConfig(activation="leaky_relu"), "activation 'leaky_relu'"),
        (TransformerConfig(activate_output=True), "activate_output"),
        (TransformerConfig(source_start=True), "source_start"),
        (TransformerConfig(width=16, heads=2, head_width=5), "heads x head_width other than width"),
        (TransformerConfig(width=16, heads=2, head_width=8), None),
    ],
)
def test_unsupported_models_are_reported(config, said):
    assert explain_inexpressible(config) == said


@pytest.mark.parametrize("name", [*PRESETS, *VARIANTS])
def test_every_preset_is_supported_or_refused(name, tmp_path):
    config = tiny_config(name)
    reason = explain_inexpressible(config)

    assert (reason is None) == (name in EXPRESSED)
    if reason is None:
        pair(tmp_path, config.model_dump(exclude={"architecture"}))


@pytest.mark.parametrize(
    ("tie", "change"),
    [
        ("all", lambda tokens: [f"t{number}" for number in range(100_000)]),
        ("none", lambda tokens: [*tokens, "more"]),
        ("all", lambda tokens: tokens[:-1]),
        ("none", lambda tokens: [*tokens[:-2], tokens[-1], tokens[-2]]),
        ("all", lambda tokens: dict.fromkeys(tokens, 0)),
        ("none", lambda tokens: None),
    ],
)
def test_tokens_without_weights_are_refused(tmp_path, tie, change):
    """CTranslate2 would read past the end of its weights and crash."""
    pair(tmp_path, {"tie": tie})
    folder, target = tmp_path / "float32", WORDS if tie == "all" else MORE
    names = sorted(path.name for path in folder.glob("*vocabulary.json"))
    assert names == (
        ["shared_vocabulary.json"]
        if tie == "all"
        else ["source_vocabulary.json", "target_vocabulary.json"]
    )
    path = folder / names[-1]
    path.write_text(json.dumps(change(json.loads(path.read_text()))))

    with pytest.raises(BundleError, match=f"{names[-1]} has other tokens than the vocabulary"):
        load_ctranslate2(folder, WORDS, target, name="x", device="cpu", threads=1)


ALIGNMENT = b"decoder/alignment_layer\0"
HEADS = b"decoder/num_heads\0"
WEIGHT = b"decoder/layer_0/ffn/linear_1/weight\0"


@pytest.mark.parametrize(
    ("name", "before", "after", "told"),
    [
        (ALIGNMENT, b"\0", b"\x17", "has 23 dimensions"),
        (ALIGNMENT, b"\0\x02\x02\0\0\0\x01", b"\0\x02\x02\0\0\0\x09", "layer or heads are invalid"),
        (HEADS, b"\0\x02\x02\0\0\0\x02", b"\0\x02\x02\0\0\0\0", "num_heads' is 0"),
        (HEADS, b"\0\x02", b"\0\x03", "has 2 bytes"),
        (HEADS, b"\0\x02", b"\0\x04", "num_heads' is -1"),
        (WEIGHT, b"\x02\x10", b"\x02\x11", "has 1536 bytes for the shape"),
        (WEIGHT, b"", b"\xff", ""),
        (WEIGHT[:-1], b"\0", b"z", "is unknown|has the shape"),
        (b"TransformerSpec", b"\0", b"y", "not a Transformer of version 6"),
    ],
)
def test_variable_of_another_shape_is_refused(default_files, name, before, after, told):
    """CTranslate2 would write past its memory and crash, or worse."""
    folder, sound = default_files
    data = sound.replace(name + before, name + after, 1)
    assert data != sound
    (folder / "model.bin").write_bytes(data)

    with pytest.raises(BundleError, match=rf"model\.bin cannot be read.*({told})"):
        load_ctranslate2(folder, WORDS, WORDS, name="x", device="cpu", threads=1)


@pytest.fixture(scope="module")
def default_files(tmp_path_factory):
    pair(folder := tmp_path_factory.mktemp("files"), {})
    return folder / "float32", (folder / "float32" / "model.bin").read_bytes()


class Broken:
    """A CTranslate2 program without a working computation."""

    def translate_batch(self, sources, **_):
        return [self for _ in sources]

    def result(self):
        raise RuntimeError("matmul of unequal shapes\nat dense.cc")

    def score_batch(self, *_, **__):
        self.result()


def test_ctranslate2s_failures_give_one_sentence():
    engine = engine_file.CTranslate2Engine(Broken(), WORDS, WORDS, "ctranslate2_int8")
    for compute in (
        lambda: engine.search(requests(2), GREEDY, **QUIET),
        lambda: engine._score(requests(1), [[Hypothesis((4, EOS), -1.0, -2.0, ())]]),
    ):
        with pytest.raises(BundleError, match=r"ctranslate2_int8 .* \(matmul of unequal shapes\)"):
            compute()


def test_a_missing_gpu_is_reported(tmp_path):
    with pytest.raises(ConfigError, match="there is no device 'cuda:9' here; use auto or cpu"):
        load_ctranslate2(tmp_path, WORDS, WORDS, name="x", device="cuda:9", threads=1)


def test_limits_are_computed_alike():
    """One by one, and for a batch by torch."""
    padding = torch.tensor([[place >= length for place in range(60)] for length in range(1, 60)])
    for factor in (0.1, 0.3, 0.7, 1.1, 1.5, 2.3):
        search = BeamConfig(max_length_factor=factor, max_length_offset=3, max_length=40)
        limits = [search.limit_length(length) for length in range(1, 60)]
        assert compute_length_limits(padding, search).tolist() == limits
