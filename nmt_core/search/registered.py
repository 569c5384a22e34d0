"""Programs that search models, by name: each is a file or two, and a line here.

This file imports none of them, since the engines of a bundle are listed before one is loaded.
"""

from typing import Literal, NamedTuple, get_args

from pydantic import FiniteFloat

from nmt_core.base.config import Config
from nmt_core.base.registry import Registry

Precision = Literal["int8", "float32"]
"""The precision of products in an engine that export adds to a bundle."""

FOLDER = "engines"
"""The folder of engines: ``engines/NAME/``, and measurements in ``engines/NAME.json``."""

SHORTLIST = "vmap.txt"
"""The file of CTranslate2's engine with its shortlist, if it has one."""

SCORES = "scores.json"
"""The file beside it with the shift of its scores."""


class ScoreShift(Config):
    """Shift of the scores of a search with a shortlist."""

    shift: FiniteFloat
    """In the mean of the validation sentences that PyTorch translates alike."""


class Program(NamedTuple):
    """A program that searches models, with its writer and its loader.

    One for the engine that ``PlainEngine`` shows, in a module ``copying`` that another package
    offers by an entry point of ``nmt.engines``, ``copying = copying:COPYING``::

        COPYING = Program("copying", loader="copying:load", writer="copying:write")

        def write(folder, precision, *, config, **_):
            if config.architecture != "rnn":
                raise InexpressibleError("it is not recurrent")
            folder.mkdir(parents=True)

        def load(folder, source, target, *, name, device, threads):
            return CopyingEngine(name)
    """

    package: str
    """The module that has to be installed for it."""
    loader: str
    """Where the function is that loads a verified folder, ``module:thing``."""
    writer: str = ""
    """The function that writes a model for it, or raises InexpressibleError; empty for PyTorch,
    which reads the bundle itself."""


PROGRAMS = Registry(
    "an engine",
    "nmt.engines",
    {
        "ctranslate2": Program(
            "ctranslate2",
            loader="nmt_core.search.ctranslate2:load_ctranslate2",
            writer="nmt_core.search.conversion:write_ctranslate2",
        ),
        "torch": Program("torch", loader="nmt_core.search.pytorch:load_pytorch"),
    },
)
"""The programs, the fastest first."""


def name_engine(program: str, precision: Precision) -> str:
    """Return the name of a program's engine of a precision in a bundle."""
    return f"{program}_{precision}"


def find_program(engine: str) -> str:
    """Return the program that runs an engine."""
    return engine.rpartition("_")[0] if engine.endswith(get_args(Precision)) else engine


def rank_engine(engine: str) -> tuple[int, int]:
    """Return the sort key of an engine, the fastest first."""
    ours, program = [*PROGRAMS.ours], find_program(engine)
    rank = ours.index(program) if program in ours else len(ours)
    return rank, get_args(Precision).index(engine.removeprefix(f"{program}_"))


def list_choices() -> list[str]:
    """Return the engines that a user may choose.

    ``auto`` takes the fastest that is there, the name of a program the fastest of that program's.
    """
    written = [program for program in PROGRAMS if PROGRAMS.load(program).writer]
    each = [
        name_engine(program, precision) for program in written for precision in get_args(Precision)
    ]
    return ["auto", *written, *each, "torch"]
