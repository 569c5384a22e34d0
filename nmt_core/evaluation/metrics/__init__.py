"""What translations are scored by: each file is a metric of its name, ``ter.py`` with ``Ter``."""
