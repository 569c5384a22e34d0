"""The program ``nmt``: one file per command, imported when the command runs."""

import gc
import os

from nmt_core.cli.program import app as app

# Translating a line takes a quarter of a second, mostly imports; these settings save a third.
gc.set_threshold(100_000, 50, 50)  # objects of imports are never garbage
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products are small here
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # skips reading all packages' metadata
