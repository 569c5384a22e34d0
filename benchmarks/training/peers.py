"""Other toolkits that train the same model on the same text, each in an environment of its own."""

import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import typer
import yaml
from rich.console import Console

from benchmarks.training.work import Work
from nmt_core.base.errors import suggest

ENVIRONMENTS = Path(".peers")
"""Where toolkits are installed, each once."""

SPECIALS = 4
"""Tokens that eole adds to those of a text."""

HIGHEST_RATE = 0.002
"""The learning rate that eole's Adam comes to at the end of its warm-up."""


@dataclass(frozen=True)
class Peer:
    """A toolkit."""

    requirements: tuple[str, ...]
    prepare: Callable[[Path, Work, Path, int], list[str]]
    """Takes the folder of its programs, the work, a folder to write into and a number of updates;
    returns the command."""
    count_tokens: Callable[..., int]
    """Takes what it has written and the number of updates; returns target tokens, no padding."""
    translate: Callable[[Path, Path, Path, int, Path], list[str]]
    """Takes the folder of its programs, the one that training has written into, a text, a beam size
    and a file; returns the command that writes translations of the text's lines into the file."""

    def install(self, name: str) -> Path:
        """Install it unless it is there; return the folder of its programs.

        Raises:
            CalledProcessError: if a package cannot be installed.
        """
        folder = ENVIRONMENTS / name
        ready = folder / "ready"
        if not ready.exists() or ready.read_text() != "\n".join(self.requirements):
            Console(stderr=True).print(f"installing {name} in {folder}, once")
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, *self.requirements], check=True)
            ready.write_text("\n".join(self.requirements))
        return (folder / "bin").resolve()


def check_peers(names: Sequence[str]) -> None:
    """Make sure that there are toolkits of these names.

    Raises:
        BadParameter: naming the one that there is not, and the nearest that there is.
    """
    for name in names:
        if name not in PEERS:
            raise typer.BadParameter(f"there is no peer {name}; {suggest(name, PEERS)}")


def prepare_eole(programs: Path, work: Work, folder: Path, steps: int) -> list[str]:
    """Return eole's command for some updates; its settings are written into the folder."""
    vocabulary = folder / "vocabulary"
    tokens = work.read_tokens()
    vocabulary.write_text("".join(f"{token}\t1\n" for token in tokens))
    shape = work.shape
    schedule: dict[str, Any] = {"learning_rate": 0.0001}
    if work.warmup:
        factor = HIGHEST_RATE * math.sqrt(shape.width * work.warmup)
        schedule = {
            "learning_rate": factor,
            "decay_method": "noam",
            "warmup_steps": work.warmup,
        }
    settings = {
        "seed": 1,
        "data": {"corpus": {"path_src": str(work.source), "path_tgt": str(work.target)}},
        "transforms": [],
        "src_vocab": str(vocabulary),
        "tgt_vocab": str(vocabulary),
        "share_vocab": True,
        "src_vocab_size": len(tokens) + SPECIALS,
        "tgt_vocab_size": len(tokens) + SPECIALS,
        "vocab_size_multiple": 1,
        "save_data": str(folder / "data"),
        "overwrite": True,
        "report_every": steps,
        "model": {
            "architecture": "transformer",
            "embeddings": {
                "word_vec_size": shape.width,
                "position_encoding_type": "SinusoidalInterleaved",
            },
            "hidden_size": shape.width,
            "encoder": {"layers": shape.encoder_layers},
            "decoder": {"layers": shape.decoder_layers},
            "heads": shape.heads,
            "transformer_ff": shape.feed_forward_width,
            "mlp_activation_fn": "relu",
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "share_decoder_embeddings": True,
            "share_embeddings": True,
        },
        "training": {
            "model_path": str(folder / "model"),
            "world_size": 0,
            "gpu_ranks": [],
            "compute_dtype": "fp32",  # it knows no other on a processor
            "batch_type": "tokens",
            "batch_size": work.batch_tokens,
            "normalization": "tokens",
            "accum_count": [1],
            "optim": "adam",
            "adam_beta2": 0.98,
            **schedule,
            "max_grad_norm": 1,
            "dropout": [shape.dropout],
            "attention_dropout": [0.0],
            "label_smoothing": 0.1,
            "train_steps": steps,
            "valid_steps": 10**9,
            "save_checkpoint_steps": 10**9,
            "bucket_size": 10**5,
            "num_workers": 0,
            "log_attention_entropy": False,
        },
    }
    (folder / "eole.yaml").write_text(yaml.safe_dump(settings))
    return [str(programs / "eole"), "train", "-config", str(folder / "eole.yaml")]


def count_eole_tokens(said: str, steps: int) -> int:
    """Return the target tokens that eole says it has trained on: updates times their mean."""
    [mean] = re.findall(rf"Step +{steps}/.*bsz: +\d+/ *(\d+)/", said)
    return int(mean) * steps


def translate_by_eole(
    programs: Path, folder: Path, text: Path, beam_size: int, written: Path
) -> list[str]:
    """Return eole's command that translates a text of tokens."""
    options = {
        "model_path": folder / "model",
        "src": text,
        "output": written,
        "beam_size": beam_size,
        "batch_type": "tokens",
        "batch_size": 2048,
        "compute_dtype": "fp32",
    }
    given = [word for name, value in options.items() for word in (f"-{name}", str(value))]
    return [str(programs / "eole"), "predict", *given]


PEERS: Mapping[str, Peer] = {
    "eole": Peer(
        # it imports aiohttp, but does not ask for it
        ("eole==0.6.4", "aiohttp==3.14.5", f"torch=={torch.__version__.partition('+')[0]}"),
        prepare_eole,
        count_eole_tokens,
        translate_by_eole,
    )
}
