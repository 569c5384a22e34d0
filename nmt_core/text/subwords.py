"""Lossless subwords by SentencePiece (Kudo and Richardson 2018).

``normalize.py`` normalises text, not SentencePiece, so decoding returns exactly the normalised
line. Characters without a piece are encoded as bytes. Every digit is a piece, so a new number
consists of known pieces.
"""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import sentencepiece
from pydantic import Field

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text.normalize import WORD_BOUNDARY
from nmt_core.text.tokenizer import Tokenizer
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

MIN_VOCABULARY = 300

MAX_LINE_BYTES = 100_000
"""Subwords are not learnt from longer lines."""

CACHED_WORDS = 2**17
"""Number of words whose pieces a tokenizer caches before it forgets all of them."""


class SubwordConfig(Config):
    """Settings of learning subwords."""

    model_type: Literal["bpe", "unigram"] = "bpe"
    """Byte pair encoding (Sennrich et al. 2016) or a unigram model (Kudo 2018)."""
    vocab_size: int = Field(8000, ge=MIN_VOCABULARY, le=1_000_000)
    """Size of the vocabulary with reserved and byte pieces, without the symbols of literals; per
    language unless joint."""
    joint: bool = True
    """Share one vocabulary between both languages; tied embeddings require it."""
    byte_fallback: bool = True
    """Encode characters without a piece as UTF-8 bytes, so that no token is unknown."""
    character_coverage: float = Field(0.9998, gt=0, le=1)
    """Share of character occurrences that have their own piece."""
    max_lines: int = Field(2_000_000, ge=1, le=1_000_000_000)
    """Maximum number of lines to train on; a larger corpus is sampled evenly."""
    temperature: float = Field(5.0, ge=1, le=100)
    """With several directions, the share of a language in these lines is in proportion to its
    lines^(1/temperature) (Arivazhagan et al. 2019), so that a small one is not cut into letters."""


