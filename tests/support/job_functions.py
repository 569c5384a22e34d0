"""Functions of the tests' workers. Workers import this file, so it imports little."""

import os
import sys
import time
from importlib import import_module

from nmt_core.base.jobs import append_file
from nmt_core.text.tokenizing import tokenize

LINES = "lines"


def copy(job, part):
    """Write the lines; return the worker's process id."""
    for span in job.spans:
        text = "".join(f"{line}\n" for line in span.read())
        (part / LINES).write_text(text, encoding="utf-8", newline="")
    return os.getpid()


def imports(job, part):
    """Return whether spaCy and torch are imported."""
    torch = sys.modules["torch"] is not None
    return import_module("spacy") is not None, torch


def copy_backwards_in_time(job, part):
    """Finish later jobs sooner."""
    time.sleep(0.3 / job.spans[0].first)
    return copy(job, part)


def copy_lingering(job, part):
    linger(job)
    return copy(job, part)


def tokenize_lingering(job, part):
    linger(job)
    return tokenize(job, part)


def linger(job):
    """Stay for long in the first worker, which writes a file beside the text."""
    path = job.spans[0].path
    try:
        with path.with_name("lingering").open("x") as flag:
            flag.write(str(os.getpid()))
    except FileExistsError:
        return
    time.sleep(600)


def fail(job, part):
    copy(job, part)
    if job.spans[0].first > 1:
        raise ValueError("lost for words")


class Words:
    """A text that takes long to read."""

    def __init__(self, path):
        self.text = path.read_text()


def together(done, path):
    """Join the copied parts; return the workers' process ids."""
    path.touch()
    workers = []
    for part, worker in done:
        append_file(part / LINES, path)
        workers.append(worker)
    return workers
