"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a Prefect for the pages of everybody",
        "infra/servers/programs.py",
        '",".join(self._pages)',
        '"*"',
    ),
    (
        "a database open to other machines",
        "infra/servers/topology.py",
        'Postgres(folder, port=port["postgres"]',
        'Postgres(folder, host=host, port=port["postgres"]',
    ),
]
