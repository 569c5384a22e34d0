"""One module per DVC stage: it loads its settings and calls the library."""

import gc

import nmt_core as nmt_core  # must come before torch; nmt_core says why

gc.set_threshold(100_000, 50, 50)  # most time of a short stage is imports, whose objects stay
