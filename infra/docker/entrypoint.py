#!/usr/bin/env python3
"""First process of a worker's container: fetch the project, run a command, and end last.

Usage: entrypoint.py COMMAND [ARGUMENT ...]

NMT_REPOSITORY  repository to fetch into the working directory; untracked files stay
NMT_REVISION    commit, tag or origin/BRANCH to check out; default: the default branch
NMT_DVC_REMOTE  DVC's remote, such as s3://nmt/dvc; default: the one in the project

When the first process of a container ends, the kernel kills all others at once. A worker ends
seconds after SIGTERM, while its stages still save their checkpoints; so this process waits until
all of them have ended.
"""

import os
import shutil
import signal
import subprocess
import sys


def check_out() -> None:
    """Check out NMT_REVISION of NMT_REPOSITORY in the working directory; untracked files stay."""
    git("init", "--quiet")
    git("config", "remote.origin.url", os.environ["NMT_REPOSITORY"])
    git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    git("fetch", "--quiet", "--force", "--tags", "origin")
    follow = ["git", "remote", "set-head", "origin", "--auto"]
    subprocess.run(follow, check=False, capture_output=True)  # its HEAD may be on no branch
    git("checkout", "--quiet", "--force", "--detach", os.environ.get("NMT_REVISION", "origin/HEAD"))
    if remote := os.environ.get("NMT_DVC_REMOTE"):
        add = ["remote", "add", "--quiet", "--local", "--force", "--default", "store", remote]
        subprocess.run([sys.executable, "-m", "dvc", *add], check=True)


def git(*arguments: str) -> None:
    """Run git, which prints its own errors."""
    subprocess.run(["git", *arguments], check=True, stdout=subprocess.DEVNULL)


def leave(number: int, _: object) -> None:
    """Exit on a signal, which the first process of a container would otherwise ignore."""
    sys.exit(128 + number)


def main() -> None:
    """Check out the project and run the command; report errors in one sentence."""
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    try:
        check_out()
    except KeyError as error:
        sys.exit(f"error: {error} is not set; set it to the URL of the project's repository")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(error.cmd)} ended with {error.returncode}")
    from flows.processes import run_to_the_end  # from the project that was checked out

    program, *arguments = sys.argv[1:]
    command = [shutil.which(program) or program, *arguments]
    code, _ = run_to_the_end(command, os.environ, say=print)
    sys.exit(code)


if __name__ == "__main__":
    main()