class Subwords(Tokenizer):
    """Tokenizer that splits lines into subword pieces and joins them without loss."""

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def __reduce__(self) -> tuple[type["Subwords"], tuple[bytes]]:
        """Leave the cache behind when the server sends a tokenizer to a worker process."""
        return Subwords, (self._model,)

    @classmethod
    def train(
        cls, lines: Iterable[str], config: SubwordConfig, *, symbols: Sequence[str] = ()
    ) -> "Subwords":
        """Train a tokenizer on normalised lines.

        Each character of ``symbols`` is a further piece; ``config.vocab_size`` does not count it.

        Raises:
            ConfigError: if the text is too small for the number of pieces.
        """
        model = io.BytesIO()
        is_bpe = config.model_type == "bpe"  # learns the same from words and their counts
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_count_words(lines) if is_bpe else iter(lines),
                input_format="tsv" if is_bpe else "text",
                model_writer=model,
                model_type=config.model_type,
                vocab_size=config.vocab_size + len(symbols),
                user_defined_symbols=list(symbols),
                byte_fallback=config.byte_fallback,
                character_coverage=config.character_coverage,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                split_digits=True,
                required_chars="0123456789",
                num_threads=1,
                input_sentence_size=0,
                max_sentence_length=MAX_LINE_BYTES,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                pad_piece=SPECIALS[PAD],
                bos_piece=SPECIALS[BOS],
                eos_piece=SPECIALS[EOS],
                unk_piece=SPECIALS[UNK],
                minloglevel=2,
            )
        except FileNotFoundError:  # from ``lines``
            raise
        except (RuntimeError, OSError) as error:
            reason = str(error).split("]")[-1].strip() or str(error)
            advice = "lower tokenize.subwords.vocab_size or use more text"
            if "smaller than required_chars" in reason:
                advice = "raise tokenize.subwords.vocab_size or lower character_coverage"
            raise ConfigError(
                f"{config.vocab_size} pieces cannot be learnt from this text ({reason}); {advice}"
            ) from None
        proto = _parse_model(model.getvalue())
        proto.trainer_spec.ClearField("input_format")
        return cls(proto.SerializeToString(deterministic=True))

    def extend(self, lines: Iterable[str], count: int) -> "Subwords":
        """Return a tokenizer with at most ``count`` more pieces, learnt from other text.

        The present pieces keep their IDs, and merge before the new ones. New characters come first.

        Raises:
            ConfigError: if the pieces were not learnt by BPE.
        """
        if self.model_type != "bpe":
            raise ConfigError("only BPE pieces can be added to; set tokenize.added_pieces to 0")
        size = max(MIN_VOCABULARY, len(self.vocabulary), 2 * count)
        learnt = Subwords.train(lines, SubwordConfig(vocab_size=size), symbols=ALL_SYMBOLS)
        known = {*self.vocabulary.tokens}
        new = [piece for piece in learnt.scored_pieces if piece not in known]
        chosen = sorted(new, key=lambda piece: len(piece) > 1)[:count]
        proto = _parse_model(self._model)
        lowest = min(piece.score for piece in proto.pieces)
        for rank, piece in enumerate((each for each in new if each in {*chosen}), start=1):
            proto.pieces.add(piece=piece, score=lowest - rank)
        proto.trainer_spec.vocab_size = len(proto.pieces)
        return Subwords(proto.SerializeToString(deterministic=True))

    @classmethod
    def load(cls, folder: Path) -> "Subwords":
        """Load the tokenizer that ``save`` wrote.

        Raises:
            BundleError: if the model is empty, which SentencePiece would accept.
        """
        model = (folder / "sentencepiece.model").read_bytes()
        if not model:
            raise BundleError(f"{folder} contains an empty tokenizer; run the tokenize stage again")
        return cls(model)

    def save(self, folder: Path) -> None:
        """Write ``sentencepiece.model`` and ``tokenizer.json`` to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        with files.whole_file(folder / "sentencepiece.model") as part:
            part.write_bytes(self._model)
        files.write_json(folder / "tokenizer.json", {"kind": "sentencepiece"})

    @property
    def vocabulary(self) -> Vocabulary:
        """All pieces, with the IDs of SentencePiece."""
        return Vocabulary(self._processor.id_to_piece([*range(self._processor.get_piece_size())]))

    @property
    def scored_pieces(self) -> dict[str, tuple[int, float]]:
        """ID and score of every piece except bytes, symbols and reserved tokens."""
        pieces = [*enumerate(self.vocabulary.tokens)][len(SPECIALS) :]
        return {
            piece: (number, self._processor.get_score(number))
            for number, piece in pieces
            if not self._processor.is_byte(number) and piece not in ALL_SYMBOLS
        }

    @property
    def model_type(self) -> Literal["bpe", "unigram"]:
        """The type of the model: scores are ranks in BPE, log-probabilities in a unigram model."""
        scores = map(self._processor.get_score, range(self._processor.get_piece_size()))
        return "bpe" if all(score.is_integer() for score in scores) else "unigram"

    def encode(self, line: str) -> list[str]:
        """Return the pieces of a normalised line."""
        return self.join_pieces(line).split()

    def join_pieces(self, line: str) -> str:
        """Return the pieces of a normalised line, separated by spaces."""
        if self._join.cache_info().currsize > CACHED_WORDS:
            self._join.cache_clear()  # an LRU cache is much slower
        return " ".join(map(self._join, line.split(" ") if self._splits_words else [line]))

    @cached_property
    def _splits_words(self) -> bool:
        """Whether no piece spans two words, so that each word can be encoded alone."""
        pieces = self.vocabulary.tokens
        return self.model_type == "bpe" and not any(WORD_BOUNDARY in piece[1:] for piece in pieces)

    @cached_property
    def _join(self) -> "_lru_cache_wrapper[str]":
        encode = partial(self._processor.encode, out_type=str)
        return lru_cache(None if self._splits_words else 0)(lambda text: " ".join(encode(text)))

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line of these pieces; invalid UTF-8 becomes U+FFFD.

        The unknown token is written as ``<unk>``, passed in two parts because SentencePiece would
        write another sign for the whole.
        """
        line = "".join(tokens)
        if "<" not in line:  # neither bytes nor the unknown token
            return line.replace(WORD_BOUNDARY, " ").removeprefix(" ")
        split = {SPECIALS[UNK]: ("<", "unk>")}
        return self._processor.decode([p for token in tokens for p in split.get(token, (token,))])


def _count_words(lines: Iterable[str]) -> Iterator[str]:
    """Return the words of normalised lines, each with its count after a tab."""
    counts: Counter[str] = Counter()
    for line in lines:
        if len(line) <= MAX_LINE_BYTES // 4 or len(line.encode()) <= MAX_LINE_BYTES:
            counts.update(line.split(" "))
    return (f"{word}\t{count}" for word, count in counts.items())


def _parse_model(model: bytes) -> Any:
    from sentencepiece import sentencepiece_model_pb2 as generated  # requires protobuf

    return vars(generated)["ModelProto"].FromString(model)


def balance_lines(counts: Mapping[str, int], limit: int, temperature: float) -> dict[str, int]:
    """Return how many lines of each language to train on, at most ``limit`` in all.

    A language with fewer lines than its share repeats them.
    """
    weights = {code: count ** (1 / temperature) for code, count in counts.items()}
    total, lines = sum(weights.values()), min(limit, sum(counts.values()))
    return {code: max(1, int(lines * weight / total)) for code, weight in weights.items()}


def sample_evenly(lines: Iterable[str], total: int, limit: int) -> Iterable[str]:
    """Yield at most ``limit`` of ``total`` lines at even intervals."""
    step = max(1, -(-total // limit))
    return (line for number, line in enumerate(lines) if number % step == 0)
