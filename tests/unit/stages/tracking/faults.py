"""Faults that no operator makes; `make mutants` tries them with those that it draws."""

FAULTS = [
    (
        "a comparison that knows only runs that came after it",
        "stages/tracking/mlflow_run.py",
        "if child.data.tags.get(MLFLOW_PARENT_RUN_ID) != self._id:",
        "if MLFLOW_PARENT_RUN_ID in child.data.tags:",
    ),
    (
        "points that a continued run sends again",
        "stages/tracking/mlflow_run.py",
        "is_known = point in self._points",
        "is_known = False",
    ),
    (
        "a password in the settings of a run",
        "stages/tracking/run_metadata.py",
        "return redact_url(value)",
        "return value",
    ),
    (
        "a tracking address told with its password",
        "stages/tracking/tracker.py",
        "                redact_url(self._uri),\n                reason,",
        "                self._uri,\n                reason,",
    ),
]
