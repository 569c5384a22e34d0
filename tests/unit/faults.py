"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "temporary files taken from those who write them",
        "nmt_core/files.py",
        "with suppress(OSError), _locked(part, wait=False):",
        "with suppress(OSError):",
    ),
    (
        "an old folder that goes though no new one takes its place",
        "nmt_core/files.py",
        "held.callback(_settle, other, path)",
        "held.callback(shutil.rmtree, other)",
    ),
    (
        "a bundle of links",
        "nmt_core/seal.py",
        "        if stat.S_ISLNK(mode):",
        "        if False:",
    ),
    (
        "weights that conversion changes",
        "nmt_core/bundle/engines.py",
        "weight.float().cpu().numpy().copy()",
        "weight.float().cpu().numpy()",
    ),
]
