"""Compose params.yaml from the groups in conf/, check it, and write it with its comments."""

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from nmt_core.base import config, files
from nmt_core.base.config import Config, read_docstrings
from nmt_core.base.errors import ConfigError, NmtError, suggest
from nmt_core.training.budget import Budget
from stages import paths
from stages.configure import auto
from stages.configure.sections import build_all
from stages.configure.small_text import fit_settings
from stages.params import SECTIONS, DownloadParams, ExportParams, TrainParams
from stages.registry.settings import PromotionParams
from stages.runtime.params_file import read

HEADING = """\
Every setting of the project, a section per stage. Groups in conf/ compose this file:
  make repro DATA=files MODEL=transformer
Edit values by hand as you like; a wrong one is named before any work begins.
"""

WIDTH = 100


def compose_settings(
    arguments: list[str],
    *,
    conf: Path = paths.CONF,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Compose the content of params.yaml.

    Args:
        arguments: ``group=name``, ``section.key=value`` and ``time=2h``, a budget of seconds.
        conf: the groups.
        say: takes the choices of ``model=auto``, ``train=auto`` and for small texts, with reasons,
            and which text is no longer that of params.yaml.

    Raises:
        ConfigError: if a group or a choice is unknown, or an argument cannot be understood.
        CorpusError: if a choice depends on text that cannot be read.
    """
    groups = {folder.name for folder in conf.iterdir() if folder.is_dir()}
    choices = [given for given in arguments if given.split("=")[0] in groups]
    others = (given for given in arguments if given not in choices)
    settings = [setting for given in others for setting in expand_time(given)]
    for name in (given.split("=")[0] for given in settings):
        if "." not in name and name not in SECTIONS and get_close_matches(name, groups):
            raise ConfigError(f"{name} is no group of conf/; {suggest(name, groups)}")
    check_choices(choices, conf)
    given = [choice for choice in choices if choice.partition("=")[2] != auto.AUTO]
    start = compose_groups(given, conf=conf) if choices else read(paths.PARAMS)
    values = apply_changes(start, settings)
    check_architecture(start, values)
    if asked := [group for group in auto.GROUPS if f"{group}={auto.AUTO}" in choices]:
        sections = build_all(values, source=str(paths.PARAMS))
        chosen = auto.choose(asked, sections, auto.read_auto(conf), budget=find_budget(settings))
        say(str(chosen))
        start = compose_groups([*given, *chosen.groups], conf=conf)
        values = apply_changes(apply_changes(start, chosen.settings), settings)
    if choices:
        fitting, message = fit_settings(values, settings)
        values = apply_changes(values, fitting)
        if message:
            say(message)
        if not any(choice.startswith("data=") for choice in choices):
            tell_lost_text(values, say)
    return values


def tell_lost_text(values: Mapping[str, Any], say: Callable[[str], object]) -> None:
    """Say which corpora of params.yaml are none of these settings, which name no ``data=``.

    Args:
        values: all settings, composed anew.
        say: takes the sentence.
    """
    try:
        before = read(paths.PARAMS)
    except NmtError:  # there is none yet, or one that nobody can read
        return
    old, new = (_list_corpora(some) for some in (before, values))
    if lost := [name for name in old if name not in new]:
        say(
            f"without DATA the text is that of {', '.join(new)} now, and no longer "
            f"{', '.join(lost)}; to stay with it, name it again: DATA and its SET beside the rest"
        )


def _list_corpora(values: Mapping[str, Any]) -> list[str]:
    download = values.get("download")
    corpora = download.get("corpora") if isinstance(download, dict) else None
    return list(corpora) if isinstance(corpora, dict) else []


def expand_time(given: str) -> list[str]:
    """Return the settings that ``time=1h30m`` stands for; another argument as it is.

    Raises:
        ConfigError: if it is no time.
    """
    name, _, value = given.partition("=")
    if name != "time":
        return [given]
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", value)
    numbers = [int(part or 0) for part in parts.groups()] if parts else [0, 0, 0]
    total = sum(number * unit for number, unit in zip(numbers, (3600, 60, 1), strict=True))
    if not total:
        raise ConfigError(f"time={value} is no time; write 2h, 1h30m, 45m or 90s")
    return [f"train.budget={{steps:null,epochs:null,tokens:null,seconds:{total}.0}}"]


def find_budget(settings: list[str]) -> Budget | None:
    """Return the budget that a person sets, if any limit of it.

    Raises:
        ConfigError: if it is wrong.
    """
    about = [given for given in settings if given.lstrip("+~").startswith("train.budget")]
    given = apply_changes({}, about).get("train", {}).get("budget", {})
    limits = {name: limit for name, limit in given.items() if limit is not None}
    return config.build(Budget, limits, at="train.budget") if limits else None


def is_chosen(sections: Mapping[str, Config], *, conf: Path = paths.CONF) -> bool:
    """Tell whether the model is the one that ``model=auto`` chooses for its text and budget."""
    try:
        chosen = auto.choose(["model"], sections, auto.read_auto(conf))
    except NmtError:
        return False
    values = apply_changes(compose_groups(chosen.groups, conf=conf), chosen.settings)
    fitting = config.build(TrainParams, values["train"], at="train")
    train = sections["train"]
    assert isinstance(train, TrainParams)
    return (train.model, train.optimizer) == (fitting.model, fitting.optimizer)


def check_choices(choices: list[str], conf: Path) -> None:
    """Check that every ``group=name`` is in the folder of groups.

    Raises:
        ConfigError: if one is not.
    """
    for group, _, name in (given.partition("=") for given in choices):
        names = sorted(file.stem for file in (conf / group).glob("*.yaml"))
        names += [auto.AUTO] if group in auto.GROUPS else []
        if name not in names:
            raise ConfigError(f"conf/: there is no {group}={name}; {suggest(name, names)}")


def check_architecture(start: dict[str, Any], changed: dict[str, Any]) -> None:
    """Check that no setting alone changes the architecture, which brings all others of a model.

    Raises:
        ConfigError: if one does.
    """
    before, after = map(_find_architecture, (start, changed))
    if after not in (None, before):
        raise ConfigError(
            f"train.model.architecture={after} leaves the other settings of a {before}; take a "
            f"preset with its own: model={after}, or MODEL={after} with make"
        )


def _find_architecture(values: Any) -> Any:
    for name in ("train", "model", "architecture"):
        values = values.get(name) if isinstance(values, dict) else None
    return values


def overlay(values: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Set some settings among others; one of a kind takes the place of all of another."""
    for name, value in changes.items():
        known = values.get(name)
        if isinstance(value, dict) and isinstance(known, dict) and "kind" not in value:
            overlay(known, value)
        else:
            values[name] = value


def overlay_group(
    values: dict[str, Any], group: str, names: Sequence[str], *, conf: Path = paths.CONF
) -> None:
    """Set what files of a group hold among other settings, one file after another.

    Whatever the files start from must be among them.
    """
    for name in names:
        chosen = yaml.safe_load((conf / group / f"{name}.yaml").read_text(encoding="utf-8"))
        chosen.pop("defaults", None)
        overlay(values, chosen)


def apply_changes(values: dict[str, Any], settings: list[str]) -> dict[str, Any]:
    """Return values with some set (``a.b=1``), added (``+a.b=1``) or removed (``~a.b``).

    Raises:
        ConfigError: if a setting cannot be understood.
    """
    if not settings:
        return values
    from stages.configure.groups import apply_overrides  # imports Hydra

    return apply_overrides(values, settings)


def compose_groups(overrides: list[str], *, conf: Path = paths.CONF) -> dict[str, Any]:
    """Compose the groups.

    Raises:
        ConfigError: if a group or an override is unknown.
    """
    check_choices(
        [override for override in overrides if (conf / override.partition("=")[0]).is_dir()], conf
    )
    from stages.configure.groups import compose_config  # imports Hydra

    return compose_config(overrides, conf)


def pin_all(sections: Mapping[str, Config]) -> dict[str, Config]:
    """Return the sections with the digests of the user's own files, so that DVC sees a change.

    Raises:
        ConfigError: if a glossary cannot be read, or a line of it is wrong.
        CorpusError: if a file cannot be read.
        GateError: if a slice that may not be lost can never be told.
    """
    download, export, promotion = (sections[name] for name in ("download", "export", "promotion"))
    assert isinstance(download, DownloadParams)
    assert isinstance(export, ExportParams)
    assert isinstance(promotion, PromotionParams)
    if export.glossary:
        from nmt_core.literals.glossary import Glossary  # slow, and rarely needed

        Glossary.load(export.glossary, download.languages.codes)
    if promotion.glossary or promotion.slices:
        from stages.configure.judgeable import check_judgeable  # likewise

        check_judgeable(promotion, download.languages.codes)
    return {**sections, "download": download.pinned(), "export": export.pinned()}


def add_comments(settings: Config) -> CommentedMap:
    """Return settings as YAML, each with its documentation above it."""
    document = CommentedMap()
    for name in type(settings).model_fields:
        document[name] = convert_value(getattr(settings, name))
    return document


def convert_value(value: Any) -> Any:
    """Return a value as YAML holds it."""
    if isinstance(value, Config):
        return add_comments(value)
    if isinstance(value, dict):
        return CommentedMap({name: convert_value(item) for name, item in value.items()})
    if isinstance(value, tuple):
        return [convert_value(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def render_params(sections: Mapping[str, Config]) -> str:
    """Return the text of params.yaml."""
    whole = CommentedMap({name: add_comments(section) for name, section in sections.items()})
    whole.yaml_set_start_comment(HEADING)
    for name, section in sections.items():
        whole.yaml_set_comment_before_after_key(name, before=first_line(section))
        annotate(whole[name], section, indent=2)
    text = io.StringIO()
    writer = YAML()
    writer.width = 4096
    writer.representer.add_representer(type(None), _scalar("null"))
    writer.representer.add_representer(float, _scalar("float"))
    writer.dump(whole, text)
    return text.getvalue()


def write_params(sections: Mapping[str, Config]) -> None:
    """Write params.yaml whole, unless its values are the same already."""
    dumped = {name: section.model_dump(mode="json") for name, section in sections.items()}
    try:
        same = dumped == read(paths.PARAMS)
    except ConfigError:  # there is none, or it cannot be read
        same = False
    if not same:
        files.write_text(paths.PARAMS, render_params(sections))


def _scalar(tag: str) -> Callable[[Any, Any], Any]:
    """Write a value as PyYAML, its reader, does: null, and 1.0e-09 with its dot."""

    def represent(representer: Any, value: Any) -> Any:
        words = yaml.safe_dump(value).split("\n")[0]
        return representer.represent_scalar(f"tag:yaml.org,2002:{tag}", words)

    return represent


def annotate(mapping: CommentedMap, settings: Config, *, indent: int) -> None:
    """Put each setting's documentation on the lines above it."""
    docstrings = read_docstrings(type(settings))
    for name in type(settings).model_fields:
        words = " ".join(docstrings.get(name, "").split())
        lines = textwrap.wrap(words, WIDTH - indent - 2)
        mapping.yaml_set_comment_before_after_key(name, before="\n".join(lines), indent=indent)
        value = getattr(settings, name)
        if isinstance(value, Config):
            annotate(mapping[name], value, indent=indent + 2)
        elif isinstance(value, dict):
            annotate_named(mapping[name], value, indent=indent + 2)


def annotate_named(mapping: CommentedMap, named: Mapping[str, Any], *, indent: int) -> None:
    """Annotate the first settings of each kind."""
    seen = set()
    for name, settings in named.items():
        if isinstance(settings, Config) and type(settings) not in seen:
            seen.add(type(settings))
            annotate(mapping[name], settings, indent=indent + 2)


def first_line(settings: Config) -> str:
    """Return the first line of a section's own documentation."""
    return (type(settings).__doc__ or "").strip().split("\n")[0]
