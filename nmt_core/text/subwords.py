"""Subwords by SentencePiece (Kudo and Richardson 2018): nothing is unknown, nothing is lost.

Text is normalised before it is cut (``normalize.py``), not by SentencePiece, so that joining gives
back exactly the normalised line. What no piece covers is spelt in bytes. Digits stand alone, so
that a number never seen is still made of known parts.
"""

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import sentencepiece
from pydantic import Field

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import BundleError, ConfigError
from nmt_core.base.symbols import ALL_SYMBOLS
from nmt_core.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary


class SubwordConfig(Config):
    """Settings of learning subwords."""

    model_type: Literal["bpe", "unigram"] = "bpe"
    """Byte pair encoding (Sennrich et al. 2016) or a unigram model (Kudo 2018)."""
    vocab_size: int = Field(8000, ge=300, le=1_000_000)
    """Vocabulary, reserved and byte pieces included, but not the symbols of literals; per language
    unless joint."""
    joint: bool = True
    """One vocabulary for both languages, as tied embeddings need it."""
    byte_fallback: bool = True
    """Spell characters that no piece covers in UTF-8 bytes, so that nothing is unknown."""
    character_coverage: float = Field(0.9998, gt=0, le=1)
    """Share of character occurrences that get a piece of their own."""
    max_lines: int = Field(2_000_000, ge=1, le=1_000_000_000)
    """Lines to learn from; a larger corpus is read evenly."""


class Subwords:
    """Cuts lines into pieces and joins them without loss."""

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(
        cls, lines: Iterable[str], config: SubwordConfig, *, symbols: Sequence[str] = ()
    ) -> "Subwords":
        """Learn pieces from normalised lines.

        Args:
            lines: text to learn from.
            config: how many pieces, and of which kind.
            symbols: characters that are pieces of their own, beyond ``config.vocab_size``.

        Raises:
            ConfigError: if the text is too small for the number of pieces.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
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
                max_sentence_length=100_000,
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
        except FileNotFoundError:  # of the text, which is read meanwhile
            raise
        except (RuntimeError, OSError) as error:
            reason = str(error).split("]")[-1].strip() or str(error)
            advice = "lower tokenize.subwords.vocab_size or give more text"
            if "smaller than required_chars" in reason:
                advice = "raise tokenize.subwords.vocab_size or lower character_coverage beside it"
            raise ConfigError(
                f"{config.vocab_size} pieces cannot be learnt from this text ({reason}); {advice}"
            ) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, folder: Path) -> "Subwords":
        """Read the files of ``save``.

        Raises:
            BundleError: if that is empty, which SentencePiece takes for a model without pieces.
        """
        model = (folder / "sentencepiece.model").read_bytes()
        if not model:
            raise BundleError(f"{folder} holds an empty tokenizer; run the tokenize stage again")
        return cls(model)

    def save(self, folder: Path) -> None:
        """Write the model and ``tokenizer.json`` to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        with files.whole_file(folder / "sentencepiece.model") as part:
            part.write_bytes(self._model)
        files.write_json(folder / "tokenizer.json", {"kind": "sentencepiece"})

    @property
    def vocabulary(self) -> Vocabulary:
        """All pieces, numbered as SentencePiece numbers them."""
        count = self._processor.get_piece_size()
        return Vocabulary([self._processor.id_to_piece(number) for number in range(count)])

    @property
    def scored_pieces(self) -> dict[str, tuple[int, float]]:
        """Number and score of every piece that is text: no byte, symbol or reserved token."""
        processor = self._processor
        return {
            processor.id_to_piece(number): (number, processor.get_score(number))
            for number in range(len(SPECIALS), processor.get_piece_size())
            if not processor.is_byte(number) and processor.id_to_piece(number) not in ALL_SYMBOLS
        }

    @property
    def model_type(self) -> Literal["bpe", "unigram"]:
        """The kind of model: BPE scores pieces by rank, a unigram by log-probability."""
        ranks = all(score.is_integer() for _, score in self.scored_pieces.values())
        return "bpe" if ranks else "unigram"

    def encode(self, line: str) -> list[str]:
        """Return the pieces of a line."""
        return self._processor.encode(line, out_type=str)

    def surfaces(self, line: str) -> list[str]:
        """Return the pieces of a line, which are also their surface text."""
        return self.encode(line)

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the line that the pieces make; bytes that are no UTF-8 become U+FFFD.

        The unknown token stays as it is spelt, in two parts that SentencePiece does not know: the
        whole it would write as another sign.
        """
        spelt = {SPECIALS[UNK]: ("<", "unk>")}
        return self._processor.decode([p for token in tokens for p in spelt.get(token, (token,))])


def sample_evenly(lines: Iterable[str], total: int, at_most: int) -> Iterable[str]:
    """Yield at most ``at_most`` of ``total`` lines, spread evenly."""
    step = max(1, -(-total // at_most))
    return (line for number, line in enumerate(lines) if number % step == 0)


def read_kind(folder: Path) -> str:
    """Return the kind of tokenizer a folder holds.

    Raises:
        BundleError: if the folder holds none.
    """
    try:
        return str(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["kind"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BundleError(
            f"{folder} holds no tokenizer ({error}); run the tokenize stage again"
        ) from None
