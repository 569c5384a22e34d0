"""Run the dvc program for flows, and explain how it ended."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import yaml

from flows import processes
from nmt_core.base.errors import NmtError
from nmt_core.base.packages import name_program
from stages import paths
from stages.code import write_code
from stages.runtime.git import git, head_commit

GRACE_SECONDS = 10.0
"""Seconds that a stage gets to save its work between SIGTERM and SIGKILL."""

LOCKED = (
    "Unable to acquire lock",
    "is busy, it is being blocked by",
    "Unable to read RWLock-file",
    "' format error.",
)
"""Messages of dvc when another dvc is at work; leftovers also cause the last two."""

REPRODUCING = "failed to reproduce"
"""Messages of dvc when a stage fails."""

TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp", re.ASCII)
"""Names of DVC's temporary files (``dvc_objects.fs.utils.tmp_fname``)."""

OUTPUTS = (Path("data"), Path("models"), paths.METRICS, paths.REPORTS)
"""Folders of the outputs of stages."""

QUIET = {"PYTHONUNBUFFERED": "1", "DVC_NO_ANALYTICS": "1"}


class StageError(NmtError):
    """A stage ended badly; its own output says why."""

    def __init__(self, message: str, *, code: int, output: str = "") -> None:
        super().__init__(message)
        self.code, self.output = code, output
        """The exit code of the stage, or of dvc if the stage has none, and what dvc printed."""


def list_stages(path: Path = paths.PIPELINE) -> list[str]:
    """Return the names of the stages in the order of the file, which is an order to run them in."""
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["stages"])


