"""The served models by language pair, and their replacement while the server runs.

A newer model is loaded and verified before it replaces the served model. Running requests keep the
old model. A model that cannot be loaded, or fails its golden sentences, is rejected, and the old
model stays.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError

from nmt_core.base import seal
from nmt_core.base.errors import BundleError, ConfigError, NmtError
from nmt_core.base.languages import MULTIPLE
from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.server.schemas import Detected
from nmt_core.text.language_codes import LanguageCodes
from nmt_core.text.language_detection import load_scorer
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

CARD = "README.md"
"""The model card of a bundle."""

MAX_CARD_CHARACTERS = 100_000

Bundle = tuple[Path, str, str]
"""An exported model on disk: its folder, its version for people, such as its number in a registry,
and the digest of its manifest, which is equal for equal models."""

Poll = Callable[[], Bundle]
"""Returns the model to serve now; raises an ``NmtError`` if it is unknown."""

Load = Callable[[Path], Translator]
"""Loads and checks an exported model; raises an ``NmtError`` if a check fails."""


def poll_folder(folder: Path) -> Bundle:
    """Return the model that is currently in a folder."""
    try:
        digest = seal.digest_bundle(folder)
    except OSError as error:
        raise BundleError(
            f"{folder} is not an exported model: its {seal.MANIFEST} cannot be read "
            f"({error.strerror}); give the output folder of the export stage"
        ) from None
    return folder, digest[:12], digest


@dataclass(frozen=True)
class ServedModel:
    """A loaded model, or a direction of one, with its description."""

    pair: LanguageCodes
    translator: Translator
    version: str
    digest: str
    since: str
    card: str
    """The model card, in Markdown."""


@dataclass
class WatchedModel:
    """The source of a model, and the model loaded from it."""

    poll: Poll
    pair: LanguageCodes | None = None
    """Languages of a model that does not name its languages, or the only direction to serve; all
    are served if one of the codes is ``MULTIPLE``."""
    models: tuple[ServedModel, ...] = ()
    """The model, once for each of its directions; all share an engine."""
    problem: str = ""
    """Why the served model may be outdated; empty if it is current."""
    rejected: dict[str, str] = field(default_factory=dict)
    """Why models cannot be served, by digest."""

    def refresh(self, load: Load) -> tuple[ServedModel, ...]:
        """Poll the source; load and return a new model, or return nothing if it has not changed.

        Raises:
            NmtError: if the model is unknown or cannot be served; the old model stays.
        """
        folder, version, digest = self.poll()
        if self.models and digest == self.models[0].digest:
            self.problem = ""
            return ()
        if digest in self.rejected:
            self.problem = self.rejected[digest]
            return ()
        try:
            directions = self._list_directions(folder, load(folder))
        except NmtError as error:
            self.rejected[digest] = str(error)
            raise
        now, card = datetime.now(UTC).isoformat(timespec="seconds"), read_card(folder)
        self.models = tuple(
            ServedModel(pair, translator, version, digest, now, card)
            for pair, translator in directions.items()
        )
        self.problem = ""
        self.rejected.clear()
        return self.models

    def _list_directions(
        self, folder: Path, translator: Translator
    ) -> dict[LanguageCodes, Translator]:
        """Return a translator for each pair of languages to serve."""
        named = self.pair if self.pair and MULTIPLE not in self.pair else None
        if translator.directions:
            pairs = [each.languages.codes for each in translator.directions]
            directions = {pair: translator.choose(*pair) for pair in ([named] if named else pairs)}
        else:
            pair = translator.languages.codes if translator.languages else named
            if pair is None:
                raise ConfigError(
                    f"{folder} does not name its languages; give them before the folder, such as "
                    f"de-en={folder}"
                )
            directions = {pair: translator}
        expected = [model.pair for model in self.models] or ([named] if named else [])
        if missing := [pair for pair in expected if pair not in directions]:
            name = name_pairs(missing)
            raise ConfigError(
                f"{folder} translates {name_pairs(directions)}, not {name}; give a model of "
                f"{name}, or restart the server"
            )
        return directions


def name_pairs(pairs: Iterable[LanguageCodes]) -> str:
    """Return the names of language pairs, such as ``de-en, en-de``."""
    return ", ".join(map("-".join, pairs))


class Models:
    """All served models, at most one per language pair."""

    def __init__(self, watched: Sequence[WatchedModel], load: Load) -> None:
        self.watched = list(watched)
        self._load = load
        for source in self.watched:
            source.refresh(load)
        pairs = [model.pair for model in self.served]
        if not pairs:
            raise ConfigError("there is no model to serve; give a model folder")
        if repeated := {pair for pair in pairs if pairs.count(pair) > 1}:
            raise ConfigError(
                f"several models translate {name_pairs(sorted(repeated))}; give only one per pair"
            )

    @property
    def served(self) -> list[ServedModel]:
        """The models that are currently served."""
        return [model for source in self.watched for model in source.models]

    @property
    def codes(self) -> list[str]:
        """The codes of all source and target languages."""
        return sorted({code for model in self.served for code in model.pair})

    def refresh(self) -> int:
        """Poll all sources, log new problems, and return the number of replaced models."""
        replaced = 0
        for source in self.watched:
            problem = source.problem
            try:
                if models := source.refresh(self._load):
                    replaced += 1
                    pairs = name_pairs(model.pair for model in models)
                    _log.info("now serving version %s of %s", models[0].version, pairs)
            except NmtError as error:
                source.problem = str(error)
            except Exception as error:  # noqa: BLE001 - any error leaves the old model in place
                source.problem = f"a model could not be loaded ({describe_failure(error)})"
            if source.problem not in ("", problem):
                _log.warning("the server keeps the old model: %s", source.problem)
        return replaced

    def list_sources(self, target: str) -> list[str]:
        """Return the source languages of a target language."""
        return [source for source, into in (model.pair for model in self.served) if into == target]

    def find(self, source: str, target: str) -> ServedModel:
        """Return the model of a language pair; raise LibreTranslate's error if there is none."""
        for model in self.served:
            if model.pair == (source, target):
                return model
        for code in (source, target):
            if code not in self.codes:
                raise RequestError(400, f"{code[:20]} is not supported")
        origin, into = (f"{name_language(code)} ({code})" for code in (source, target))
        raise RequestError(400, f"{into} is not available as a target language from {origin}")

    def list_languages(self) -> list[dict[str, Any]]:
        """Return every language with its target languages, in LibreTranslate's format."""
        targets: dict[str, set[str]] = {}
        for source, target in sorted(model.pair for model in self.served):
            targets.setdefault(source, {source}).add(target)
            targets.setdefault(target, {target})
        return [
            {"code": code, "name": name_language(code), "targets": sorted(targets[code])}
            for code in targets
        ]


def read_card(folder: Path) -> str:
    """Return the model card of a verified bundle in Markdown, or "" if there is none."""
    try:
        with (folder / CARD).open(encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CARD_CHARACTERS)
    except FileNotFoundError:
        return ""


AUTO = "auto"
"""Source language that requests language detection."""

LANGUAGE_NAMES = {**Locale("en").languages, "bn": "Bengali"}
"""LibreTranslate's English names by code; CLDR's name of Bengali is Bangla."""


def name_language(code: str) -> str:
    """Return the English name of a language, or its code if the name is unknown."""
    if code in LANGUAGE_NAMES:
        return str(LANGUAGE_NAMES[code])
    try:  # with its script or region
        return str(Locale.parse(code, sep="-").get_display_name("en"))
    except (ValueError, UnknownLocaleError):
        return code


def detect_languages(text: str, among: Collection[str]) -> list[Detected]:
    """Return the languages of ``among``, most likely first, with confidences among all languages.

    If the classifier knows none of them, the result is the first code with confidence 0.
    """
    return [
        Detected(language=language, confidence=round(100 * share, 1))
        for language, share in load_scorer().rank(text, sorted(among))
    ]
