"""One file per DVC stage: thin, knows paths and parameters, calls the library."""

import os

# Before torch is imported: threads that wait sleep instead of spinning, or two busy programs on
# one machine slow each other down a hundredfold.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
