"""Check that an exported model still translates as it did, in a separate process first.

Golden sentences are a model's translations at the time of export. A malicious file may end or block
the C++ program that reads it. So another process first loads the model, translates its golden
sentences and names the problem on its last line. The server does so whenever it loads a model; a
command does so once for each model and version of these programs, and records it by an empty file
in the user's cache.
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
from typing import NoReturn

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from nmt_core.base import files
from nmt_core.base.errors import BundleError, NmtError
from nmt_core.base.seal import digest_bundle, explain_unreadable
from nmt_core.search.engine import FOLDER
from nmt_core.translation.translator import Translator

FEW = 2
"""Golden sentences that may differ: another processor rounds otherwise, and so decides otherwise
where two translations are almost equally good."""


class _Answer(TypedDict):
    """The model's translation of a line at the time of export."""

    source: str
    ids: list[int]
    text: str


_ANSWERS = TypeAdapter(list[_Answer])


def translate_golden(translator: Translator, lines: Sequence[str]) -> list[_Answer]:
    """Translate the golden sentences; return each with the numbers of its translation's tokens."""
    translations = translator.search(lines, n_best=1, probabilities=False)
    return [
        {"source": line, "ids": [*best.ids], "text": best.text}
        for line, [best] in zip(lines, translations, strict=True)
    ]


def check_golden(translator: Translator, folder: Path) -> list[tuple[str, str, str]]:
    """Translate the golden sentences of a bundle again, and load its aligner.

    Each engine is compared with its own translations at the time of export.

    Returns:
        Those that differ: the source, its translation at the time of export, and that of now.

    Raises:
        BundleError: if the bundle holds none, which would prove nothing.
    """
    translator.load_aligner()
    name = translator.engine.name
    path = folder / ("golden.json" if name == "torch" else f"{FOLDER}/{name}.json")
    with explain_unreadable(path):
        stored = files.read_json(path)
        before = _ANSWERS.validate_python(stored if name == "torch" else stored["golden"])
    if not before:
        raise BundleError(f"{path} holds no line to translate again; export the model again")
    now = translate_golden(translator, [answer["source"] for answer in before])
    return [
        (old["source"], old["text"], new["text"])
        for old, new in zip(before, now, strict=True)
        if old != new
    ]


TRIAL_SECONDS = 300.0
"""Seconds that a model may take to load and to translate its golden sentences."""

MOST_ANSWER_BYTES = 10_000
"""Bytes that are read of the other process's output."""

PARSERS = ("ctranslate2", "sentencepiece", "torch")
"""Packages that read files of a model in C++; a new version of one is tried anew."""


def load_tried(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> Translator:
    """Load an exported model, see ``Translator.load``, after a trial in another process.

    Raises:
        BundleError: if it is incomplete or altered, translates otherwise than it did, ends the
            process that loads it or keeps it busy.
        ConfigError: if the engine or the device is not there.
    """
    digest = digest_bundle(folder)
    if problem := run_trial(folder, _command(folder, engine, device, threads)):
        raise BundleError(problem)
    translator = Translator.load(folder, engine=engine, device=device, threads=threads)
    translator.load_aligner()  # while the folder is there
    if digest_bundle(folder) != digest:
        raise BundleError(f"{folder} was replaced while it was loaded; start anew")
    return translator


def try_once(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> None:
    """Try an exported model in another process, unless that was done before.

    The trial reports a process that ends or hangs; loading the model reports other problems.

    Raises:
        BundleError: if it ends the process that loads it or keeps it busy.
    """
    try:
        digest = digest_bundle(folder)
    except OSError:
        return
    parsers = [spec.origin for package in PARSERS if (spec := find_spec(package)) and spec.origin]
    versions = [(path, Path(path).stat().st_mtime_ns) for path in parsers]  # metadata take 50 ms
    identity = [digest, engine, device, versions]
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    mark = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "nmt" / name
    if mark.exists():
        return
    run_trial(folder, _command(folder, engine, device, threads))
    with suppress(OSError):  # a machine that keeps nothing tries each time
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def _command(folder: Path, engine: str, device: str, threads: int | None) -> list[str]:
    program = [sys.executable, "-P", "-m", "nmt_core.translation.trial"]
    return [*program, str(folder), engine, device, str(threads or "")]


def run_trial(folder: Path, command: Sequence[str], seconds: float = TRIAL_SECONDS) -> str:
    """Run the trial of a model; return the problem that it names, empty if there is none.

    The command must end when its standard input does.

    Raises:
        BundleError: if the model ends the process or takes too long.
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
        output = trial.stdout.read(MOST_ANSWER_BYTES).decode(errors="replace")
    if trial.returncode < 0:
        name = signal.Signals(-trial.returncode).name
        raise BundleError(
            f"{folder} ended the process that loaded it ({name}), so it is not used; fetch or "
            f"export it again"
        )
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(output.splitlines()[-1])["problem"])
    return f"{folder} could not be tried, for the process that loads it gave no answer; start anew"


def find_problem(folder: Path, *, engine: str, device: str, threads: int | None) -> str:
    """Load a model and let it translate; return its problem, empty if there is none."""
    try:
        translator = Translator.load(folder, engine=engine, device=device, threads=threads)
        if (changed := len(check_golden(translator, folder))) > FEW:
            return (
                f"{folder} translates {changed} of its golden sentences otherwise than when it was "
                f"exported; check device and library versions, or export it again"
            )
    except NmtError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - any error is reported in a sentence
        frame = extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename}:{frame.lineno}"
        return (
            f"{folder} cannot be translated with ({type(error).__name__} at {place}); export the "
            f"model again"
        )
    return ""


def give_way() -> None:
    """Make this process the first that is killed if memory runs out; it writes no file."""
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    with suppress(OSError):  # not every system has it
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def exit_at_end_of_input() -> NoReturn:
    """Exit when standard input ends, as the parent has gone."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def main() -> None:
    """Try the model that the command line names."""
    folder, engine, device, threads = sys.argv[1:]
    give_way()
    Thread(target=exit_at_end_of_input, daemon=True).start()
    count = int(threads) if threads else None
    problem = find_problem(Path(folder), engine=engine, device=device, threads=count)
    sys.stdout.write(f"{json.dumps({'problem': problem})}\n")


if __name__ == "__main__":
    main()
