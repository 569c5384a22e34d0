"""Compose params.yaml from the groups in conf/, check it, and omit default values."""

import copy
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml

from nmt_core.base import files
from nmt_core.base.config import Config
from nmt_core.base.errors import ConfigError, suggest
from nmt_core.corpora.fetch.address import redact
from nmt_core.corpora.fetch.initial_model import ChampionModel
from stages import paths
from stages.configure import auto
from stages.configure.sections import check_all
from stages.params import Sections
from stages.runtime.params_file import dump_yaml

LOGGER = logging.getLogger(__name__)

HEADING = """\
# yaml-language-server: $schema=docs/settings.schema.json
# Settings that differ from their defaults. docs/settings.md lists all settings.
"""

QUOTED = """and values with characters beyond a-z0-9./:_- in quotes within quotes: "a.b='c d'\""""
"""Advice on values with characters that Hydra or the shell would interpret."""


def check_choices(choices: list[str], conf: Path) -> None:
    """Raise a ``ConfigError`` if a choice ``group=name`` is not a preset in the folder ``conf``."""
    for group, _, name in (choice.partition("=") for choice in choices):
        names = sorted(file.stem for file in (conf / group).glob("*.yaml"))
        names += [auto.AUTO] if group in auto.GROUPS else []
        if name not in names:
            raise ConfigError(f"conf/: there is no {group}={name}; {suggest(name, names)}")


