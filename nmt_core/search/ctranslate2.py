"""The engine CTranslate2 (github.com/OpenNMT/CTranslate2): Transformers in C++, int8 or float32.

Its beam search scores hypotheses like ``beam.py``, but stops earlier: a sentence is finished when
``patience`` times ``beam_size`` hypotheses have ended (Kasai et al. 2022). With a shortlist or
attention, sentences are searched one by one, because CTranslate2 would mix up the shortlists and
the attention of a batch. This file imports no torch.
"""

import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import ctranslate2
from pydantic import Field
from typing_extensions import override

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.seal import explain_unreadable
from nmt_core.search.engine import (
    MAX_BATCH_ROWS,
    SCORES,
    SHORTLIST,
    Engine,
    Hypothesis,
    Request,
    batches_by_length,
    explain_failure,
)
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PATIENCE = 1.4
"""Ended hypotheses that finish a sentence, as a multiple of the beam size. Compared with exact
search, 1 loses 0.2 BLEU; 1.4 loses 0.0 and takes a fifth more time (docs/performance.md)."""

MAX_BATCH_HYPOTHESES = 80
"""Maximum hypotheses of a batch; more are slower, because their probabilities exceed caches."""


class EngineScores(Config):
    """The file SCORES: how much a shortlist raises scores, and the patience."""

    shift: float = 0.0
    patience: float = Field(PATIENCE, ge=1, le=10)


FoundTokens = tuple[list[str], float, list[list[float]] | None]
"""Tokens of a hypothesis with EOS, its score, and its attention."""


