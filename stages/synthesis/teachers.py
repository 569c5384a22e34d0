"""Teachers: an exported model or a server."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import httpx2
import tenacity

from nmt_core.base.errors import ConfigError, DownloadError
from nmt_core.base.languages import Languages
from nmt_core.base.seal import digest_bundle
from nmt_core.corpora.fetch.address import redact_url
from nmt_core.corpora.fetch.http import parse_url
from nmt_core.literals.checking import check_literals
from nmt_core.search.settings import SamplingConfig
from nmt_core.translation.flaws import find_flaws, is_flaw
from nmt_core.translation.translation import Translation
from nmt_core.translation.translator import Translator
from stages.synthesis.settings import SynthesisConfig

REQUEST_LINES = 50
"""Lines of a request to a server: many allow no more."""

ATTEMPTS = 5
"""Requests to a server that does not answer."""

WAIT = tenacity.wait_random_exponential(max=30)
"""Time between two of them."""

SECONDS = 120.0
"""Time for an answer."""

KEY = "NMT_TEACHER_KEY"
"""The variable with the key of a server's user."""


class TaughtLine(NamedTuple):
    """A translation of a line by a teacher."""

    text: str
    score: float | None
    """Length-normalised log-probability; None where the teacher tells none."""
    flaw: str
    """What is wrong with it, such as ``looping`` or ``literals``; empty where nothing is."""


class Teacher(Protocol):
    """Translates chunks of lines."""

    @property
    def identity(self) -> str:
        """What decides its translations: equal ones need not be made again."""

    def teach(self, lines: Sequence[str]) -> list[TaughtLine]:
        """Return the translation of every line."""


class ModelTeacher:
    """An exported model.

    Args:
        folder: of the export.
        config: how it searches.
        languages: which it must read and write.

    Raises:
        BundleError: if it is no sound export.
        ConfigError: if it is of other languages.
    """

    def __init__(self, folder: Path, config: SynthesisConfig, languages: Languages) -> None:
        self._translator = Translator.load(folder)
        known = self._translator.languages
        if known is not None and known != languages:
            raise ConfigError(
                f"{folder} translates {known.source} to {known.target}, but the teacher has to "
                f"translate {languages.source} to {languages.target}; name another one"
            )
        self._config, self._languages = config, languages
        how = f"sampled {config.seed}" if config.sampling else f"beam {config.beam_size}"
        self.identity = f"model {digest_bundle(folder)} {how}"

    def teach(self, lines: Sequence[str]) -> list[TaughtLine]:
        """Return the translation of every line."""
        if self._config.sampling:
            found = self._translator.sample(lines, SamplingConfig(seed=self._config.seed))
        else:
            size = self._config.beam_size
            found = self._translator.search(lines, beam_size=size, n_best=1, probabilities=False)
        return [
            TaughtLine(best.text, best.score, self._find_flaw(line, best))
            for line, (best, *_) in zip(lines, found, strict=True)
        ]

    def _find_flaw(self, line: str, best: Translation) -> str:
        for breach in best.breaches:
            return breach.problem if is_flaw(breach) else "literals"
        return judge(line, best.text, self._languages) if self._config.sampling else ""


class ServerTeacher:
    """A server that speaks LibreTranslate's API.

    Raises:
        DownloadError: if the address is none, or the server does not translate.
    """

    def __init__(self, address: str, languages: Languages) -> None:
        self._url = parse_url(address.rstrip("/") + "/translate", "teacher")
        self._languages = languages
        self.identity = f"server {redact_url(address)} {languages.source} {languages.target}"
        self._key = {"api_key": os.environ[KEY]} if os.environ.get(KEY) else {}

    def teach(self, lines: Sequence[str]) -> list[TaughtLine]:
        """Return the translation of every line."""
        with httpx2.Client(timeout=SECONDS) as client:
            chosen = [
                text
                for start in range(0, len(lines), REQUEST_LINES)
                for text in self._ask(client, lines[start : start + REQUEST_LINES])
            ]
        return [
            TaughtLine(text, None, judge(line, text, self._languages))
            for line, text in zip(lines, chosen, strict=True)
        ]

    def _ask(self, client: httpx2.Client, lines: Sequence[str]) -> list[str]:
        asked = {"q": list(lines), "format": "text", **self._key}
        codes = {"source": self._languages.source, "target": self._languages.target}
        post = partial(client.post, self._url, json=asked | codes)
        try:
            answer = tenacity.Retrying(
                retry=tenacity.retry_if_exception_type(httpx2.TransportError)
                | tenacity.retry_if_result(is_busy),
                stop=tenacity.stop_after_attempt(ATTEMPTS),
                wait=WAIT,
                retry_error_callback=_return_last,
            )(post)
        except httpx2.TransportError as error:
            raise DownloadError(f"{self._name} does not answer: {error}") from None
        with self._explain(answer):
            texts = answer.raise_for_status().json()["translatedText"]
            if not isinstance(texts, list) or len(texts) != len(lines):
                raise ValueError
            return [" ".join(str(text).split()) for text in texts]

    @contextmanager
    def _explain(self, answer: httpx2.Response) -> Iterator[None]:
        try:
            yield
        except (httpx2.HTTPStatusError, ValueError, KeyError, TypeError):
            said = " ".join(answer.text[:200].split())
            raise DownloadError(
                f"{self._name} does not translate as LibreTranslate's API does; it answered "
                f"{answer.status_code}: {said}"
            ) from None

    @property
    def _name(self) -> str:
        return redact_url(str(self._url))


def is_busy(answer: httpx2.Response) -> bool:
    """Tell whether a server asks to be asked again."""
    return answer.status_code in (429, 502, 503, 504)


def _return_last(state: tenacity.RetryCallState) -> Any:
    return cast("tenacity.Future", state.outcome).result()


def judge(line: str, translation: str, languages: Languages) -> str:
    """Return what is wrong with a translation; nothing where nothing is."""
    for flaw in find_flaws(line, translation, tokens=0, limit=1):
        return flaw.problem
    return "literals" if check_literals(line, translation, languages.codes) else ""


def find_teacher(config: SynthesisConfig, languages: Languages) -> Teacher:
    """Return the teacher that settings name.

    Args:
        config: settings.
        languages: from which to which it translates.

    Raises:
        ConfigError: if there is none, or it translates other languages.
        BundleError: if an export is not sound.
        DownloadError: if an address is none.
    """
    if "://" in config.teacher:
        return ServerTeacher(config.teacher, languages)
    path = Path(config.teacher)
    if path.is_dir():
        return ModelTeacher(path, config, languages)
    raise ConfigError(
        f"the teacher {config.teacher} is not there; name the folder of an exported model or the "
        f"address of a server"
    )
