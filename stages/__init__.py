"""One file per DVC stage: thin, knows paths and parameters, calls the library."""
