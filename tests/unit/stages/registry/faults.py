"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a broken champion that is fetched again and again",
        "stages/registry/champion.py",
        "            self._refused[champion.number] = error\n",
        "",
    ),
]