@dataclass(frozen=True)
class CTranslate2Engine(Engine):
    """Translates with a Transformer that was converted for CTranslate2."""

    program: ctranslate2.Translator
    source: Vocabulary
    target: Vocabulary
    name: str
    has_shortlist: bool = False
    """Whether beam search considers only the shortlist's target tokens."""
    score_shift: float = 0.0
    """How much a shortlist raises scores, because fewer tokens share the probability."""
    patience: float = PATIENCE
    has_attention = True

    @override
    def search(
        self,
        requests: Sequence[Request],
        search: BeamConfig,
        *,
        batch_tokens: int,
        probabilities: bool,
        attention: bool,
    ) -> Sequence[Iterable[Hypothesis]]:
        searched = self._search(requests, search, batch_tokens, attention=attention)
        return self._score(requests, [*map(list, searched)]) if probabilities else searched

    def _search(
        self, requests: Sequence[Request], search: BeamConfig, batch_tokens: int, *, attention: bool
    ) -> list[Iterable[Hypothesis]]:
        """Return the best candidates of every request.

        A batch is searched up to its greatest length limit. A sentence that exceeded its own limit
        is searched again alone, so that its translation does not depend on the batch.
        """
        lengths = {row: len(request.source) for row, request in enumerate(requests)}
        max_rows = min(MAX_BATCH_ROWS, max(1, MAX_BATCH_HYPOTHESES // search.beam_size))
        if search.beam_size > 1 and (attention or self.has_shortlist):
            max_rows = 1
        batches = [*batches_by_length(lengths, max_tokens=batch_tokens, max_rows=max_rows)]
        found = dict(self._run(requests, batches, search, attention=attention))
        limits = {length: search.limit_length(length) for length in {*lengths.values()}}
        end = [SPECIALS[EOS]]
        too_long = [
            row
            for row, length in lengths.items()
            for limit in [limits[length]]
            if any(len(tokens) > limit or tokens[-1:] != end for tokens, _, _ in found[row])
        ]
        scored: dict[int, list[Hypothesis]] = {}
        if too_long:
            again = [[row] for row in too_long if [row] not in batches]
            found |= dict(self._run(requests, again, search, attention=attention))
            ended = [[*self._read(found[row], search)] for row in too_long]
            rated = self._score([requests[row] for row in too_long], ended)
            scored = dict(zip(too_long, (rescore(each, search) for each in rated), strict=True))
        best = search.n_best
        return [scored.get(row) or self._read(found[row][:best], search) for row in lengths]

    def _read(self, found: Sequence[FoundTokens], search: BeamConfig) -> Iterator[Hypothesis]:
        """Yield candidates with token IDs; at a limit, EOS replaces the last token."""
        shift = self.score_shift if self.has_shortlist and search.beam_size > 1 else 0.0
        for tokens, score, matrix in found:
            yield Hypothesis(
                (*self.target.encode(tokens[:-1]),),
                score - shift,
                (score - shift) * len(tokens) ** search.length_penalty,
                (),
                _make_array(matrix) if matrix else None,
            )

    def _run(
        self,
        requests: Sequence[Request],
        batches: Iterable[Sequence[int]],
        search: BeamConfig,
        *,
        attention: bool,
    ) -> Iterator[tuple[int, list[FoundTokens]]]:
        """Start all batches, then yield the candidates of every row, best first."""
        patience = 1.0 if search.beam_size == 1 else self.patience
        uses_shortlist = self.has_shortlist and search.beam_size > 1  # useless in greedy search
        forbidden = [PAD, BOS, *self.target.tags.values()]
        running = [
            (
                rows,
                self.program.translate_batch(
                    look_up_tokens([requests[row].source for row in rows], self.source),
                    asynchronous=True,
                    beam_size=search.beam_size,
                    patience=patience,
                    num_hypotheses=round(patience * search.beam_size),
                    length_penalty=search.length_penalty,
                    min_decoding_length=0,
                    no_repeat_ngram_size=search.no_repeat_ngram_size,
                    max_decoding_length=search.limit_length(
                        max(len(requests[row].source) for row in rows)
                    ),
                    max_input_length=0,
                    disable_unk=search.unknown == "forbid",
                    suppress_sequences=[[self.target.tokens[number]] for number in forbidden],
                    use_vmap=uses_shortlist,
                    return_end_token=True,
                    return_scores=True,
                    return_attention=attention,
                ),
            )
            for rows in batches
        ]
        for rows, futures in running:
            with explain_failure(self.name, RuntimeError, ValueError):
                results = [each.result() for each in reversed(futures)]  # waits once
            for row, result in zip(reversed(rows), results, strict=True):
                scores = result.scores
                matrices = result.attention if attention else [None] * len(scores)
                yield row, [*zip(result.hypotheses, scores, matrices, strict=True)]

    def _score(
        self, requests: Sequence[Request], searched: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the candidates with the log-probability of each token."""
        pairs = [
            (request, candidate)
            for request, candidates in zip(requests, searched, strict=True)
            for candidate in candidates
        ]
        with explain_failure(self.name, RuntimeError):
            results = self.program.score_batch(
                look_up_tokens([request.source for request, _ in pairs], self.source),
                look_up_tokens([candidate.tokens for _, candidate in pairs], self.target),
                max_batch_size=MAX_BATCH_ROWS,
                max_input_length=0,
            )
        scored = iter(
            candidate._replace(token_log_probs=tuple(result.log_probs))
            for (_, candidate), result in zip(pairs, results, strict=True)
        )
        return [[next(scored) for _ in candidates] for candidates in searched]


def rescore(candidates: Iterable[Hypothesis], search: BeamConfig) -> list[Hypothesis]:
    """Return the best different candidates by the score of their token log-probabilities."""
    scored = []
    for candidate in {each.tokens: each for each in candidates}.values():
        scale = (len(candidate.tokens) + 1) ** search.length_penalty
        score = float(sum(candidate.token_log_probs) / scale)
        scored.append(Hypothesis(candidate.tokens, score, score * scale, (), candidate.attention))
    return sorted(scored, key=lambda candidate: -candidate.score)[: search.n_best]


def _make_array(matrix: Sequence[Sequence[float]]) -> "NDArray[np.float32]":
    import numpy as np  # slow to import, and only attention needs it

    return np.array(matrix, dtype=np.float32)


def look_up_tokens(sentences: Iterable[Sequence[int]], vocabulary: Vocabulary) -> list[list[str]]:
    """Return the tokens of sentences of token IDs."""
    return [[*map(vocabulary.tokens.__getitem__, numbers)] for numbers in sentences]


def check_tokens(folder: Path, source: Vocabulary, target: Vocabulary) -> None:
    """Check that the engine has the vocabularies of the bundle.

    With other tokens, CTranslate2 could read beyond the end of its weights.

    Raises:
        BundleError: naming the file that differs.
    """
    shared = folder / "shared_vocabulary.json"
    own = (folder / "source_vocabulary.json", folder / "target_vocabulary.json")
    paths = (shared, shared) if shared.exists() else own
    for path, vocabulary in zip(paths, (source, target), strict=True):
        with explain_unreadable(path):
            tokens = files.read_json(path)
        if tokens != list(vocabulary.tokens):
            raise BundleError(
                f"{path} has other tokens than the vocabulary of the bundle; export the model again"
            )
    if not (path := folder / SHORTLIST).exists():
        return
    with explain_unreadable(path):
        lines = [line.partition("\t") for line in files.read_lines(path)]
    listed = {s for s, _, _ in lines}, {t for _, _, targets in lines for t in targets.split(" ")}
    for tokens, vocabulary in zip(listed, (source, target), strict=True):
        for token in sorted(tokens - {*vocabulary.tokens, ""}):
            raise BundleError(
                f"{path} has {token!r}, which is not in the vocabulary; export the model again"
            )


MODEL_FILE = "model.bin"
VERSION = 6
SPECIFICATION = "TransformerSpec"
ITEM_BYTES = (4, 1, 2, 4, 2, 2)
"""Bytes per number of each type: float32, int8, int16, int32, float16, bfloat16."""

INTEGERS = (1, 2, 3)
MAX_RANK = 2
"""Maximum number of dimensions of a variable."""
NAME = re.compile(
    r"(?P<side>encoder|decoder)/(?:layer_(?P<layer>\d{1,3})/)?(?P<module>\w+(?:/\w+)*?)"
    r"(?:/(?P<part>weight|weight_scale|bias|gamma|beta|encodings))?"
)
SETTINGS = re.compile(
    "activation|alibi(_use_positive_positions)?|alignment_(heads|layer)|embeddings_merge|num_heads"
    "|multi_query_attention|pre_norm|scale_(alibi|embeddings)|start_from_zero_embedding"
    "|self_attention/rotary_(base|dim|interleave)"
)
"""Names of scalar variables."""


def check_model_file(path: Path, source: Vocabulary, target: Vocabulary) -> None:
    """Check the variables of ``model.bin`` before CTranslate2 reads them.

    CTranslate2 trusts the file: a wrong rank or shape makes it write beyond its memory. So only
    the variables of our export are accepted, with the shapes that follow from the vocabularies and
    the sizes of the Transformer.

    Raises:
        ValueError: naming the first invalid variable.
        struct.error: if the file is truncated.
    """
    with path.open("rb") as file:
        sizes, values = _read_variables(file)
    width = sizes["decoder/embeddings/weight"][1]
    hidden = sizes["decoder/layer_0/ffn/linear_0/weight"][0]
    tokens = {"encoder": len(source.tokens), "decoder": len(target.tokens)}
    shapes = {
        "self_attention/linear_0": (3 * width, width),
        "self_attention/linear_1": (width, width),
        "attention/linear_0": (width, width),
        "attention/linear_1": (2 * width, width),
        "attention/linear_2": (width, width),
        "ffn/linear_0": (hidden, width),
        "ffn/linear_1": (width, hidden),
    }
    heads, rotary = values["decoder/num_heads"], "self_attention/rotary_dim"
    layers = {side: set[int]() for side in tokens}
    for name, shape in sizes.items():
        match = NAME.fullmatch(name)
        if not match or (match["side"] == "encoder" and match["module"].startswith("attention")):
            raise ValueError(f"variable {name[:60]!r} is unknown")
        side, module, part, value = match["side"], match["module"], match["part"], values[name]
        layers[side] |= {int(match["layer"])} if match["layer"] else set()
        rows = shapes.get(module, (tokens[side], width))
        expected = {
            None: (),
            "weight": rows,
            "bias": rows[:1],
            "weight_scale": rows[:1],
            "gamma": (width,),
            "beta": (width,),
            "encodings": (*(shape or (0,))[:1], width),
        }[part]
        limits = {"num_heads": (1, width), rotary: (0, width // max(heads, 1))}
        low, high = limits.get(module, (-1, 2**32))
        if shape != expected or (part is None and not SETTINGS.fullmatch(module)):
            raise ValueError(f"variable {name[:60]!r} has the shape {shape}")
        if not low <= value <= high or (module == "num_heads" and width % value):
            raise ValueError(f"variable {name[:60]!r} is {value}")
    last = values["decoder/alignment_layer"]
    if last not in layers["decoder"] or values["decoder/alignment_heads"]:
        raise ValueError("the alignment layer or heads are invalid")
    for side, numbers in layers.items():
        if numbers != {*range(len(numbers))}:
            raise ValueError(f"layers of the {side} are missing")


def _read_variables(file: BinaryIO) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Return the shape of each variable, and the value of each integer scalar, otherwise -1."""
    version, name, _ = _read(file, "I"), _read_name(file), _read(file, "I")
    if version != VERSION or name != SPECIFICATION:
        raise ValueError("it is not a Transformer of version 6")
    sizes: dict[str, tuple[int, ...]] = {}
    values: dict[str, int] = {}
    for _ in range(_read(file, "I")):
        name, rank = _read_name(file), _read(file, "B")
        if rank > MAX_RANK:
            raise ValueError(f"variable {name[:60]!r} has {rank} dimensions")
        shape = tuple(_read(file, "I") for _ in range(rank))
        kind, size = _read(file, "B"), _read(file, "I")
        if kind >= len(ITEM_BYTES) or size != math.prod(shape) * ITEM_BYTES[kind]:
            raise ValueError(f"variable {name[:60]!r} has {size} bytes for the shape {shape}")
        content = b"" if rank else file.read(size)
        file.seek(size if rank else 0, 1)
        sizes[name] = shape
        values[name] = int.from_bytes(content, "little") if content and kind in INTEGERS else -1
    for _ in range(_read(file, "I")):
        alias, original = _read_name(file), _read_name(file)
        sizes[alias], values[alias] = sizes[original], values[original]
    if file.tell() != file.seek(0, 2):
        raise ValueError("there is data after the last variable")
    return sizes, values


def _read(file: BinaryIO, kind: str) -> int:
    [number] = struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))
    return int(number)


def _read_name(file: BinaryIO) -> str:
    return file.read(_read(file, "H")).removesuffix(b"\0").decode("ascii")


def load_ctranslate2(
    folder: Path, source: Vocabulary, target: Vocabulary, *, name: str, device: str, threads: int
) -> CTranslate2Engine:
    """Load a CTranslate2 model from a folder of a verified bundle.

    The device is ``cpu``, ``cuda`` or, for example, ``cuda:1``. Each thread computes its own batch.

    Raises:
        BundleError: if CTranslate2 cannot read the folder.
        ConfigError: if the device does not exist.
    """
    kind, _, index = device.partition(":")
    if kind != "cpu" and ctranslate2.get_cuda_device_count() <= int(index or 0):
        raise ConfigError(f"there is no device {device!r} here; use auto or cpu")
    check_tokens(folder, source, target)
    with explain_unreadable(path := folder / MODEL_FILE, struct.error):
        check_model_file(path, source, target)
    with explain_unreadable(folder):
        program = ctranslate2.Translator(
            str(folder),
            device=kind,
            device_index=int(index or 0),
            inter_threads=threads,
            intra_threads=1,
        )
    scores = EngineScores()
    if (path := folder / SCORES).exists():
        with explain_unreadable(path):
            scores = EngineScores.model_validate_json(path.read_bytes())
    short = (folder / SHORTLIST).exists()
    return CTranslate2Engine(program, source, target, name, short, scores.shift, scores.patience)
