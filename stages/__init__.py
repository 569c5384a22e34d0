"""One file per DVC stage: thin, knows paths and parameters, calls the library."""

import gc

import nmt_core as nmt_core  # before torch, see there

gc.set_threshold(100_000, 50, 50)  # imports, most of a short stage, make objects that stay
