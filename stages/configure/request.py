"""What a person asks of a run, in words, and the settings that it stands for."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from babel import Locale

from nmt_core.base import config
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, suggest
from nmt_core.base.languages import read_languages
from nmt_core.training.settings import Budget
from stages import paths
from stages.configure import auto
from stages.configure.compose import (
    apply_changes,
    check_choices,
    compose_groups,
    pin_all,
    write_params,
)
from stages.configure.sections import build_all
from stages.configure.text import read_text
from stages.params import SECTIONS
from stages.runtime.params_file import read

GROUPS = ("data", "model", "train", "start")
"""Folders of conf/."""

WORDS = (*GROUPS, "text", "languages", "validation", "test", "time")
"""Names of arguments that are no settings."""

Say = Callable[[str], object]
"""Takes what was chosen, and why."""


@dataclass(frozen=True)
class Request:
    """Text, choices and settings of a run, as ``make repro`` takes them."""

    text: str | Sequence[str] = ""
    """Files, names, addresses or a project file, in a line or one by one; see ``read_text``."""
    languages: str = ""
    """Such as de-en; if empty, found in the text."""
    validation: str = ""
    """A validation set of files, where ``text`` is given."""
    test: str = ""
    """A test set of files, where ``text`` is given."""
    data: str = ""
    """A group of conf/data, in place of ``text``."""
    model: str = ""
    """A group of conf/model, or auto."""
    train: str = ""
    """A group of conf/train, or auto."""
    start: str = ""
    """A group of conf/start."""
    time: str = ""
    """Time to train, such as 1h30m."""
    settings: Sequence[str] = ()
    """Such as ``train.seed=2``."""

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> "Request":
        """Return the request of arguments ``NAME=VALUE``; unknown names are settings.

        Raises:
            ConfigError: if a name is almost one of a group.
        """
        words = {}
        settings = []
        for argument in arguments:
            name, equals, value = argument.partition("=")
            if equals and name in WORDS:
                if not value:
                    raise ConfigError(f"{name}= is empty; give it a value, or leave it out")
                words[name] = value
                continue
            settings.append(argument)
            if "." not in name and name not in SECTIONS and get_close_matches(name, WORDS):
                raise ConfigError(f"{name}= is unknown; {suggest(name, WORDS)}")
        return cls(**words, settings=settings)

    @property
    def choices(self) -> dict[str, str]:
        """The groups that are named."""
        return {name: choice for name in GROUPS if (choice := getattr(self, name))}

    def complete(self) -> "Request":
        """Return the request with the groups that its text implies."""
        if not self.text:
            return self
        model = self.model or ("" if self.start else auto.AUTO)  # that of the start has settings
        return replace(self, data="files", model=model, train=self.train or auto.AUTO)


def configure(request: Request, *, say: Say = print) -> dict[str, Config]:
    """Write params.yaml as ``make repro`` does, and return its sections.

    Raises:
        ConfigError: if a name, a time or a setting is wrong.
        CorpusError: if a file cannot be read.
    """
    sections = pin_all(build_all(compose_settings(request, say=say), source=str(paths.PARAMS)))
    write_params(sections)
    return sections


def compose_settings(
    request: Request | Sequence[str], *, conf: Path = paths.CONF, say: Say = lambda _: None
) -> dict[str, Any]:
    """Compose the content of params.yaml.

    Text or a group composes everything anew; settings alone change what is there.

    Args:
        request: the request, or the arguments of one.
        conf: the groups.
        say: takes the automatic choices, with reasons, and the text if no word names it.

    Raises:
        ConfigError: if a group or a choice is unknown, or an argument cannot be understood.
        CorpusError: if a choice depends on text that cannot be read.
    """
    asked = request if isinstance(request, Request) else Request.parse(request)
    text = find_text(asked, say=say)
    settings = [*expand_time(asked.time), *asked.settings]
    choices = asked.complete().choices
    check_choices([f"{group}={name}" for group, name in choices.items()], conf)

    def compose(presets: Sequence[str], chosen: Sequence[str]) -> dict[str, Any]:
        named = [f"{group}={name}" for group, name in choices.items() if name != auto.AUTO]
        values = compose_groups([*named, *presets], conf=conf) if choices else read(paths.PARAMS)
        values["download"] = {**values.get("download", {}), **text}
        return apply_changes(apply_changes(values, [*chosen]), settings)

    values = compose([], [])
    if automatic := [group for group in auto.GROUPS if choices.get(group) == auto.AUTO]:
        sections = build_all(values, source=str(paths.PARAMS))
        try:
            presets, chosen, reason = auto.choose(automatic, sections, budget=find_budget(settings))
        except auto.UnknownSizeError as error:
            if auto.AUTO in asked.choices.values():
                raise
            say(f"model and training are those of conf/data/files.yaml, as {error}")
        else:
            say(f"chosen for {reason}: {' '.join([*presets, *chosen])}")
            values = compose(presets, chosen)
    if choices and (fitting := auto.fit_split(values, settings)):
        say(f"fitted to the size of the text: {' '.join(fitting)}")
        values = apply_changes(values, fitting)
    if choices and "data" not in choices:
        corpora = ", ".join(values["download"]["corpora"])
        say(f"the text is that of {corpora}; TEXT= or DATA= chooses another")
    return values


def find_text(request: Request, *, say: Say) -> dict[str, Any]:
    """Return the settings of ``download`` that the words for text stand for.

    Raises:
        ConfigError: if the words contradict each other, or name nothing.
        CorpusError: if a file cannot be read.
    """
    text = request.text if isinstance(request.text, str) else shlex.join(request.text)
    if not text:
        if request.validation or request.test:
            raise ConfigError("VALIDATION= and TEST= require TEXT=")
        languages = request.languages
        return {"languages": read_languages(languages).model_dump()} if languages else {}
    if request.data:
        raise ConfigError("TEXT= and DATA= both choose text; keep one of them")
    found = read_text(
        text, languages=request.languages, validation=request.validation, test=request.test
    )
    names = [Locale("en").languages.get(code, code) for code in found.languages.codes]
    say(f"{' to '.join(names)}, by {found.reason}; corpora: {', '.join(found.corpora)}")
    for name, corpus in found.corpora.items():
        if corpus.get("licence") == "other":
            say(f"the publisher of {name} states its licence; set download.corpora.{name}.licence")
    return {"languages": found.languages.model_dump(), "corpora": found.corpora}


def expand_time(time: str) -> list[str]:
    """Return the settings that a time such as 1h30m stands for, if any.

    Raises:
        ConfigError: if it is no time.
    """
    if not time:
        return []
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", time)
    numbers = [int(part or 0) for part in parts.groups()] if parts else [0, 0, 0]
    total = sum(number * unit for number, unit in zip(numbers, (3600, 60, 1), strict=True))
    if not total:
        raise ConfigError(f"time={time} is no time; write 2h, 1h30m, 45m or 90s")
    return [f"train.budget={{steps:null,epochs:null,tokens:null,seconds:{total}.0}}"]


def find_budget(settings: Sequence[str]) -> Budget | None:
    """Return the budget that a person sets, if any limit of it.

    Raises:
        ConfigError: if it is wrong.
    """
    about = [given for given in settings if given.lstrip("+~").startswith("train.budget")]
    given = apply_changes({}, about).get("train", {}).get("budget", {})
    limits = {name: limit for name, limit in given.items() if limit is not None}
    return config.build(Budget, limits, at="train.budget") if limits else None
