"""Run the dvc program for flows, and explain its failures."""

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
"""Seconds between SIGTERM and SIGKILL, for a stage to save its work."""

LOCKED = (
    "Unable to acquire lock",
    "is busy, it is being blocked by",
    "Unable to read RWLock-file",
    "' format error.",
)
"""Messages of dvc while another dvc runs; leftovers also cause the last two."""

REPRODUCING = "failed to reproduce"
"""Message of dvc when a stage fails."""

TEMPORARY = re.compile(r"\.[\w-]{22}\.tmp", re.ASCII)
"""Names of DVC's temporary files (``dvc_objects.fs.utils.tmp_fname``)."""

OUTPUTS = (Path("data"), Path("models"), paths.METRICS, paths.REPORTS)
"""Folders of the outputs of stages."""

QUIET = {"PYTHONUNBUFFERED": "1", "DVC_NO_ANALYTICS": "1"}


class StageError(NmtError):
    """A stage failed; its own output has the reason."""

    def __init__(self, message: str, *, code: int, output: str = "") -> None:
        super().__init__(message)
        self.code, self.output = code, output
        """The exit code of the stage, or of dvc without one, and the output of dvc."""


def map_pools() -> dict[str, str]:
    """Return the pool whose workers run each stage, in the order in which stages can run."""
    document = yaml.safe_load(paths.PIPELINE.read_text(encoding="utf-8"))["stages"]
    return {name: stage["meta"]["pool"] for name, stage in document.items()}


def reproduce(stage: str, *, shared: bool = False, log: Callable[[str], None]) -> None:
    """Reproduce one stage; DVC decides whether it has to run.

    Stages before it are not run. If this call ends, even by a signal, dvc and the stage end with
    it. ``shared`` pulls results from DVC's remote and pushes results to it. ``log`` receives every
    line that dvc and the stage print.

    Raises:
        StageError: if the stage fails, with its exit code; with code 75 if another dvc runs, or the
            remote does not answer.
    """
    arguments = ["repro", "--single-item", stage]
    remedy = f"repeat it: {name_program('dvc')} {' '.join(arguments)}"
    pull = ["--pull"] if shared else []
    try:
        _dvc([*arguments, *pull], log, what=f"stage {stage!r}", remedy=remedy)
    except StageError as error:
        if not shared or error.code == os.EX_TEMPFAIL or REPRODUCING in error.output:
            raise
        raise _make_remote_error("repro --pull", error.output) from None
    if shared:
        # now, because DVC sends only outputs of the current lock file
        transfer(["push", "--quiet", "--run-cache"], log)


def _ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run dvc; return the finished process with its output."""
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check_remote() -> None:
    """Raise a ``NmtError`` if DVC has no default remote."""
    if not _ask("config", "core.remote").stdout.strip():
        raise NmtError(
            "DVC has no default remote, which clones share results by; run, in every clone: "
            f"{name_program('dvc')} remote add --local --default shared URL"
        )


def count_done(stages: Sequence[str]) -> int:
    """Return the number of stages before the first outdated one; 0 while another dvc runs."""
    try:
        outdated = list_outdated(*stages)
    except subprocess.CalledProcessError:
        return 0
    return next((done for done, stage in enumerate(stages) if stage in outdated), len(stages))


def list_outdated(*stages: str) -> list[str]:
    """Return the stages, by default of all, that DVC would run because of a change."""
    write_code()
    answer = _ask("status", "--json", *stages)
    answer.check_returncode()
    status = json.loads(answer.stdout)
    return [stage for stage, reasons in status.items() if reasons != ["always changed"]]


def transfer(arguments: list[str], log: Callable[[str], None]) -> None:
    """Push to DVC's remote, or pull from it.

    Raises:
        StageError: with code 75, if the remote does not answer or lacks a file.
    """
    try:
        _dvc(arguments, log, what=f"dvc {arguments[0]}", remedy="")
    except StageError as error:
        raise _make_remote_error(arguments[0], error.output) from None


def _make_remote_error(command: str, output: str) -> StageError:
    reason = next((line for line in output.splitlines() if line.startswith("ERROR")), "no reason")
    return StageError(
        f"dvc {command} failed ({reason}); results are kept: check that the remote answers, and "
        f"repeat the command",
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
    """Run a stage and all before it with other settings, in a temporary folder.

    DVC stores the result as the experiment ``name``. In the project's own folder, only paths below
    ``stages.paths.HOME`` change. ``settings`` are Hydra's overrides of ``conf/``, ``target`` is the
    last stage, and ``log`` receives every line that dvc and the stages print.
    """
    _remove_leftovers(name)
    options = [argument for setting in settings for argument in ("-S", setting)]
    try:
        _dvc(
            ["exp", "run", "--temp", "--name", name, *options, target],
            log,
            what=f"experiment {name!r}",
            remedy="the same command continues it",
            environment=environment,
        )
    finally:
        _remove_leftovers(name)


def list_experiments() -> dict[str, str]:
    """Return the commits of DVC's experiments by name."""
    listed = git("for-each-ref", "--format=%(refname) %(objectname)", "refs/exps")
    rows = (line.split(" ") for line in listed.splitlines())
    return {reference.rpartition("/")[2]: commit for reference, commit in rows}


