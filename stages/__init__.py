"""One file per DVC stage: thin, knows paths and parameters, calls the library."""

import gc

gc.set_threshold(100_000, 50, 50)  # imports, most of a short stage, make objects that stay

# isort: split

import nmt_core  # noqa: E402, F401 - before torch, see there
