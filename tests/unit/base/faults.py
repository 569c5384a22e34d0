"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "temporary files taken from those who write them",
        "nmt_core/base/files.py",
        "with suppress(OSError), _locked(part, wait=False):",
        "with suppress(OSError):",
    ),
    (
        "an old folder that goes though no new one takes its place",
        "nmt_core/base/files.py",
        "held.callback(_restore_or_remove, other, path)",
        "held.callback(shutil.rmtree, other)",
    ),
    (
        "a bundle of links",
        "nmt_core/base/seal.py",
        "        if stat.S_ISLNK(mode):",
        "        if False:",
    ),
]
