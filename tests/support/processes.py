"""Processes, and waiting for conditions."""

import os
import subprocess
import sys
import time

import psutil

from tests.support.projects import PROJECT

STAGE = """\
import os, signal, sys, time
def save(*_):
    while not os.path.exists("leave"):
        time.sleep(0.01)
    open("saved", "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(60)
"""
"""A program that saves after SIGTERM, as soon as there is a file called leave."""


def run_python(code, **environment):
    """Return the output of a program with additional environment variables."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(PROJECT)} | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def read_command(process):
    """Return the command of a process; empty if it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def at_work_in(folder):
    """Return the processes, such as servers, whose working directory is in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and str(folder) in process.cwd():
                found.append(process)
        except psutil.Error:
            continue
    return found


def marked(name, value):
    """Return the processes with a variable in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_for(claim, *, seconds):
    """Call a function until its result is true, and return the result."""
    end = time.monotonic() + seconds
    while not (answer := claim()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer
