"""Loading a model that is to serve: sealed, and translating as it did when it was exported."""

import logging
from pathlib import Path

from nmt_core.errors import BundleError
from nmt_core.translation.golden import check_golden
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

FEW = 2
"""Golden sentences that may come out otherwise: another processor rounds otherwise, and so decides
otherwise where two translations are almost equally good."""


def load_verified(
    folder: Path, *, engine: str = "auto", device: str = "auto", threads: int | None = None
) -> Translator:
    """Load an exported model and let it translate its golden sentences.

    Args:
        folder: what the export stage wrote.
        engine: see ``Translator.load``.
        device: see ``Translator.load``.
        threads: see ``Translator.load``.

    Raises:
        BundleError: if it is incomplete or altered, or translates otherwise than it did.
        ConfigError: if the engine or the device is not there.
    """
    translator = Translator.load(folder, engine=engine, device=device, threads=threads)
    changed = len(check_golden(translator, folder))
    if changed > FEW:
        raise BundleError(
            f"{folder} translates {changed} of its golden sentences otherwise than when it was "
            f"exported; check device and library versions, or export it again"
        )
    if changed:
        _log.warning("%d golden sentences come out otherwise, as rounding may have it", changed)
    return translator
