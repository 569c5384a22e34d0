"""Shared functions of training commands: settings, their help, checkpoints, sealed folders."""

import hashlib
import inspect
import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import numpy as np
import typer
from pydantic import TypeAdapter
from pydantic_core import to_json
from torch import nn

from nmt_core.base import config, files
from nmt_core.base.config import Config, list_kinds, read_docstrings
from nmt_core.base.errors import ConfigError, CorpusError
from nmt_core.base.files import decode_utf8
from nmt_core.base.progress import TrainingDisplay
from nmt_core.base.seal import MANIFEST, explain_unreadable, list_contents
from nmt_core.models.weights import save_weights
from nmt_core.text.tokenizer import Tokenizer
from nmt_core.text.vocabulary import Vocabulary

ConfigT = TypeVar("ConfigT", bound=Config)
CommandT = TypeVar("CommandT", bound=Callable[..., None])


def change_settings(
    default: ConfigT, settings: Sequence[str] | None, *, at: str, threads: int | None = None
) -> ConfigT:
    """Return the default settings with changes such as ``model.order=3``, and ``threads``.

    A value that is not JSON is a string. A new ``kind`` resets the settings in its section.

    Raises:
        ConfigError: if a change has no value, or a setting is unknown or of the wrong type.
    """
    values: Any = default.model_dump(mode="json")
    changes = [*(settings or ()), *([f"training.compute.threads={threads}"] if threads else [])]
    # kinds first, outer before inner
    changes.sort(key=lambda s: s.partition("=")[0].count(".") if ".kind=" in s else math.inf)
    for setting in changes:
        name, equals, text = setting.partition("=")
        *parents, last = name.split(".")
        node, value = values, text
        with suppress(ValueError):
            value = json.loads(text)
        if not (name and equals) or isinstance(value, dict):
            raise ConfigError(f"--set {setting} must have one value; write --set name=value")
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise ConfigError(f"--set {setting}: {parent} has no settings; set {parent} itself")
        if last == "kind" and node.get(last) != value:
            node.clear()
        node[last] = value
    return config.build(type(default), values, at=at)


Out = Annotated[
    Path, typer.Option(metavar="DIR", help="Output folder; an older model in it is replaced.")
]


def explain_settings(title: str, default: Config) -> Callable[[CommandT], CommandT]:
    """Return a decorator that adds settings with defaults and docstrings to a command's help."""

    def explain(command: CommandT) -> CommandT:
        settings = "\n".join(list_settings(default))
        command.__doc__ = f"{inspect.getdoc(command)}\n\n{title}\n\n{settings}"
        return command

    return explain


def list_settings(default: Config, *, at: str = "", indent: str = "") -> Iterator[str]:
    """Yield a line of Markdown for every setting; settings of a kind are indented below it."""
    docstrings = read_docstrings(type(default))
    for name, field in type(default).model_fields.items():
        value, kinds = getattr(default, name), list_kinds(field)
        if len(kinds) > 1:
            for kind in sorted(kinds, key=lambda kind: type(value) is not kind):
                tag = kind.model_fields["kind"].default
                yield f"{indent}- `{at}{name}.kind={tag}`: {_join(inspect.getdoc(kind))}"
                chosen = value if type(value) is kind else kind()
                yield from list_settings(chosen, at=f"{at}{name}.", indent=f"{indent}  ")
        elif kinds:
            yield from list_settings(value, at=f"{at}{name}.", indent=indent)
        elif name != "kind" or len(get_args(field.annotation)) > 1:
            text = value if isinstance(value, str) else to_json(value).decode()
            choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
            alternatives = " or ".join(f"`{choice}`" for choice in choices if choice != value)
            more = f" Or {alternatives}." if alternatives else ""
            yield f"{indent}- `{at}{name}={text}`: {_join(docstrings[name])}{more}"


def _join(docstring: str | None) -> str:
    return " ".join((docstring or "").split()).replace("``", "`")


def read_text(*paths: Path) -> str:
    """Return the concatenated text of files, each starting on a new line.

    Raises:
        CorpusError: if a file cannot be read, or is not UTF-8.
    """
    text = ""
    for path in paths:
        text += "\n" if text and not text.endswith("\n") else ""
        try:
            text += decode_utf8(path.read_bytes(), path)
        except OSError as error:
            raise CorpusError(f"{path} cannot be read ({error.strerror}); check its name") from None
    return text


@contextmanager
def keep_checkpoints(out: Path, *inputs: Any) -> Iterator[Path]:
    """Yield the folder of a training's checkpoints, next to the folder of its model.

    The name depends on the inputs, JSON values or arrays. The folder is removed at the end, but
    kept if training fails or is stopped.
    """
    digest = hashlib.sha256()
    for value in inputs:
        is_array = isinstance(value, np.ndarray)
        digest.update(value.tobytes() if is_array else json.dumps(value).encode())
        digest.update(f"{len(value)};".encode())
    folder = out.with_name(f"{out.name}.checkpoints") / digest.hexdigest()[:16]
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # checkpoints of other settings may exist
        folder.parent.rmdir()


def show_training(total_steps: int) -> TrainingDisplay:
    """Return a progress display on standard error."""
    return TrainingDisplay(lambda *, steps, **_: steps / total_steps)


def seal_model(
    folder: Path,
    file_format: str,
    weights: nn.Module,
    tokenizer: Tokenizer | None = None,
    **documents: Any,
) -> None:
    """Write weights, a tokenizer and JSON documents as a sealed folder, replacing an old one."""
    with files.whole_folder(folder) as part:
        save_weights(weights, part / "model.safetensors")
        for name, document in documents.items():
            files.write_json(part / f"{name}.json", document)
        if tokenizer is not None:
            tokenizer.save(part / "tokenizer")
        files.write_json(part / MANIFEST, {"format": file_format, "files": list_contents(part)})


def read_sealed(folder: Path, kind: type[ConfigT], *names: str) -> tuple[ConfigT, Vocabulary]:
    """Return the settings in the documents of a sealed model, and its vocabulary.

    Raises:
        BundleError: if a document cannot be read.
        ConfigError: if a setting is unknown.
    """
    with explain_unreadable(folder):
        documents = {name: files.read_json(folder / f"{name}.json") for name in names}
        tokens = TypeAdapter(list[str]).validate_python(files.read_json(folder / "vocabulary.json"))
        return config.build(kind, documents, at=folder.name), Vocabulary(tokens)
