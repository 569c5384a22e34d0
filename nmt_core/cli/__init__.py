"""``nmt``, the program for people: a command a file, found by name when it is asked for."""

import gc
import os

from nmt_core.cli.program import app as app

# A line is translated in a quarter of a second, most of which is imports, by these a third less.
gc.set_threshold(100_000, 50, 50)  # imports make objects that stay; looking for rubbish is in vain
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy multiplies nothing here that is large
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would read every package's list
