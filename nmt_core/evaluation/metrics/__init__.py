"""Metrics: each file is a metric of its name, such as ``ter.py`` with ``Ter``."""
