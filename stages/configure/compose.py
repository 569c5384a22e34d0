"""Compose params.yaml from the groups in conf/, check it, and write what is not default."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml

from nmt_core.base import config, files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, NmtError, suggest
from nmt_core.training.schedule import Budget
from stages import paths
from stages.configure import auto
from stages.configure.sections import build_all, check_all
from stages.configure.text_size import fit_settings
from stages.params import SECTIONS, DownloadParams, ExportParams, PromotionParams
from stages.runtime.params_file import dump_yaml, read

HEADING = """\
# yaml-language-server: $schema=docs/settings.schema.json
# What differs from the defaults, which docs/settings.md lists with all settings.
"""


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
    if export.glossary or promotion.slices:
        from nmt_core.evaluation.gate import find_judged_slice
        from nmt_core.evaluation.metric import SlicedText
        from nmt_core.literals.glossary import Glossary

        languages = download.languages.codes
        if export.glossary:
            Glossary.load(export.glossary, languages)
        for name in promotion.slices:
            find_judged_slice(name, SlicedText([], [], languages))
    return {**sections, "download": download.pinned(), "export": export.pinned()}


def find_changes(settings: Config, *, reference: Config | None = None) -> dict[str, Any]:
    """Return what differs from other settings of the class, for YAML; tags are always there.

    Args:
        settings: such as a section.
        reference: the other ones; the defaults if there are none.
    """
    changes = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        default = field.get_default(call_default_factory=True)
        is_tag = get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
        if reference:
            required, default = False, getattr(reference, name)
        else:
            required = field.is_required() or is_tag
        if required or value != default:
            changes[name] = convert_value(value)
    return changes


def convert_value(value: Any) -> Any:
    """Return a value as YAML holds it."""
    match value:
        case Config():
            return find_changes(value)
        case dict():
            return {name: convert_value(item) for name, item in value.items()}
        case list() | tuple():
            return [convert_value(item) for item in value]
        case Path():
            return str(value)
    return value


def render_params(sections: Mapping[str, Config]) -> str:
    """Return the text of params.yaml."""
    changes = {name: find_changes(section) for name, section in sections.items()}
    download = sections["download"]
    assert isinstance(download, DownloadParams)
    for name, corpus in download.corpora.items():
        if corpus.filter:  # which takes what it leaves out from those of all
            own = find_changes(corpus.filter, reference=download.filter)
            changes["download"]["corpora"][name]["filter"] = own
    return HEADING + dump_yaml({name: values for name, values in changes.items() if values})


def write_params(sections: Mapping[str, Config]) -> None:
    """Write params.yaml whole, unless its values are the same already."""
    try:
        same = check_all() == sections
    except ConfigError:  # there is none, or it is wrong
        same = False
    if not same:
        files.write_text(paths.PARAMS, render_params(sections))
