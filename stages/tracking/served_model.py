"""The exported model as an MLflow model; MLflow runs this file, and nothing imports it."""

import sys
from pathlib import Path
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE
from mlflow.pyfunc.model import PythonModel, PythonModelContext

if "nmt_core" not in sys.modules:  # the library that was logged with the model
    sys.path[:0] = map(str, Path(__file__).parent.glob("code/*.zip"))

from nmt_core.base.errors import NmtError
from nmt_core.translation.translator import Translator


class TranslationModel(PythonModel):
    """Translates lines by an exported model."""

    def load_context(self, context: PythonModelContext) -> None:
        """Load the exported model that was logged with this file."""
        self.translator = Translator.load(Path(context.artifacts["bundle"]))

    def predict(  # type: ignore[override]  # MLflow accepts a method without a context
        self, model_input: list[str], params: dict[str, Any] | None = None
    ) -> list[str]:
        """Return the translations of lines.

        ``params`` may have ``beam_size``, ``source`` and ``target``; 0 and "" are the defaults.

        Raises:
            MlflowException: if the translator rejects the request.
        """
        chosen = {name: value for name, value in (params or {}).items() if value}
        try:
            return self.translator.translate(model_input, **chosen)
        except NmtError as error:
            raise MlflowException(str(error), INVALID_PARAMETER_VALUE) from None


set_model(TranslationModel())
