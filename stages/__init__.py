"""One file per DVC stage: thin, knows paths and parameters, calls the library."""

import os

# Before torch is imported: a thread that waits for another spins a thousand times, then sleeps.
# Spinning on, as it would, makes busy programs slow each other down many times over; sleeping at
# once slows down a program that is alone.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