def check_git() -> None:
    """Check that DVC can run experiments in this checkout.

    Raises:
        NmtError: outside git, before the first commit, or if git does not track a file of code.
    """
    try:
        head_commit()
    except NmtError:
        raise NmtError(
            "experiments require a git repository with a commit; run: git init && git add . && "
            "git commit"
        ) from None
    code = ["nmt_core", "stages", str(paths.CONF), str(paths.PIPELINE)]
    untracked = git("ls-files", "--others", "--exclude-standard", "--", *code).splitlines()
    if untracked:
        raise NmtError(
            f"git does not track {untracked[0]}, so no experiment would have it; run: git add "
            f"{' '.join(untracked)}"
        )


def _remove_leftovers(name: str) -> None:
    """Remove the folders of a killed experiment, which dvc would list as running."""
    for record in Path(".dvc/tmp/exps").glob("**/run/*/*.run"):
        with suppress(OSError, ValueError):
            run = json.loads(record.read_text(encoding="utf-8"))
            if run["name"] == name and run["location"] == "tempdir":
                shutil.rmtree(run["root_dir"], ignore_errors=True)


def clear_leftovers(say: Callable[[str], None]) -> bool:
    """Remove truncated files and locks of a killed dvc; see ``remove_unreadable``."""
    from flows.dvc_leftovers import remove_unreadable  # imports DVC, which takes a second

    return remove_unreadable(say)


def clear_temporary_files() -> None:
    """Remove temporary files of a killed dvc from outputs of stages."""
    files_left = [
        path
        for folder in OUTPUTS
        for path in folder.rglob(".*.tmp")
        if TEMPORARY.fullmatch(path.name)
    ]
    if files_left:
        from flows.dvc_leftovers import remove_temporary  # imports DVC, which takes a second

        remove_temporary(files_left)


def _dvc(
    arguments: Sequence[str],
    log: Callable[[str], None],
    *,
    what: str,
    remedy: str,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run dvc; after a failure, clear leftovers and retry; raise a ``StageError`` if it fails."""
    clear_temporary_files()
    command = [sys.executable, "-m", "dvc", *arguments]
    code, output = _run(command, log, environment or {})
    if code and clear_leftovers(log):
        code, output = _run(command, log, environment or {})
    if not code:
        return
    if any(message in output for message in LOCKED):
        raise StageError(f"{what} is in use by another dvc; {remedy}", code=os.EX_TEMPFAIL)
    stage_codes = re.findall(r"exited with (-?\d+)$", output, re.MULTILINE)
    last = int([code, *stage_codes][-1])
    raise StageError(f"{what} exited with {last}; {remedy}", code=last, output=output)


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
    """Return PATH with this interpreter's folder first, because stages run ``python``."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _stop(process: subprocess.Popen[str]) -> None:
    """End a whole session by SIGTERM, and after ``GRACE_SECONDS`` by SIGKILL.

    A stage may outlive its dvc to save its work; it has ended when the pipe is closed.
    """
    processes.signal_all(process.pid, signal.SIGTERM)
    try:
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_SECONDS)
    finally:
        processes.signal_all(process.pid, signal.SIGKILL)
