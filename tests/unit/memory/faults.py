"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "journal: answered before it is on the disk",
        "nmt_core/memory/journal.py",
        "            os.fsync(file.fileno())\n        except OSError:",
        "            file.flush()\n        except OSError:",
    ),
    (
        "corrections: the oldest approved holds",
        "nmt_core/memory/selection.py",
        "newest[source][0] < rank",
        "newest[source][0] > rank",
    ),
    (
        "memory: another key's units are seen",
        "nmt_core/memory/store.py",
        'for key in (scope.key, "") for project',
        'for key in (scope.key, "", "theirs") for project',
    ),
    (
        "memory: what is not approved is served",
        "nmt_core/memory/store.py",
        '"AND approved",',
        '"",',
    ),
]
