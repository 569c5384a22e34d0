"""Data work cut into jobs, done by processes or a cluster, with results in order."""
