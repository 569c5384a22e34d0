"""CTranslate2 (github.com/OpenNMT/CTranslate2): Transformers in C++, in int8 or float32.

Its beam search ranks hypotheses as ours does and differs in when it stops: a sentence is done when
``PATIENCE`` times ``beam_size`` hypotheses have ended (Kasai et al. 2022), where ours proves that
none can still become better. Sentences are searched one by one where a batch would mix them up:
CTranslate2 lets each have the shortlists of all, and the attention of another's first token. This
file imports no torch.
"""

import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import ctranslate2
import numpy as np
from pydantic import FiniteFloat, TypeAdapter
from typing_extensions import override

from nmt_core.base import files
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.seal import explain_unreadable
from nmt_core.data.batching import batches_by_length
from nmt_core.search.engine import (
    MOST_ROWS,
    SCORES,
    SHORTLIST,
    Engine,
    Hypothesis,
    Request,
    explain_failure,
)
from nmt_core.search.settings import BeamConfig
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary

PATIENCE = 1.4
"""Hypotheses that end before a sentence is done, as a multiple of the beam size: with 1 it loses
0.2 BLEU to the exact search, with this 0.0, for a fifth more time (docs/performance.md)."""

MOST_HYPOTHESES = 80
"""Hypotheses that are searched together; more are slower, as their probabilities fill caches."""

_SHIFT = TypeAdapter(dict[Literal["shift"], FiniteFloat])


