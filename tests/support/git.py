"""Run git with an identity."""

import subprocess

IDENTITY = ("-c", "user.name=Tester", "-c", "user.email=tester@localhost")


def git(*arguments, folder="."):
    """Return the output of git in a folder."""
    command = ["git", *IDENTITY, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit_all(folder=".", *, subject="Begin"):
    """Commit all files of a repository."""
    git("add", "--all", folder=folder)
    git("commit", "--quiet", "--message", subject, folder=folder)
