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
# oneDNN caches its kernels for the last 1,024 shapes, which takes half a gigabyte. Batches of text
# rarely repeat a shape, and a cache of 32 is as fast.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
# cuBLAS gives the same bits again only if it may keep memory of a fixed size.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

__all__ = ["Glossary", "Memory", "Translator", "__version__", "translate_document"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, because parts of the library do not require it.

    Raises:
        AttributeError: if the name is not public.
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
