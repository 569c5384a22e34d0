"""The exported model as MLflow serves it; MLflow runs this file, it is not imported.

This, ``stages.mlflow_run`` and ``stages.registry`` are the only files that import mlflow.
"""

from pathlib import Path
from typing import Any

from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from nmt_core.bundle import load_translator


class TranslationModel(PythonModel):
    """Translates lines with an exported model."""

    def load_context(self, context: PythonModelContext) -> None:
        """Load the exported model that was logged with this file."""
        self.translator = load_translator(Path(context.artifacts["bundle"]))

    def predict(  # type: ignore[override]  # MLflow takes it without a context, too
        self, model_input: list[str], params: dict[str, Any] | None = None
    ) -> list[str]:
        """Translate lines; ``params["beam"]`` is the width of the search, 0 the exported one."""
        return self.translator.translate(model_input, beam=(params or {}).get("beam") or None)


set_model(TranslationModel())
