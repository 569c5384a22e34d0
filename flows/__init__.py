"""Flows: DVC decides whether a stage runs; Prefect decides when and where, and retries it.

Prefect reads its settings when it is imported, so they are set here first.
"""

import logging
import os

from nmt_core.base.errors import NmtError

for _name, _value in {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",  # for busy machines
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL": "INFO",
    "PREFECT_LOGGING_LOGGERS_PREFECT_TASK_RUNS_LEVEL": "INFO",
}.items():
    os.environ.setdefault(_name, _value)


def one_sentence(record: logging.LogRecord) -> bool:
    """Remove the traceback of a ``NmtError`` from a log record; return True."""
    if record.exc_info and isinstance(record.exc_info[1], NmtError):
        record.exc_info = None
    return True


for _name in ("prefect.flow_runs", "prefect.task_runs"):
    logging.getLogger(_name).addFilter(one_sentence)
