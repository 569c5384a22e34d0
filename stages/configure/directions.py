"""Read LANGUAGES= of several directions, and find the languages of each corpus."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nmt_core.base.errors import ConfigError
from nmt_core.base.languages import Languages, read_directions

Settings = dict[str, Any]
"""Settings of a corpus, as in params.yaml."""

Find = Callable[[Mapping[str, Settings]], tuple[Languages, str]]
"""Returns the languages of corpora, and how they were found."""

ANY = "*"
"""Stands for the languages of all corpora, as in ``*-en``."""


def names_several(languages: str) -> bool:
    """Return whether LANGUAGES= names several directions."""
    return ANY in languages or len(read_directions(languages)) > 1 if languages else False


def name_languages(corpora: Mapping[str, Settings], find: Find) -> dict[str, Languages]:
    """Write the languages of each corpus into its settings, and return them.

    Raises:
        ConfigError: naming the corpus whose languages are unknown.
    """
    named = {}
    for name, settings in corpora.items():
        if settings.get("kind") == "text":
            continue
        own = settings.get("languages")
        try:
            pair = read_directions(str(own))[0] if own else find({name: settings})[0]
        except ConfigError:
            raise ConfigError(
                f"the languages of {name} are unknown; with several directions, name them in a "
                f"project file: corpora.{name}.languages: de-en"
            ) from None
        named[name] = pair
        settings["languages"] = str(pair)
    return named


def choose_directions(languages: str, pairs: Iterable[Languages]) -> list[Languages]:
    """Return the directions of LANGUAGES=; ``*-en`` takes the languages of the corpora.

    Raises:
        ConfigError: if a corpus does not have the language.
    """
    if ANY not in languages:
        return [*read_directions(languages)]
    chosen: list[Languages] = []
    for part in languages.split():
        if ANY not in part:
            chosen += read_directions(part)
            continue
        source, _, target = part.rpartition("-") if part.startswith(ANY) else part.partition("-")
        for pair in pairs:
            both = [
                each
                for each in (pair, pair.reversed)
                if source in (ANY, each.source) and target in (ANY, each.target)
            ]
            if not both:
                raise ConfigError(
                    f"LANGUAGES={part} does not match the corpus of {pair}; write *-{pair.target}"
                )
            chosen += both
    return [*dict.fromkeys(chosen)]


def add_held_out_sets(
    corpora: Mapping[str, Settings], split: str, sets: Sequence[Settings], find: Find
) -> None:
    """Add validation or test sets to the first corpus of files in the same languages.

    Raises:
        ConfigError: if no corpus has the languages of a set.
    """
    for number, text in enumerate(sets, start=1):
        pair, _ = find({f"{split} {number}": text})
        for settings in corpora.values():
            files = settings.get("kind") == "files" and split not in settings
            own = read_directions(settings["languages"])[0]
            if files and {*own.codes} == {*pair.codes}:
                settings[split] = swap_sides(text["train"]) if own != pair else text["train"]
                break
        else:
            raise ConfigError(f"no corpus of files in TEXT= is in the languages of {split} {pair}")


def swap_sides(files: Settings) -> Settings:
    """Return two aligned files in the opposite order; a file with both sides is unchanged."""
    if not files.get("target"):
        return files
    return {**files, "source": files["target"], "target": files["source"]}
