"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a folder of this machine told to all workers",
        "flows/deploy.py",
        'if name != "NMT_PROJECT"',
        "if name",
    ),
    (
        "a branch of one's own that a flow moves",
        "flows/clone.py",
        'is_within(commit, "@{upstream}")',
        "bool(commit)",
    ),
    (
        "a flow's own parameters taken for a person's",
        "flows/clone.py",
        "print(_digest(params), file=file)",
        "print(file=file)",
    ),
    (
        "a commit that is not pushed left out in silence",
        "flows/clone.py",
        "branch() and (commit := _unpushed())",
        '(commit := "")',
    ),
    (
        "parameters of a person taken for a flow's once a run has continued them",
        "flows/clone.py",
        "    if not _is_edited():\n",
        "    if True:\n",
    ),
    (
        "a pool that two make at once",
        "flows/deploy.py",
        "    except ObjectAlreadyExists:\n",
        "    except KeyError:\n",
    ),
]
