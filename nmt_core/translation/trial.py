"""Check in a separate process that an exported model still translates its golden sentences.

Golden sentences are a model's translations at the time of export. A malicious file can crash or
block the C++ library that reads it. So another process first loads the model, translates its golden
sentences and reports the problem on its last line. The server does so whenever it loads a model. A
command does so once for each model and library version, and records it by an empty file in the
user's cache.
"""

import hashlib
import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Thread
from traceback import extract_tb
from typing import NoReturn, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from nmt_core.base import files
from nmt_core.base.errors import BundleError, NmtError
from nmt_core.base.languages import read_languages
from nmt_core.base.seal import digest_bundle, explain_unreadable
from nmt_core.search.engine import FOLDER
from nmt_core.translation.translator import Translator

MAX_CHANGED_GOLDEN = 2
"""Maximum golden sentences that may differ, because other processors round differently and two
translations may be almost equally good."""


class _Answer(TypedDict):
    """The model's translation of a line at the time of export."""

    source: str
    ids: list[int]
    text: str
    languages: NotRequired[str]
    """The direction, in a multilingual model."""


_ANSWERS = TypeAdapter(list[_Answer])


def translate_golden(
    translator: Translator, lines: Sequence[str], directions: Sequence[str] = ()
) -> list[_Answer]:
    """Return the translation of each golden sentence, with its token IDs.

    ``directions`` has the direction of each line for a multilingual model.
    """
    found = translator.translate_mixed(lines, [*map(read_languages, directions)])
    answers: list[_Answer] = [
        {"source": line, "ids": [*best.ids], "text": best.text}
        for line, best in zip(lines, found, strict=True)
    ]
    for answer, direction in zip(answers, directions, strict=False):
        answer["languages"] = direction
    return answers


def check_golden(translator: Translator, folder: Path) -> list[tuple[str, str, str]]:
    """Translate the golden sentences of a bundle again, and load its aligner.

    Each engine is compared with its own translations at the time of export.

    Returns:
        The differences: source, translation at the time of export, and current translation.

    Raises:
        BundleError: if the bundle has no golden sentences.
    """
    translator.load_aligner()
    name = translator.engine.name
    path = folder / ("golden.json" if name == "torch" else f"{FOLDER}/{name}.json")
    with explain_unreadable(path):
        stored = files.read_json(path)
        before = _ANSWERS.validate_python(stored if name == "torch" else stored["golden"])
    if not before:
        raise BundleError(f"{path} has no golden sentences; export the model again")
    directions = [answer["languages"] for answer in before if "languages" in answer]
    now = translate_golden(translator, [answer["source"] for answer in before], directions)
    return [
        (old["source"], old["text"], new["text"])
        for old, new in zip(before, now, strict=True)
        if old != new
    ]


TRIAL_SECONDS = 300.0
"""Maximum seconds to load a model and translate its golden sentences."""

MAX_OUTPUT_BYTES = 10_000
"""Maximum bytes to read of the other process's output."""

PARSERS = ("ctranslate2", "sentencepiece", "torch")
"""Packages that read files of a model in C++; a new version requires a new trial."""


def load_tried(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> Translator:
    """Load an exported model after a trial in another process; see ``Translator.load``.

    Raises:
        BundleError: if the model is incomplete or altered, translates differently, or crashes or
            blocks the trial.
        ConfigError: if the engine or the device does not exist.
    """
    digest = digest_bundle(folder)
    if problem := run_trial(folder, _command(folder, engine, device, threads)):
        raise BundleError(problem)
    translator = Translator.load(folder, engine=engine, device=device, threads=threads)
    translator.load_aligner()  # while the folder is there
    if digest_bundle(folder) != digest:
        raise BundleError(f"{folder} was replaced while it was loaded; try again")
    return translator


def try_once(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> None:
    """Try an exported model in another process, unless that was done before.

    Only a crash or a time-out is reported; loading the model reports other problems.

    Raises:
        BundleError: if the model crashes or blocks the trial.
    """
    try:
        digest = digest_bundle(folder)
    except OSError:
        return
    parsers = [spec.origin for package in PARSERS if (spec := find_spec(package)) and spec.origin]
    versions = [(path, Path(path).stat().st_mtime_ns) for path in parsers]  # faster than metadata
    identity = [digest, engine, device, versions]
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    mark = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "nmt" / name
    if mark.exists():
        return
    run_trial(folder, _command(folder, engine, device, threads))
    with suppress(OSError):  # without a cache, each command tries the model
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _command(folder: Path, engine: str, device: str, threads: int | None) -> list[str]:
    program = [sys.executable, "-P", "-m", "nmt_core.translation.trial"]
    return [*program, str(folder), engine, device, str(threads or "")]


def run_trial(folder: Path, command: Sequence[str], seconds: float = TRIAL_SECONDS) -> str:
    """Run the trial of a model; return the problem that it reports, or "".

    The command must exit when its standard input ends.

    Raises:
        BundleError: if the process crashes or takes too long.
    """
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as trial:
        assert trial.stdout is not None
        try:
            trial.wait(seconds)
        except TimeoutExpired:
            trial.kill()
            raise BundleError(
                f"{folder} did not translate its golden sentences within {seconds:g} seconds; "
                f"export the model again"
            ) from None
        output = trial.stdout.read(MAX_OUTPUT_BYTES).decode(errors="replace")
    if trial.returncode < 0:
        name = signal.Signals(-trial.returncode).name
        raise BundleError(
            f"{folder} crashed the process that loaded it ({name}); download or export it again"
        )
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(output.splitlines()[-1])["problem"])
    return f"{folder} could not be tried: the process gave no result; try again"


def find_problem(folder: Path, *, engine: str, device: str, threads: int | None) -> str:
    """Load a model and translate its golden sentences; return the problem, or ""."""
    try:
        translator = Translator.load(folder, engine=engine, device=device, threads=threads)
        if (changed := len(check_golden(translator, folder))) > MAX_CHANGED_GOLDEN:
            return (
                f"{folder} translates {changed} golden sentences differently than at the time of "
                f"export; check device and library versions, or export it again"
            )
    except NmtError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - any error is reported in a sentence
        frame = extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename}:{frame.lineno}"
        return (
            f"{folder} cannot translate ({type(error).__name__} at {place}); export the model again"
        )
    return ""


def give_way() -> None:
    """Let this process be killed first if memory runs out, and forbid it to write files."""
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    with suppress(OSError):  # some systems do not have it
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def exit_at_end_of_input() -> NoReturn:
    """Exit when standard input ends, because the parent has ended."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def main() -> None:
    """Try the model of the command line; print the problem as JSON."""
    folder, engine, device, threads = sys.argv[1:]
    give_way()
    Thread(target=exit_at_end_of_input, daemon=True).start()
    count = int(threads) if threads else None
    problem = find_problem(Path(folder), engine=engine, device=device, threads=count)
    sys.stdout.write(f"{json.dumps({'problem': problem})}\n")


if __name__ == "__main__":
    main()
