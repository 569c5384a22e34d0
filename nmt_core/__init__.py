"""The library: text, data, models, search, training, evaluation. It knows no orchestrator."""

import os

# Before torch is imported: a thread that waits for another spins a thousand times, then sleeps.
# Spinning on, as it would, makes busy programs slow each other down many times over; sleeping at
# once slows down a program that is alone.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
