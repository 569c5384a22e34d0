"""A stand-in for Slurm on this machine: its nodes are processes, each with an address of its own.

Run as a program, it is sbatch, srun, scontrol or scancel, whichever its first argument says, as far
as ours call them. What a node is killed by takes its whole job along, which begins again if it may
be requeued, as with Slurm.
"""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

STATE = Path(os.environ.get("STAND_IN", "."))
"""Where the stand-in remembers its jobs, and what was asked of it."""

KILL_SECONDS = 30


def install(folder):
    """Put the programs into a folder, which is to be the first of PATH."""
    folder.mkdir()
    for name in ("sbatch", "srun", "scontrol", "scancel"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "$@"\n')
        program.chmod(0o755)


def split_options(arguments):
    """Return options, by name, and what follows them."""
    options, rest = {}, list(arguments)
    while rest and rest[0].startswith("--"):
        name, _, value = rest.pop(0).partition("=")
        options[name] = value or (rest.pop(0) if name in ("--chdir", "--output") else "")
    return options, rest


def sbatch(*arguments):
    options, [path] = split_options(arguments)
    script = Path(path).read_text()  # as it is now, whatever becomes of the file
    head = script.split("\nsrun ")[0].splitlines()
    asked = [line.removeprefix("#SBATCH ") for line in head if line.startswith("#SBATCH ")]
    options |= split_options(asked)[0]
    number = find_free_number()
    (STATE / "submitted").open("a").write(f"{number} {' '.join(arguments)}\n")
    print(number, flush=True)
    environment = os.environ | {
        "SLURM_JOB_ID": str(number),
        "SLURM_JOB_NUM_NODES": options["--nodes"],
        "SLURM_JOB_NODELIST": f"node[1-{options['--nodes']}]",
    }
    log = Path(options["--chdir"]) / options["--output"].replace("%j", str(number))
    turn = (STATE / f"{options['--job-name']}.lock").open("a")
    if options.get("--dependency") == "singleton":
        fcntl.flock(turn, fcntl.LOCK_EX)
    for restarted in range(100):
        mode = "ab" if options.get("--open-mode") == "append" else "wb"
        with log.open(mode) as output:
            code = subprocess.run(
                ["bash", "-s"],
                input=script.encode(),
                cwd=options["--chdir"],
                env=environment | ({"SLURM_RESTART_COUNT": str(restarted)} if restarted else {}),
                stdout=output,
                stderr=output,
                start_new_session=True,
                check=False,
            ).returncode
        if not (STATE / "failed").exists() or "--requeue" not in options:
            break
        (STATE / "failed").unlink()
    return code if code >= 0 else 1


def find_free_number():
    """Return a number for a job whose port nobody uses."""
    for number in range(os.getpid() % 1000, os.getpid() % 1000 + 1000):
        with socket.socket() as free:
            if free.connect_ex(("127.0.0.1", 29500 + number % 1000)):
                return number
    raise AssertionError("all ports are taken")


def srun(*arguments):
    if (STATE / "cancelled").exists():
        return 1
    options, command = split_options(arguments)
    nodes = []
    for node, address in enumerate(list_addresses()):
        known = {"SLURM_NODEID": str(node), "SLURMD_NODENAME": address, "GLOO_SOCKET_IFNAME": "lo"}
        environment = os.environ | known
        folder = STATE / f"folder-{node}"  # as a node sees it that shares no folder
        nodes.append(
            subprocess.Popen(
                command,
                cwd=folder if folder.exists() else None,
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        )
        (STATE / f"node-{node}").write_text(str(nodes[-1].pid))
    left = list(nodes)
    while left:
        time.sleep(0.02)
        for node in [node for node in left if node.poll() is not None]:
            left.remove(node)
            if node.returncode == -signal.SIGKILL:
                (STATE / "failed").touch()
                for other in left:
                    end(other, signal.SIGKILL)
                os.kill(os.getppid(), signal.SIGKILL)
                return 1
            if node.returncode and "--kill-on-bad-exit" in options:
                for other in left:
                    end(other, signal.SIGTERM)
    return max(node.returncode for node in nodes)


def list_addresses():
    """Return an address of this machine for each node."""
    return [f"127.0.0.{node + 1}" for node in range(int(os.environ["SLURM_JOB_NUM_NODES"]))]


def end(process, number):
    """Send a signal to a process, and end it and all that it has started."""
    import psutil  # most calls of a program need none of it

    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    try:
        process.wait(KILL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    for left in started:
        if left.is_running():
            left.kill()


def kill_node(state, node):
    """Let a node die, with all that runs on it."""
    import psutil  # see above

    agent = psutil.Process(int((state / f"node-{node}").read_text()))
    for process in [*agent.children(recursive=True), agent]:
        process.suspend()  # so that no one notices the end of another
    for process in [*agent.children(recursive=True), agent]:
        process.kill()


def scontrol(*arguments):
    assert arguments == ("show", "hostnames", os.environ["SLURM_JOB_NODELIST"])
    print("\n".join(list_addresses()))


def scancel(number):
    (STATE / "cancelled").write_text(number)
    for node in STATE.glob("node-*"):
        with suppress(ProcessLookupError):
            os.kill(int(node.read_text()), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](*sys.argv[2:]))
