"""The library: text, data, models, search, training, evaluation. It knows no orchestrator.

``from nmt_core import Translator`` is all that translating needs; ``dir(nmt_core)`` lists the rest.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_core.literals.glossary import Glossary as Glossary
    from nmt_core.translation.document_files import translate_document as translate_document
    from nmt_core.translation.memory.store import TranslationMemory as Memory
    from nmt_core.translation.translator import Translator as Translator

    __version__: str

# What torch's libraries read when they are loaded, unless a person has set it.
#
# A thread that waits for another spins a thousand times, then sleeps. Spinning on, as it would,
# makes busy programs slow each other down many times over; sleeping at once slows down a program
# that is alone.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# oneDNN, which multiplies in bfloat16, keeps its programs for the 1,024 shapes used last, half a
# gigabyte; batches of real text have ever new shapes, and 32 train as fast.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
# cuBLAS gives the same bits again only if it may keep memory of a fixed size.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

__all__ = ["Glossary", "Memory", "Translator", "__version__", "translate_document"]


def __dir__() -> list[str]:
    """List what is offered here."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import what is offered here when it is asked for: parts of the library do without it.

    Raises:
        AttributeError: if nothing of that name is offered.
    """
    match name:
        case "Glossary":
            from nmt_core.literals.glossary import Glossary

            return Glossary
        case "Memory":
            from nmt_core.translation.memory.store import TranslationMemory

            return TranslationMemory
        case "Translator":
            from nmt_core.translation.translator import Translator

            return Translator
        case "translate_document":
            from nmt_core.translation.document_files import translate_document

            return translate_document
        case "__version__":
            from nmt_core.base.packages import read_version

            return read_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
