"""The user's request for a run (text, presets, time, settings) and the params.yaml for it."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from babel import Locale

from nmt_core.base import config, files
from nmt_core.base.errors import ConfigError, suggest
from nmt_core.base.languages import read_languages
from nmt_core.base.seal import explain_unreadable
from nmt_core.models.settings import read_model_config
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
from stages.params import SECTIONS, Sections
from stages.runtime.params_file import read

GROUPS = ("data", "model", "train", "start")
"""Groups of presets: folders of conf/."""

WORDS = (*GROUPS, "text", "languages", "validation", "test", "time")
"""Names of arguments that are not settings."""

Say = Callable[[str], object]
"""Receives messages about choices and their reasons."""


@dataclass(frozen=True)
class Request:
    """Text, choices and settings of a run, as ``make repro`` takes them."""

    text: str | Sequence[str] = ""
    """Files, names, URLs or a project file, in one line or as a list; see ``read_text``."""
    languages: str = ""
    """Two codes, such as de-en; if empty, found in the text."""
    validation: str = ""
    """Files of a validation set; requires ``text``."""
    test: str = ""
    """Files of a test set; requires ``text``."""
    data: str = ""
    """A preset of conf/data, instead of ``text``."""
    model: str = ""
    """A preset of conf/model, or auto."""
    train: str = ""
    """A preset of conf/train, or auto."""
    start: str = ""
    """A preset of conf/start."""
    time: str = ""
    """Training time, such as 1h30m."""
    settings: Sequence[str] = ()
    """Changed settings, such as ``train.seed=2``."""

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> "Request":
        """Return the request of arguments ``NAME=VALUE``; unknown names are settings.

        Raises:
            ConfigError: if a value is empty, or a name looks like a misspelt argument.
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
        """The chosen preset of each group."""
        return {name: choice for name in GROUPS if (choice := getattr(self, name))}

    def complete(self) -> "Request":
        """Return the request with the presets that its text implies."""
        if not self.text:
            return self
        model = self.model or ("" if self.start else auto.AUTO)  # a start brings its model
        return replace(self, data="files", model=model, train=self.train or auto.AUTO)


def configure(request: Request, *, say: Say = print) -> Sections:
    """Write params.yaml as ``make repro`` does, and return its sections.

    Raises:
        ConfigError: if a preset, a time or a setting is wrong.
        CorpusError: if a file cannot be read.
    """
    sections = pin_all(build_all(compose_settings(request, say=say), source=str(paths.PARAMS)))
    write_params(sections)
    return sections


def compose_settings(
    request: Request | Sequence[str], *, conf: Path = paths.CONF, say: Say = lambda _: None
) -> dict[str, Any]:
    """Return the content of params.yaml for a request.

    Text or a preset composes it from scratch; settings alone change the present file.

    Args:
        request: the request, or its arguments.
        conf: the folder of presets.
        say: receives the automatic choices with reasons, and the corpora if the request names none.

    Raises:
        ConfigError: if a preset is unknown, or an argument cannot be parsed.
        CorpusError: if a choice depends on text that cannot be read.
    """
    if not isinstance(request, Request):
        request = Request.parse(request)
    text = find_text(request, say=say)
    settings = [*expand_time(request.time), *request.settings]
    choices = request.complete().choices
    check_choices([f"{group}={name}" for group, name in choices.items()], conf)

    def compose(presets: Sequence[str], chosen: Sequence[str]) -> dict[str, Any]:
        named = [f"{group}={name}" for group, name in choices.items() if name != auto.AUTO]
        values = compose_groups([*named, *presets], conf=conf) if choices else read(paths.PARAMS)
        values["download"] = {**values.get("download", {}), **text}
        values = apply_changes(apply_changes(values, [*chosen]), settings)
        return adopt_model(values, settings) if choices and "model" not in choices else values

    values = compose([], [])
    if automatic := [group for group in auto.GROUPS if choices.get(group) == auto.AUTO]:
        sections = build_all(values, source=str(paths.PARAMS))
        try:
            presets, chosen, reason = auto.choose(automatic, sections, budget=find_budget(settings))
        except auto.UnknownSizeError as error:
            if auto.AUTO in request.choices.values():
                raise
            say(f"model and training are those of conf/data/files.yaml, because {error}")
        else:
            say(f"chosen for {reason}: {' '.join([*presets, *chosen])}")
            values = compose(presets, chosen)
    if choices and (fitting := auto.fit_split(values, settings)):
        say(f"fitted to the size of the text: {' '.join(fitting)}")
        values = apply_changes(values, fitting)
    if choices and "data" not in choices:
        corpora = ", ".join(values["download"]["corpora"])
        say(f"the text is {corpora}; TEXT= or DATA= chooses other text")
    return values


def adopt_model(values: dict[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return settings with the model of the export that training starts from, if there is one."""
    start = values["download"].get("initial_model", {})
    path = Path(start.get("folder", "")) / "model.json"
    if start.get("kind") != "bundle" or not path.exists():
        return values
    with explain_unreadable(path, ConfigError):
        values["train"]["model"] = read_model_config(files.read_json(path)).model_dump(mode="json")
    return apply_changes(values, [each for each in settings if each.startswith("train.model.")])


def find_text(request: Request, *, say: Say) -> dict[str, Any]:
    """Return the settings of ``download`` for the text of a request.

    Raises:
        ConfigError: if arguments contradict each other, or name no text.
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
    named = read_text(
        text, languages=request.languages, validation=request.validation, test=request.test
    )
    names = [Locale("en").languages.get(code, code) for code in named.languages.codes]
    asked = ", ".join(map(str, named.directions)) or " to ".join(names)
    say(f"{asked}, by {named.reason}; corpora: {', '.join(named.corpora)}")
    for name, corpus in named.corpora.items():
        if corpus.get("licence") == "other":
            say(f"set download.corpora.{name}.licence to the licence that its publisher names")
    return {
        "languages": named.languages.model_dump(),
        "directions": [*map(str, named.directions)],
        "corpora": named.corpora,
    }


def expand_time(time: str) -> list[str]:
    """Return the budget for a time such as 1h30m as settings; an empty list without a time.

    Raises:
        ConfigError: if it is not a time.
    """
    if not time:
        return []
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", time)
    numbers = [int(part or 0) for part in parts.groups()] if parts else [0, 0, 0]
    total = sum(number * unit for number, unit in zip(numbers, (3600, 60, 1), strict=True))
    if not total:
        raise ConfigError(f"time={time} is not a time; write 2h, 1h30m, 45m or 90s")
    return [f"train.budget={{steps:null,epochs:null,tokens:null,seconds:{total}.0}}"]


def find_budget(settings: Sequence[str]) -> Budget | None:
    """Return the budget that the user has set; None without a limit.

    Raises:
        ConfigError: if the budget is wrong.
    """
    changes = [each for each in settings if each.lstrip("+~").startswith("train.budget")]
    budget = apply_changes({}, changes).get("train", {}).get("budget", {})
    limits = {name: limit for name, limit in budget.items() if limit is not None}
    return config.build(Budget, limits, at="train.budget") if limits else None
