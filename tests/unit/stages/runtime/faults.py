"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "files in another place that make no other training",
        "stages/runtime/fingerprint.py",
        "path.as_posix(): hash_code",
        "path.suffix: hash_code",
    ),
    (
        "memory of whoever has started a stage",
        "stages/runtime/usage.py",
        "    return int(peak)\n",
        "    return max(counted, int(peak))\n",
    ),
    (
        "an address with another server's password",
        "stages/runtime/servers.py",
        "if not theirs.keys() & os.environ.keys():",
        "if theirs.keys() - os.environ.keys():",
    ),
]
