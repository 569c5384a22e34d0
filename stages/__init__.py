"""One file per DVC stage: thin, knows paths and parameters, calls the library."""

import nmt_core  # noqa: F401 - before torch, see there
