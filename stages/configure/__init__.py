"""``params.yaml``: composed from ``conf/``, pinned to the user's files, refreshed from servers."""
