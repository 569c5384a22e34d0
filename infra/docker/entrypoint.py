#!/usr/bin/env python3
"""First process of a worker's container: fetch the project, run the command, end last.

Usage: entrypoint.py COMMAND [ARGUMENT ...]

NMT_REPOSITORY  what git fetches into the working directory, which keeps everything else it holds
NMT_REVISION    what is checked out: a commit, a tag, or origin/BRANCH; default: the default branch
NMT_DVC_REMOTE  where DVC keeps data, such as s3://nmt/dvc; default: what the project says

When the first process of a container ends, the kernel kills all others at once. A worker ends
seconds after SIGTERM, while the stages it told to end still save their checkpoints; so this
process stays until none is left.
"""

import os
import shutil
import signal
import subprocess
import sys


def check_out() -> None:
    """Check out the wanted revision in the working directory; untracked files stay."""
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
    """End before the command has begun; the first process of a container ignores it otherwise."""
    sys.exit(128 + number)


def main() -> None:
    """Check out, run, and report trouble in a sentence."""
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    try:
        check_out()
    except KeyError as error:
        sys.exit(f"error: {error} is not set; say what to work on")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(error.cmd)} ended with {error.returncode}")
    from flows.processes import run_to_the_end  # of the project that was checked out

    program, *arguments = sys.argv[1:]
    command = [shutil.which(program) or program, *arguments]
    code, _ = run_to_the_end(command, os.environ, say=print)
    sys.exit(code)


if __name__ == "__main__":
    main()
