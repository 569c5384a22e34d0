"""Do the tests notice? Break the code in one known way at a time, and see which test falls.

Usage: python -m tests.mutants [WORD ...]     (only mutants whose name holds a word)

Works in a copy of the project and leaves this one alone. Each mutant is a line of code and what to
write in its place; a mutant that no test notices is a hole in the tests, and ends this with 1.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

TOP = Path(__file__).parents[1]
LAWS = "tests/laws/test_seq2seq_laws.py"
SEARCH = "tests/laws/test_beam_laws.py tests/laws/test_beam_oracle.py"


class Mutant(NamedTuple):
    """One way to break the code."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant(
        "a softmax that only nearly masks",
        "nmt_core/models/attention.py",
        ".softmax(dim=-1).masked_fill(blocked, 0.0)",
        ".softmax(dim=-1)",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "attention scores not scaled",
        "nmt_core/models/attention.py",
        "(query * query.size(-1) ** -0.5)",
        "query",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "hypotheses folded into the wrong sentence",
        "nmt_core/models/attention.py",
        "query.unflatten(0, (sentences, -1))",
        "query.unflatten(0, (-1, sentences)).transpose(0, 1)",
        LAWS,
    ),
    Mutant(
        "the causal mask off by one",
        "nmt_core/models/transformer.py",
        "diagonal=keys - queries + 1",
        "diagonal=keys - queries + 2",
        LAWS,
    ),
    Mutant(
        "a step at the wrong position",
        "nmt_core/models/transformer.py",
        "self.target_embedding(tokens, state.position)",
        "self.target_embedding(tokens)",
        LAWS,
    ),
    Mutant(
        "rows of a state not selected",
        "nmt_core/models/seq2seq.py",
        "return value.index_select(0, rows)",
        "return value[: len(rows)]",
        LAWS,
    ),
    Mutant(
        "K candidates instead of 2K",
        "nmt_core/decoding/beam.py",
        "best = total.topk(min(2 * size, total.size(1)), dim=1)",
        "best = total.topk(min(size + 1, total.size(1)), dim=1)",
        SEARCH,
    ),
    Mutant(
        "a search that stops at the first end",
        "nmt_core/decoding/beam.py",
        "done = finished.score[:, config.best - 1] >= bound",
        "done = finished.score[:, config.best - 1] > -torch.inf",
        SEARCH,
    ),
    Mutant(
        "lengths without the end of sentence",
        "nmt_core/decoding/beam.py",
        "length**config.length_penalty)",
        "max(1, length - 1) ** config.length_penalty)",
        SEARCH,
    ),
    Mutant(
        "states of the wrong sentence followed",
        "nmt_core/decoding/beam.py",
        "[:, None] * size + parent",
        "[:, None] + parent",
        SEARCH,
    ),
    Mutant(
        "positions with sine and cosine swapped",
        "nmt_core/models/embedding.py",
        "torch.stack([angle.sin(), angle.cos()], dim=-1)",
        "torch.stack([angle.cos(), angle.sin()], dim=-1)",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "dropout that keeps the scale",
        "nmt_core/models/dropout.py",
        "keep.mul_(_LEVELS / (_LEVELS - level))",
        "keep",
        "tests/unit/test_attention.py",
    ),
    Mutant(
        "label smoothing that forgets the right word",
        "nmt_core/training/loss.py",
        "torch.full_like(right, label_smoothing - 1)",
        "torch.full_like(right, -1)",
        "tests/unit/test_loss.py",
    ),
    Mutant(
        "dropout drawn anew after a restart",
        "nmt_core/training/trainer.py",
        'seed_torch(self.seed, "dropout", step)',
        "pass",
        "tests/laws/test_resume_laws.py",
    ),
    Mutant(
        "a repeated n-gram allowed at its end",
        "nmt_core/decoding/constraints.py",
        "tokens[:, length - size + 1 :]",
        "tokens[:, length - size + 1 :] * 0 - 1",
        SEARCH,
    ),
]


def copy(folder: Path) -> None:
    """Copy what git knows of."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0")[:-1]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, folder / name)


def caught(mutant: Mutant, folder: Path) -> str | None:
    """Return the first test that notices, or None."""
    path = folder / mutant.file
    code = path.read_text(encoding="utf-8")
    if code.count(mutant.old) != 1:
        sys.exit(f"{mutant.file} holds {mutant.old!r} {code.count(mutant.old)} times, not once")
    path.write_text(code.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
        ran = subprocess.run(
            [*command, *mutant.tests.split()],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.write_text(code, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    return failed[1].split("/")[-1] if failed else None


def main(words: list[str]) -> int:
    """Try every mutant; return 1 if one was not noticed."""
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    table = Table("mutant", "the first test that notices")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        for mutant in track(chosen, description="mutants"):
            test = caught(mutant, Path(folder))
            missed += test is None
            table.add_row(mutant.name, test or "[red]none[/red]")
    Console(width=150).print(table)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
