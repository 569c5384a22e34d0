"""What runs, and waiting for what comes about."""

import time

import psutil

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
"""A program that saves when SIGTERM comes, as soon as there is a file called leave."""


def at_work_in(folder):
    """Return the processes whose working directory is in a folder; those of servers are."""
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
    """Ask until something is true, and return the last answer."""
    end = time.monotonic() + seconds
    while not (answer := claim()) and time.monotonic() < end:
        time.sleep(0.1)
    return answer
