"""The served models by language pair, and their replacement while the server runs.

A newer model is loaded beside the one that serves, verified, and only then put in its place;
requests that have begun keep theirs. One that cannot be loaded, or does not translate as it did
when it was exported, is refused once, and the old one stays.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel import Locale
from py3langid import langid

from nmt_core.base import seal
from nmt_core.base.errors import BundleError, ConfigError, NmtError
from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.server.schemas import Detected
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

CARD = "README.md"
"""The model card of a bundle."""

MAX_CARD_CHARACTERS = 100_000

Bundle = tuple[Path, str, str]
"""An exported model on disk: its folder, its name for people, such as its number in a registry, and
the digest of its manifest, which is equal for equal models."""

Poll = Callable[[], Bundle]
"""Returns the model to serve now, which stays on disk; raises an ``NmtError`` if it is unknown."""

Load = Callable[[Path], Translator]
"""Loads an exported model that is whole and translates as it should; raises an ``NmtError``."""


def poll_folder(folder: Path) -> Bundle:
    """Return the model that is in a folder now; another one may replace it."""
    try:
        digest = seal.digest_bundle(folder)
    except OSError as error:
        raise BundleError(
            f"{folder} is not an exported model, for its {seal.MANIFEST} cannot be read "
            f"({error.strerror}); name the folder that the export stage wrote"
        ) from None
    return folder, digest[:12], digest


@dataclass(frozen=True)
class ServedModel:
    """A model that translates."""

    pair: LanguageCodes
    translator: Translator
    version: str
    digest: str
    since: str
    card: str
    """The model card, in Markdown."""


@dataclass
class Watched:
    """The source of a model, and the model loaded from it."""

    poll: Poll
    pair: LanguageCodes | None = None
    """Languages, if the model does not name its own."""
    model: ServedModel | None = None
    problem: str = ""
    """Why the model may not be the one to serve; empty if it is."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why models could not be served, by their digests."""

    def renew(self, load: Load) -> ServedModel | None:
        """Poll the source; load and return its model if it is another.

        Raises:
            NmtError: if it is not known, or cannot be served; the old one stays.
        """
        folder, version, digest = self.poll()
        if self.model and digest == self.model.digest:
            self.problem = ""
            return None
        if digest in self.refused:
            self.problem = self.refused[digest]
            return None
        try:
            translator = load(folder)
            pair = self._check_pair(folder, translator)
        except NmtError as error:
            self.refused[digest] = str(error)
            raise
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.model = ServedModel(pair, translator, version, digest, now, read_card(folder))
        self.problem = ""
        self.refused.clear()
        return self.model

    def _check_pair(self, folder: Path, translator: Translator) -> LanguageCodes:
        pair = translator.languages.codes if translator.languages else self.pair
        if pair is None:
            raise ConfigError(
                f"{folder} does not name its languages; name them before the folder, such as "
                f"de-en={folder}"
            )
        expected = self.model.pair if self.model else self.pair or pair
        if pair != expected:
            wanted = "-".join(expected)
            raise ConfigError(
                f"{folder} translates {'-'.join(pair)}, not {wanted}; give a model of {wanted}, or "
                f"start the server anew"
            )
        return pair


class Models:
    """All models that are served, at most one for a pair of languages."""

    def __init__(self, watched: Sequence[Watched], load: Load) -> None:
        self.watched = list(watched)
        self._load = load
        for source in self.watched:
            source.renew(load)
        pairs = ["-".join(model.pair) for model in self.served]
        if not pairs:
            raise ConfigError("there is no model to serve; name one")
        if repeated := {pair for pair in pairs if pairs.count(pair) > 1}:
            raise ConfigError(
                f"several models translate {', '.join(sorted(repeated))}; name one of them"
            )

    @property
    def served(self) -> list[ServedModel]:
        """The models that translate now."""
        return [source.model for source in self.watched if source.model]

    @property
    def codes(self) -> list[str]:
        """All languages that are translated from or into."""
        return sorted({code for model in self.served for code in model.pair})

    def renew(self) -> int:
        """Poll all sources; return how many models replaced another. New problems are logged."""
        replaced = 0
        for source in self.watched:
            problem = source.problem
            try:
                if model := source.renew(self._load):
                    replaced += 1
                    pair = "-".join(model.pair)
                    _log.info("version %s of %s is served now", model.version, pair)
            except NmtError as error:
                source.problem = str(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, the old model serves on
                source.problem = f"a model could not be loaded ({describe_failure(error)})"
            if source.problem not in ("", problem):
                _log.warning("the old model serves on: %s", source.problem)
        return replaced

    def list_sources(self, target: str) -> list[str]:
        """Return the languages that are translated into another."""
        return [source for source, into in (model.pair for model in self.served) if into == target]

    def find(self, source: str, target: str) -> ServedModel:
        """Return the model of two languages, or refuse in LibreTranslate's words."""
        for model in self.served:
            if model.pair == (source, target):
                return model
        for code in (source, target):
            if code not in self.codes:
                raise RequestError(400, f"{code[:20]} is not supported")
        origin, into = (f"{name_language(code)} ({code})" for code in (source, target))
        raise RequestError(400, f"{into} is not available as a target language from {origin}")

    def list_languages(self) -> list[dict[str, Any]]:
        """Return every language with those it is translated into, as LibreTranslate does."""
        targets: dict[str, set[str]] = {}
        for source, target in sorted(model.pair for model in self.served):
            targets.setdefault(source, {source}).add(target)
            targets.setdefault(target, {target})
        return [
            {"code": code, "name": name_language(code), "targets": sorted(targets[code])}
            for code in targets
        ]


def read_card(folder: Path) -> str:
    """Return the card of a verified bundle, in Markdown; empty if it has none."""
    try:
        with (folder / CARD).open(encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CARD_CHARACTERS)
    except FileNotFoundError:
        return ""


AUTO = "auto"
"""Value of the source language that asks for its detection."""

NAMES = {**Locale("en").languages, "bn": "Bengali"}
"""English names by code, as LibreTranslate says them: it has no Bangla."""

READ_CHARACTERS = 2000
"""Characters of a text that are read; more do not help."""


def name_language(code: str) -> str:
    """Return the English name of a language, or its code if it has none."""
    return str(NAMES.get(code, code))


@cache
def load_detector() -> Any:
    """Return the classifier, py3langid, which takes 1.5 processor seconds and 100 MB at first."""
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def detect_languages(text: str, among: Collection[str]) -> list[Detected]:
    """Return some languages, the likeliest first; confidence is that among all languages.

    If the classifier knows none of them, the first is returned, with no confidence.
    """
    ranked = load_detector().rank(text[:READ_CHARACTERS])
    known = [
        Detected(language=language, confidence=round(100 * share, 1))
        for language, share in ranked
        if language in among
    ]
    return known or [Detected(language=min(among), confidence=0.0)]
