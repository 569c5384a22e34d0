"""The exported model as MLflow serves it; MLflow runs this file, it is not imported.

It imports mlflow, as only ``stages.registry.registry`` and two files beside it do.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, INVALID_PARAMETER_VALUE
from mlflow.pyfunc.model import PythonModel, PythonModelContext

# the library that came with the model, where MLflow has put both; who logs a model has it at hand
if "nmt_core" not in sys.modules:
    sys.path[:0] = map(str, Path(__file__).parent.glob("code/*.zip"))

from nmt_core.base.errors import ConfigError, NmtError
from nmt_core.translation.translator import Translator

MOST_LINES, MOST_CHARACTERS, WIDEST_BEAM = 1000, 100_000, 32
"""Limits of one request, so that none starves the others."""

LOGGER = logging.getLogger(__name__)


class TranslationModel(PythonModel):
    """Translates lines with an exported model."""

    def load_context(self, context: PythonModelContext) -> None:
        """Load the exported model that was logged with this file."""
        self.translator = Translator.load(Path(context.artifacts["bundle"]))

    def predict(  # type: ignore[override]  # MLflow takes it without a context, too
        self, model_input: list[str], params: dict[str, Any] | None = None
    ) -> list[str]:
        """Translate lines; ``params["beam_size"]`` is the width of the search, 0 the exported one.

        Raises:
            MlflowException: if a request is refused, or fails; details of our own errors go to the
                log alone, for MLflow answers with the traceback of any other error.
        """
        beam_size = (params or {}).get("beam_size") or None
        try:
            check_request(model_input, beam_size)
            return self.translator.translate(model_input, beam_size=beam_size)
        except NmtError as error:
            raise MlflowException(str(error), INVALID_PARAMETER_VALUE) from None
        except Exception:
            LOGGER.exception("a request could not be answered")
            failed = "the lines could not be translated; the log of the server says why"
            raise MlflowException(failed, INTERNAL_ERROR) from None


def check_request(lines: list[str], beam_size: int | None) -> None:
    """Make sure that a request is text, and that it can be answered in bounded time and memory.

    Raises:
        ConfigError: if it is not.
    """
    if beam_size is not None and not 1 <= beam_size <= WIDEST_BEAM:
        raise ConfigError(f"beam_size must be 0 (as exported) to {WIDEST_BEAM}, got {beam_size}")
    if len(lines) > MOST_LINES:
        raise ConfigError(f"a request has at most {MOST_LINES} lines, got {len(lines)}; send fewer")
    characters = sum(map(len, lines))
    if characters > MOST_CHARACTERS:
        raise ConfigError(
            f"a request has at most {MOST_CHARACTERS} characters, got {characters}; send fewer"
        )
    for number, line in enumerate(lines, start=1):
        if any("\ud800" <= character <= "\udfff" for character in line):
            raise ConfigError(f"line {number} is no text: it holds half a character (a surrogate)")


set_model(TranslationModel())