@dataclass(frozen=True)
class CTranslate2Engine(Engine):
    """Searches a Transformer that was written for CTranslate2."""

    program: ctranslate2.Translator
    source: Vocabulary
    target: Vocabulary
    name: str
    has_shortlist: bool = False
    """Whether beam search looks at a part of the target's tokens."""
    score_shift: float = 0.0
    """How much higher scores are where it does, for those few share the probability of all."""
    sees_attention = True

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
        searched = self._search(requests, search, batch_tokens, attention=attention)
        best = [candidates[: search.n_best] for candidates in searched]
        if probabilities:
            best = self._score(requests, best)
        return [
            [
                each._replace(
                    tokens=each.tokens[:-1],
                    log_prob=each.score * len(each.tokens) ** search.length_penalty,
                )
                for each in candidates
            ]
            for candidates in best
        ]

    def _search(
        self, requests: Sequence[Request], search: BeamConfig, batch_tokens: int, *, attention: bool
    ) -> list[list[Hypothesis]]:
        """Return all candidates of every request, best first, with EOS.

        A batch is searched up to the greatest limit in it. A sentence whose search exceeded its own
        limit is searched again by itself, so that its translation depends on no neighbour.
        """
        lengths = {row: len(request.source) for row, request in enumerate(requests)}
        is_mixed = search.beam_size > 1 and (attention or self.has_shortlist)
        most = 1 if is_mixed else min(MOST_ROWS, max(1, MOST_HYPOTHESES // search.beam_size))
        batches = [*batches_by_length(lengths, max_tokens=batch_tokens, max_rows=most)]
        by_row = dict(self._run(requests, batches, search, attention=attention))
        beyond = [
            row
            for row, length in lengths.items()
            if any(
                each.tokens[-1:] != (EOS,) or len(each.tokens) > search.limit_length(length)
                for each in by_row[row]
            )
        ]
        if beyond:
            alone = {row for row, *others in batches if not others}
            again = [[row] for row in beyond if row not in alone]
            by_row |= dict(self._run(requests, again, search, attention=attention))
            ended = [  # at a limit, EOS replaces the last token, and has its attention
                [each._replace(tokens=(*each.tokens[:-1], EOS)) for each in by_row[row]]
                for row in beyond
            ]
            scored = self._score([requests[row] for row in beyond], ended)
            for row, candidates in zip(beyond, scored, strict=True):
                by_row[row] = []
                for each in {each.tokens: each for each in candidates}.values():
                    length, terms = len(each.tokens), each.token_log_probs
                    score = float(sum(terms) / length**search.length_penalty)
                    by_row[row].append(each._replace(score=score, token_log_probs=()))
                by_row[row].sort(key=lambda each: -each.score)
        return [by_row[row] for row in lengths]

    def _run(
        self,
        requests: Sequence[Request],
        batches: Iterable[Sequence[int]],
        search: BeamConfig,
        *,
        attention: bool,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield the candidates of every row of every batch; all batches are begun before.

        Their tokens are with EOS, where they ended; ``log_prob`` is not computed yet.
        """
        patience = 1.0 if search.beam_size == 1 else PATIENCE
        is_short = self.has_shortlist and search.beam_size > 1  # the greedy one is as fast without
        never = [PAD, BOS, *self.target.tags.values()]
        answers = [
            (
                rows,
                self.program.translate_batch(
                    spell([requests[row].source for row in rows], self.source),
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
                    suppress_sequences=[[self.target.tokens[number]] for number in never],
                    use_vmap=is_short,
                    return_end_token=True,
                    return_scores=True,
                    return_attention=attention,
                ),
            )
            for rows in batches
        ]
        shift = self.score_shift if is_short else 0.0
        for rows, answer in answers:
            for row, waiting in zip(rows, answer, strict=True):
                with explain_failure(self.name, RuntimeError, ValueError):
                    result = waiting.result()
                looks = result.attention or [None] * len(result.scores)
                candidates = []
                for tokens, score, look in zip(
                    result.hypotheses, result.scores, looks, strict=True
                ):
                    numbers = self.target.encode(tokens)
                    if tokens[-1:] == [SPECIALS[EOS]]:
                        numbers[-1] = EOS
                    weights = np.array(look, dtype=np.float32) if look else None
                    candidates.append(Hypothesis((*numbers,), score - shift, 0.0, (), weights))
                yield row, candidates

    def _score(
        self, requests: Sequence[Request], searched: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return candidates with the log-probability of each of their tokens."""
        pairs = [
            (request, each)
            for request, candidates in zip(requests, searched, strict=True)
            for each in candidates
        ]
        with explain_failure(self.name, RuntimeError):
            results = self.program.score_batch(
                spell([request.source for request, _ in pairs], self.source),
                spell([each.tokens[:-1] for _, each in pairs], self.target),
                max_batch_size=MOST_ROWS,
                max_input_length=0,
            )
        scored = iter(
            each._replace(token_log_probs=tuple(result.log_probs))
            for (_, each), result in zip(pairs, results, strict=True)
        )
        return [[next(scored) for _ in candidates] for candidates in searched]


def spell(sentences: Iterable[Sequence[int]], vocabulary: Vocabulary) -> list[list[str]]:
    """Return the tokens of sentences in numbers."""
    return [[vocabulary.tokens[number] for number in numbers] for numbers in sentences]


def check_tokens(folder: Path, source: Vocabulary, target: Vocabulary) -> None:
    """Refuse tokens that are not those of the bundle, for which the weights may have no row.

    CTranslate2 itself reads past the end of its weights then.

    Raises:
        BundleError: naming the file.
    """
    shared = folder / "shared_vocabulary.json"
    own = (folder / "source_vocabulary.json", folder / "target_vocabulary.json")
    paths = (shared, shared) if shared.exists() else own
    for path, vocabulary in zip(paths, (source, target), strict=True):
        with explain_unreadable(path):
            tokens = files.read_json(path)
        if tokens != list(vocabulary.tokens):
            raise BundleError(
                f"{path} holds other tokens than the vocabulary of the bundle; export the model "
                f"again"
            )
    if not (path := folder / SHORTLIST).exists():
        return
    with explain_unreadable(path):
        lines = [line.partition("\t") for line in files.read_lines(path)]
    named = {ours for ours, _, _ in lines}, {one for *_, many in lines for one in many.split(" ")}
    for tokens, vocabulary in zip(named, (source, target), strict=True):
        for token in sorted(tokens - {*vocabulary.tokens, ""}):
            raise BundleError(
                f"{path} names {token!r}, which is no token of the bundle; export the model again"
            )


MODEL_FILE = "model.bin"
VERSION = 6
SPECIFICATION = "TransformerSpec"
ITEM_BYTES = (4, 1, 2, 4, 2, 2)
"""Bytes of a number by its type: float32, int8, int16, int32, float16, bfloat16."""

INTEGERS = (1, 2, 3)
MAX_RANK = 2
NAME = re.compile(
    r"(?P<side>encoder|decoder)/(?:layer_(?P<layer>\d{1,3})/)?(?P<module>\w+(?:/\w+)*?)"
    r"(?:/(?P<part>weight|weight_scale|bias|gamma|beta|encodings))?"
)
SETTINGS = re.compile(
    "activation|alibi(_use_positive_positions)?|alignment_(heads|layer)|embeddings_merge|num_heads"
    "|multi_query_attention|pre_norm|scale_(alibi|embeddings)|start_from_zero_embedding"
    "|self_attention/rotary_(base|dim|interleave)"
)
"""Names of single numbers."""


def check_model_file(path: Path, source: Vocabulary, target: Vocabulary) -> None:
    """Check the variables of ``model.bin`` before CTranslate2 reads them.

    It believes what the file says of its variables: a wrong rank or shape makes it write behind its
    memory. So every variable must be one that we write, with the shape that follows from the
    vocabularies and from the few sizes of a Transformer.

    Raises:
        ValueError: naming the first variable that is not as we write it.
        struct.error: if the file ends too early.
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
            raise ValueError(f"variable {name[:60]!r} is not of this format")
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
        raise ValueError("the attention to report is not that of all heads of a layer")
    for side, numbers in layers.items():
        if numbers != {*range(len(numbers))}:
            raise ValueError(f"layers of the {side} are missing")


def _read_variables(file: BinaryIO) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Return the shapes of variables by name, and the values of single integers; -1 of others."""
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
        raise ValueError("it does not end where its variables do")
    return sizes, values


def _read(file: BinaryIO, kind: str) -> int:
    [number] = struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))
    return int(number)


def _read_name(file: BinaryIO) -> str:
    return file.read(_read(file, "H")).removesuffix(b"\0").decode("ascii")


def load_ctranslate2(
    folder: Path, source: Vocabulary, target: Vocabulary, *, name: str, device: str, threads: int
) -> CTranslate2Engine:
    """Load a model that was written for CTranslate2 from a folder of a verified bundle.

    The device is ``cpu``, ``cuda`` or ``cuda:1``; each thread computes a batch of its own.

    Raises:
        BundleError: if CTranslate2 cannot read the folder.
        ConfigError: if the device is not there.
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
    shift = 0.0
    if (path := folder / SCORES).exists():
        with explain_unreadable(path):
            shift = _SHIFT.validate_json(path.read_bytes())["shift"]
    has_shortlist = (folder / SHORTLIST).exists()
    return CTranslate2Engine(program, source, target, name, has_shortlist, shift)