def map_pools(path: Path = paths.PIPELINE) -> dict[str, str]:
    """Return the pool whose workers run each stage, by stage."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))["stages"]
    return {name: stage["meta"]["pool"] for name, stage in document.items()}


def reproduce(stage: str, *, shared: bool = False, log: Callable[[str], None]) -> None:
    """Reproduce one stage; DVC decides whether it has to run.

    If this call ends, even by a signal, dvc and the stage end with it.

    Args:
        stage: name of a stage, whose dependencies are taken as they lie.
        shared: pull results from DVC's remote, and push results to it.
        log: takes every line that dvc and the stage print.

    Raises:
        StageError: if the stage ends badly, with its code; with the code 75 if another dvc is at
            work, or the remote is away.
    """
    arguments = ["repro", "--single-item", stage]
    again = f"repeat it: {name_program('dvc')} {' '.join(arguments)}"
    pull = ["--pull"] if shared else []
    try:
        _dvc([*arguments, *pull], log, what=f"stage {stage!r}", again=again)
    except StageError as error:
        if not shared or error.code == os.EX_TEMPFAIL or REPRODUCING in error.output:
            raise
        raise _remote_is_away("repro --pull", error.output) from None
    if shared:
        # at once: of what a stage made, DVC sends only what is in its current lock file
        transfer(["push", "--quiet", "--run-cache"], log)


def _ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run dvc and return its output."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check_remote() -> None:
    """Make sure that there is a remote to share results by.

    Raises:
        NmtError: if there is none.
    """
    if not _ask("config", "core.remote").stdout.strip():
        raise NmtError(
            "DVC has no remote, by which clones share what they make; run, in every clone: "
            f"{name_program('dvc')} remote add --local --default shared URL"
        )


def check_up_to_date() -> None:
    """Make sure that everything dvc.lock names is here, made from this code and params.yaml.

    Raises:
        NmtError: naming the stages that are not.
    """
    if behind := list_outdated():
        raise NmtError(f"what was pulled is not what this clone would make: {', '.join(behind)}")


def count_done(stages: Sequence[str]) -> int:
    """Count the stages before the first one that DVC would run; 0 while another dvc is at work."""
    try:
        behind = list_outdated(*stages)
    except subprocess.CalledProcessError:
        return 0
    return next((done for done, stage in enumerate(stages) if stage in behind), len(stages))


def list_outdated(*stages: str) -> list[str]:
    """Return the stages that DVC would run for a change, of those given or of all."""
    write_code()
    answer = _ask("status", "--json", *stages)
    answer.check_returncode()
    status = json.loads(answer.stdout)
    return [stage for stage, reasons in status.items() if reasons != ["always changed"]]


def transfer(arguments: list[str], log: Callable[[str], None]) -> None:
    """Push to DVC's remote, or pull from it.

    Raises:
        StageError: if the remote is away or lacks something; its code is 75.
    """
    try:
        _dvc(arguments, log, what=f"dvc {arguments[0]}", again="")
    except StageError as error:
        raise _remote_is_away(arguments[0], error.output) from None


def _remote_is_away(command: str, output: str) -> StageError:
    reason = next((line for line in output.splitlines() if line.startswith("ERROR")), "no reason")
    return StageError(
        f"dvc {command} failed ({reason}); what was made is kept: see that the remote answers, and "
        f"run the same again",
        code=os.EX_TEMPFAIL,
    )


def run_experiment(
    name: str,
    settings: Sequence[str],
    *,
    target: str,
    environment: Mapping[str, str],
    log: Callable[[str], None],
) -> None:
    """Bring a stage up to date with other settings, in a folder of its own.

    DVC keeps the result as the experiment ``name``. The project's own folder changes only below
    ``HOME`` of ``stages.paths``.

    Args:
        name: of an experiment that does not exist.
        settings: Hydra's overrides of ``conf/``.
        target: the stage, brought up to date with all before it.
        environment: variables for the stages, beside our own.
        log: takes every line that dvc and the stages print.
    """
    _remove_leftovers(name)
    chosen = [argument for setting in settings for argument in ("-S", setting)]
    try:
        _dvc(
            ["exp", "run", "--temp", "--name", name, *chosen, target],
            log,
            what=f"experiment {name!r}",
            again="the same command goes on where it stopped",
            environment=environment,
        )
    finally:
        _remove_leftovers(name)


def list_experiments() -> dict[str, str]:
    """Return the commit of every experiment that DVC keeps, by name."""
    listed = git("for-each-ref", "--format=%(refname) %(objectname)", "refs/exps")
    rows = (line.split(" ") for line in listed.splitlines())
    return {reference.rpartition("/")[2]: commit for reference, commit in rows}


def check_git() -> None:
    """Refuse a checkout that DVC cannot make experiments of.

    Raises:
        NmtError: outside git, before the first commit, or with code that git does not know of.
    """
    try:
        head_commit()
    except NmtError:
        raise NmtError(
            "experiments are kept in git, and here is no commit; run: git init && git add . && "
            "git commit"
        ) from None
    parts = ["nmt_core", "stages", str(paths.CONF), str(paths.PIPELINE)]
    unknown = git("ls-files", "--others", "--exclude-standard", "--", *parts).splitlines()
    if unknown:
        raise NmtError(
            f"git does not know {unknown[0]}, so no experiment would have it; run: git add "
            f"{' '.join(unknown)}"
        )


def _remove_leftovers(name: str) -> None:
    """Remove the folders of an experiment that was killed; while they lie there, dvc lists it."""
    for record in Path(".dvc/tmp/exps").glob("**/run/*/*.run"):
        with suppress(OSError, ValueError):
            run = json.loads(record.read_text(encoding="utf-8"))
            if run["name"] == name and run["location"] == "tempdir":
                shutil.rmtree(run["root_dir"], ignore_errors=True)


def clear_leftovers(say: Callable[[str], None]) -> bool:
    """Remove truncated files and locks of a killed dvc; return whether there were any.

    Args:
        say: takes a sentence on each removed file.
    """
    from flows.dvc_leftovers import remove_unreadable  # imports DVC, which takes a second

    return remove_unreadable(say)


def clear_temporary_files() -> None:
    """Remove temporary files of a killed dvc, which nobody else removes from outputs of stages."""
    left = [
        path
        for folder in OUTPUTS
        for path in folder.rglob(".*.tmp")
        if TEMPORARY.fullmatch(path.name)
    ]
    if left:
        from flows.dvc_leftovers import remove_unheld  # imports DVC, which takes a second

        remove_unheld(left)


def _dvc(
    arguments: Sequence[str],
    log: Callable[[str], None],
    *,
    what: str,
    again: str,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run dvc, again if leftovers of a killed one were cleared, and report its failure."""
    clear_temporary_files()
    command = [sys.executable, "-m", "dvc", *arguments]
    code, output = _run(command, log, environment or {})
    if code and clear_leftovers(log):
        code, output = _run(command, log, environment or {})
    if not code:
        return
    if any(message in output for message in LOCKED):
        raise StageError(f"{what} is in use by another dvc; {again}", code=os.EX_TEMPFAIL)
    by_the_stage = re.findall(r"exited with (-?\d+)$", output, re.MULTILINE)
    last = int([code, *by_the_stage][-1])
    raise StageError(f"{what} exited with {last}; {again}", code=last, output=output)


def _run(
    command: list[str], log: Callable[[str], None], environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run a command in a session of its own; return its exit code and output."""
    environment = {"PATH": prepend_python(), **QUIET, **environment}
    lines = []
    with processes.start_session(command, environment) as process:
        assert process.stdout is not None
        try:
            for line in filter(None, map(str.rstrip, process.stdout)):
                lines.append(line)
                log(line)
            return process.wait(), "\n".join(lines)
        except BaseException:
            _stop(process)
            raise


def prepend_python() -> str:
    """Return PATH with this interpreter's folder first: stages start as plain ``python``."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _stop(process: subprocess.Popen[str]) -> None:
    """End a whole session: politely, and after a grace for certain.

    A stage outlives its dvc while it saves; it has ended when the pipe is closed.
    """
    processes.signal_all(process.pid, signal.SIGTERM)
    try:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_SECONDS)
    finally:
        processes.signal_all(process.pid, signal.SIGKILL)
