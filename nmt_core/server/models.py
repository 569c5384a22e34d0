"""The served models by language pair, and their replacement while the server runs.

A newer model is loaded beside the one that serves, verified, and only then put in its place:
requests that have begun keep their model, which is freed when the last of them ends. A model that
cannot be loaded, or does not translate as it did when it was exported, is refused once, and the old
one stays.
"""

import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from babel import Locale
from py3langid import langid

from nmt_core.base import seal
from nmt_core.base.errors import BundleError, ConfigError, NmtError
from nmt_core.server.errors import RequestError, describe_failure
from nmt_core.server.schemas import Detected
from nmt_core.translation.translator import Translator

_log = logging.getLogger(__name__)

CARD = "README.md"
"""The model card of a bundle."""

MAX_CARD_CHARACTERS = 100_000

CARD_ROW = re.compile(r"^\| (corpus|BLEU|chrF) \| (\S.*) \|$", re.MULTILINE)


class LanguagePair(NamedTuple):
    """A source and a target language."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


class Bundle(NamedTuple):
    """An exported model on disk."""

    folder: Path
    version: str
    """Its name for people, such as its number in a registry."""
    digest: str
    """Digest of its manifest; equal for equal models."""


Poll = Callable[[], Bundle]
"""Returns the model to serve now, which stays on disk while it is served; raises an ``NmtError``
if it is not known at present."""

Load = Callable[[Path], Translator]
"""Loads an exported model and checks that it is whole and translates as it should; raises an
``NmtError`` otherwise."""


def poll_folder(folder: Path) -> Bundle:
    """Return the model that is in a folder now; another one may replace it.

    Raises:
        BundleError: if the folder holds no exported model.
    """
    try:
        digest = seal.digest_bundle(folder)
    except OSError as error:
        raise BundleError(
            f"{folder} is not an exported model, for its {seal.MANIFEST} cannot be read "
            f"({error.strerror}); name the folder that the export stage wrote"
        ) from None
    return Bundle(folder, version=digest[:12], digest=digest)


@dataclass(frozen=True)
class ServedModel:
    """A model that translates."""

    pair: LanguagePair
    translator: Translator
    bundle: Bundle
    since: str
    card: str
    """The model card, in Markdown."""


@dataclass
class Watched:
    """The source of a model, and the model loaded from it.

    Args:
        poll: returns the model to serve.
        pair: languages, if the model does not name its own.
    """

    poll: Poll
    pair: LanguagePair | None = None
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
        bundle = self.poll()
        if self.model and bundle.digest == self.model.bundle.digest:
            self.problem = ""
            return None
        if bundle.digest in self.refused:
            self.problem = self.refused[bundle.digest]
            return None
        try:
            self.model = self._load(bundle, load)
        except NmtError as error:
            self.refused[bundle.digest] = str(error)
            raise
        self.problem = ""
        self.refused.clear()
        return self.model

    def _load(self, bundle: Bundle, load: Load) -> ServedModel:
        translator = load(bundle.folder)
        languages = translator.languages
        pair = LanguagePair(*languages.codes) if languages else self.pair
        if pair is None:
            raise ConfigError(
                f"{bundle.folder} does not name its languages; name them before the folder, such "
                f"as de-en={bundle.folder}"
            )
        expected = self.model.pair if self.model else self.pair or pair
        if pair != expected:
            raise ConfigError(
                f"{bundle.folder} translates {pair}, not {expected}; give a model of {expected}, "
                f"or start the server anew"
            )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return ServedModel(pair, translator, bundle, now, read_card(bundle.folder))


class Models:
    """All models that are served, at most one for a pair of languages.

    Args:
        watched: their sources.
        load: loads and verifies one.

    Raises:
        NmtError: if one cannot be served.
    """

    def __init__(self, watched: Sequence[Watched], load: Load) -> None:
        self.watched = list(watched)
        self._load = load
        for source in self.watched:
            source.renew(load)
        pairs = [str(model.pair) for model in self.served]
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
                    _log.info("version %s of %s is served now", model.bundle.version, model.pair)
            except NmtError as error:
                source.problem = str(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, the old model serves on
                source.problem = f"a model could not be loaded ({describe_failure(error)})"
            if source.problem not in ("", problem):
                _log.warning("the old model serves on: %s", source.problem)
        return replaced

    def list_sources(self, target: str) -> list[str]:
        """Return the languages that are translated into another."""
        return [model.pair.source for model in self.served if model.pair.target == target]

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


def summarize_card(card: str) -> tuple[str, str]:
    """Return the corpus and the score that a card names; empty if it names none."""
    rows = {name: value.replace("\\|", "|") for name, value in reversed(CARD_ROW.findall(card))}
    score = next((f"{name} {rows[name]}" for name in ("BLEU", "chrF") if name in rows), "")
    return rows.get("corpus", ""), score


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