def overlay(values: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Merge changes into settings, in place; a mapping with a ``kind`` replaces the earlier one."""
    for name, value in changes.items():
        present = values.get(name)
        if isinstance(value, dict) and isinstance(present, dict) and "kind" not in value:
            overlay(present, value)
        else:
            values[name] = value


def overlay_group(values: dict[str, Any], group: str, names: Sequence[str]) -> None:
    """Merge presets of a group into settings, in place and in order.

    Their ``defaults`` are ignored, so base presets must be named, too.
    """
    for name in names:
        path = paths.CONF / group / f"{name}.yaml"
        preset = yaml.safe_load(path.read_text(encoding="utf-8"))
        preset.pop("defaults", None)
        overlay(values, preset)


def apply_changes(values: dict[str, Any], settings: list[str]) -> dict[str, Any]:
    """Return settings with some changed (``a.b=1``), added (``+a.b=1``) or removed (``~a.b``).

    Raises:
        ConfigError: if a change cannot be parsed, or sets a corpus twice.
    """
    if not settings:
        return values
    from hydra.core.override_parser.overrides_parser import OverridesParser  # takes half a second
    from hydra.errors import HydraException

    fresh = copy.deepcopy(values)
    try:
        overrides = OverridesParser.create().parse_overrides(settings)
    except HydraException as error:
        reason = redact(str(error)).split("\n")[0]
        raise ConfigError(f"{reason}; write settings as section.key=value, {QUOTED}") from None
    corpora = set[str]()
    for override in overrides:
        if override.is_sweep_override():
            raise ConfigError(
                f"{override.input_line} is several values; write a list as "
                f"{override.key_or_group}=[a,b], {QUOTED}"
            )
        *parents, last = override.key_or_group.split(".")
        if parents == ["download", "corpora"]:
            if last in corpora:  # the second would replace the first
                raise ConfigError(
                    f"{override.key_or_group} is set twice; give one of the two another name"
                )
            corpora.add(last)
        node = fresh
        for name in parents:
            inner = node.get(name)
            node[name] = node = inner if isinstance(inner, dict) else {}
        if override.is_delete():
            node.pop(last, None)
        else:
            node[last] = override.value()
    return fresh


def compose_groups(overrides: list[str], *, conf: Path = paths.CONF) -> dict[str, Any]:
    """Return the settings that Hydra composes from the groups in ``conf`` and overrides.

    Raises:
        ConfigError: if a preset or an override is unknown.
    """
    check_choices(
        [override for override in overrides if (conf / override.partition("=")[0]).is_dir()], conf
    )
    from hydra import compose, initialize_config_dir  # takes half a second
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with initialize_config_dir(str(conf.resolve()), version_base=None):
            composition = compose("config", overrides=overrides)
        values = OmegaConf.to_container(composition, resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        groups = ", ".join(
            f"{folder.name}={'|'.join(sorted(file.stem for file in folder.glob('*.yaml')))}"
            for folder in sorted(conf.iterdir())
            if folder.is_dir()
        )
        reason = " ".join(redact(str(error)).split("\n")[0].split()).rstrip(".")
        raise ConfigError(f"conf/: {reason}; groups are {groups}") from None
    assert isinstance(values, dict)
    return {str(name): value for name, value in values.items()}


def pin_all(sections: Sections) -> Sections:
    """Return the sections with the digests of the user's own files, so that DVC sees a change.

    Raises:
        ConfigError: if the glossary cannot be read, or a line of it is wrong.
        CorpusError: if a file cannot be read.
        NmtError: if a slice of ``promotion.slices`` does not exist for these languages.
    """
    download, export, promotion = sections["download"], sections["export"], sections["promotion"]
    if export.glossary or promotion.slices:
        from nmt_core.evaluation.gate import find_configured_slice
        from nmt_core.evaluation.metric import SlicedText
        from nmt_core.literals.glossary import Glossary

        languages = download.languages.codes
        if export.glossary:
            Glossary.load(export.glossary, languages)
        for name in promotion.slices:
            find_configured_slice(name, SlicedText([], [], languages))
    return {**sections, "download": download.pinned(), "export": export.pinned()}


def refresh_pins(sections: Sections) -> tuple[Sections, list[str]]:
    """Return the sections with updated digests, and a message for each changed digest.

    If training starts from the champion, its digest is updated, too. If MLflow does not answer,
    training starts from the same model as before.

    Raises:
        CorpusError: if one of the user's own files cannot be read.
    """
    fresh = pin_all(sections)
    before, after = (s["download"].pins() | s["export"].pins() for s in (sections, fresh))
    changes = [f"{path} changed" for path, digest in after.items() if digest != before[path]]
    download = fresh["download"]
    if isinstance(start := download.initial_model, ChampionModel):
        from stages.registry.exported import model_name  # rarely needed
        from stages.registry.registry import Registry, RegistryAwayError

        registry = Registry(model_name(download.languages))
        try:
            champion = registry.find_initial("")
        except RegistryAwayError as error:
            LOGGER.warning("%s; training starts from the same model as before", error)
            return fresh, changes
        if champion.digest != start.sha256:
            changes.append(f"training starts from version {champion.number}, the champion")
            start = start.model_copy(update={"sha256": champion.digest})
            fresh["download"] = download.model_copy(update={"initial_model": start})
    return fresh, changes


def find_changes(settings: Config, *, reference: Config | None = None) -> dict[str, Any]:
    """Return the settings that differ from a reference, as values of YAML.

    Without a reference, these are all discriminators and what differs from the defaults.
    """
    changes = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        default = field.get_default(call_default_factory=True)
        is_discriminator = (
            get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1
        )
        if reference:
            required, default = False, getattr(reference, name)
        else:
            required = field.is_required() or is_discriminator
        if required or value != default:
            changes[name] = convert_value(value)
    return changes


def convert_value(value: Any) -> Any:
    """Return a value of settings as a value of YAML."""
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


def render_params(sections: Sections) -> str:
    """Return the text of params.yaml."""
    changes = convert_value(sections)
    download = sections["download"]
    for name, corpus in download.corpora.items():
        if corpus.filter:  # it inherits from download.filter
            own = find_changes(corpus.filter, reference=download.filter)
            changes["download"]["corpora"][name]["filter"] = own
    return HEADING + dump_yaml({name: values for name, values in changes.items() if values})


def write_params(sections: Sections) -> None:
    """Write params.yaml atomically, unless its values are the same already."""
    try:
        same = check_all() == sections
    except ConfigError:  # params.yaml is missing or invalid
        same = False
    if not same:
        files.write_text(paths.PARAMS, render_params(sections))
