import dataclasses
import json
import os
import shutil
import socket
import stat
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from nmt_core.base import files
from nmt_core.base.errors import BundleError, ConfigError, NmtError
from nmt_core.base.random import derive_seed
from nmt_core.base.seal import (
    FORMAT,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    digest_bundle,
    list_contents,
    read_manifest,
    require_replaceable,
    verify_bundle,
)
from nmt_core.models.settings import build_model
from nmt_core.search.pytorch import PyTorchEngine
from nmt_core.text import Subwords
from nmt_core.text.side import Side
from nmt_core.text.subwords import SubwordConfig
from nmt_core.translation import trial
from nmt_core.translation.translator import Translator
from nmt_core.translation.trial import MAX_CHANGED_GOLDEN, check_golden, find_problem
from tests.support.sealing import reseal
from tests.support.tiny import LINES, MODEL, export, subwords, tiny_translator

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
EVERY_FILE = [
    "README.md",
    "corpora.json",
    "decoding.json",
    "golden.json",
    "model.json",
    "model.safetensors",
    "sbom.cdx.json",
    "tokenizer/source/sentencepiece.model",
    "tokenizer/source/tokenizer.json",
    "tokenizer/target/sentencepiece.model",
    "tokenizer/target/tokenizer.json",
    "vocabulary/source.txt",
    "vocabulary/target.txt",
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return export(tmp_path_factory.mktemp("models") / "export")


@pytest.fixture
def bundle(exported, tmp_path):
    """A copy that a test may damage."""
    return Path(shutil.copytree(exported, tmp_path / "export"))


def test_a_loaded_model_translates_like_the_saved_one(bundle):
    original, loaded = tiny_translator(), Translator.load(bundle)

    assert original.search(LINES, n_best=3) == loaded.search(LINES, n_best=3)
    own = tiny_translator(max_source_tokens=9, batch_tokens=50)
    assert Translator.load(export(bundle.parent / "own", translator=own)).config == own.config


def test_each_language_keeps_its_own_tokens(tmp_path):
    words = [f"{one}{other}ata" for one in "bdfgklmnprst" for other in "aeiou"]
    ours = Subwords.train(words, SubwordConfig(vocab_size=310))
    shape = MODEL.model_copy(update={"tie": "none"})
    sizes = {"source_size": len(ours.vocabulary), "target_size": len(subwords().vocabulary)}
    original = dataclasses.replace(
        tiny_translator(),
        engine=PyTorchEngine(build_model(shape, **sizes), sizes["target_size"]),
        source=Side(ours, ours.vocabulary),
    )
    loaded = Translator.load(export(tmp_path / "a", translator=original, model=shape))

    assert ours.vocabulary.tokens == loaded.source.vocabulary.tokens
    assert subwords().vocabulary.tokens == loaded.target.vocabulary.tokens
    assert ours.encode("bata data") == loaded.source.tokens("bata data")
    assert subwords().encode("bata data") == loaded.target.tokens("bata data")
    assert original.search(LINES, n_best=1) == loaded.search(LINES, n_best=1)


def test_equal_models_give_equal_bytes(tmp_path):
    torch.manual_seed(derive_seed(1))
    one = export(tmp_path / "one")
    torch.manual_seed(derive_seed(2))
    two = export(tmp_path / "two")

    assert list_contents(one) == list_contents(two)
    assert (one / MANIFEST).read_bytes() == (two / MANIFEST).read_bytes()
    assert all(path.stat().st_mode & stat.S_IROTH for path in [one, *one.rglob("*")])


def test_tied_weights_are_stored_once(bundle):
    model = Translator.load(bundle).full.model
    with safe_open(bundle / "model.safetensors", "pt") as file:
        names = set(file.keys())

    assert set(dict(model.named_parameters())) <= names
    assert model.output.weight is model.source_embedding.table.weight
    assert not {"output.weight", "target_embedding.table.weight"} & names


def alter(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("names", "damage", "told"),
    [
        (EVERY_FILE, alter, "was altered"),
        (EVERY_FILE, Path.unlink, "is missing"),
        (["golden.json"], alter, "was altered"),
        (["vocabulary/target.txt"], Path.unlink, "is missing"),
        ([".hidden", "a.pkl", "tokenizer/a.json"], Path.touch, "was added"),
    ],
)
def test_altered_missing_and_additional_files_are_refused(bundle, names, damage, told):
    for name in names:
        damage(bundle / name)

    every = ", ".join(f"{name} {told}" for name in names)
    with pytest.raises(BundleError, match=f": {every}; download or export it again"):
        Translator.load(bundle)


def test_a_folder_without_a_manifest_is_no_model(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(BundleError, match=r"is not an exported model"):
            Translator.load(folder)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"format": 3}', '{"format": 3, "files": 3}', "[" * 100_000),
        '{"format": 3, "files": {"model.json": 3}}',
        '{"format": 3, "files": {"model.json": {"sha256": "0"}}}',
    ],
)
def test_a_damaged_manifest_is_refused(bundle, text):
    (bundle / MANIFEST).write_text(text)

    with pytest.raises(BundleError, match=r"manifest.json was altered"):
        Translator.load(bundle)


def test_another_format_says_what_to_do(bundle):
    files.write_json(bundle / MANIFEST, {"format": 1})

    with pytest.raises(BundleError, match=r"has format 1, .* reads format 3"):
        Translator.load(bundle)


@pytest.mark.parametrize(
    ("kind", "wanted", "named"),
    [
        ("language model 1", FORMAT, "contains a language model; .* of a translator"),
        (FORMAT, "classifier 2", "contains a translator; .* of a classifier"),
        ("classifier 1", "classifier 2", "has format 'classifier 1'"),
    ],
)
def test_another_kind_of_model_is_refused(bundle, kind, wanted, named):
    files.write_json(bundle / MANIFEST, {"format": kind, "files": {}})
    assert read_manifest(bundle, expected=kind)["files"] == {}
    with pytest.raises(BundleError, match=named):
        read_manifest(bundle, expected=wanted)


NESTED = b"[" * 100_000
HUGE_HEADER = (2**63 - 1).to_bytes(8, "little") + b"{}"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("vocabulary/source.txt", b"\xff\xfe", "source.txt cannot be read"),
        ("vocabulary/target.txt", b"<pad>\n<s>\n", "a vocabulary must begin with"),
        ("tokenizer/source/sentencepiece.model", b"", "empty tokenizer"),
        ("tokenizer/source/sentencepiece.model", b"rubbish", "source cannot be read"),
        ("tokenizer/target/sentencepiece.model", bytes(500), "target cannot be read"),
        ("tokenizer/target/tokenizer.json", b"[]", "contains no tokenizer"),
        ("tokenizer/target/tokenizer.json", b'{"kind": 3}', "unknown kind '3'"),
        ("tokenizer/target/tokenizer.json", NESTED, "nested too deeply"),
        ("model.json", b"[]", "model.json cannot be read"),
        ("model.json", b"\xff", "model.json cannot be read"),
        ("model.json", NESTED, "model.json is nested too deeply"),
        *(
            ("model.json", json.dumps(MODEL.model_dump() | {name: size}).encode(), f"model.{name}")
            for name, size in (("width", 10**9), ("encoder_layers", 100_000), ("heads", 10**6))
        ),
        ("decoding.json", b"null", "decoding"),
        ("decoding.json", b'"beam"', "decoding.json cannot be read"),
        ("decoding.json", NESTED, "nested too deeply"),
        ("decoding.json", b'{"beam": {"beam_size": 1000000}}', "decoding.beam.beam_size must be"),
        ("decoding.json", b'{"beam": {"max_length": 1000000000}}', "decoding.beam.max_length"),
        ("decoding.json", b'{"batch_tokens": 1000000000}', "decoding.batch_tokens must be"),
        ("model.safetensors", b"", "model.safetensors cannot be read"),
        ("model.safetensors", HUGE_HEADER, "model.safetensors cannot be read"),
        ("golden.json", b"[]", "has no golden sentences"),
        ("golden.json", b'{"a": 1}', "golden.json cannot be read"),
        ("golden.json", b'[{"source": 1, "text": "", "ids": []}]', "golden.json cannot be read"),
        ("golden.json", NESTED, "golden.json is nested too deeply"),
        *(
            (name, None, "No such file|Not found")
            for name in EVERY_FILE
            if name not in {"README.md", "corpora.json", "sbom.cdx.json"}
        ),
    ],
)
def test_malformed_files_give_an_error_of_one_sentence(bundle, name, content, told):
    reseal(bundle, name, content)

    with pytest.raises(NmtError, match=told) as error:
        check_golden(Translator.load(bundle), bundle)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    "more",
    [
        {"decoder_layers": 2},
        {"encoder_layers": 200},
        {"width": 65_536, "feed_forward_width": 1_000_000},
        {"positions": "learned", "max_positions": 1_000_000},
    ],
)
def test_oversized_settings_are_refused_before_allocation(bundle, more, monkeypatch):
    places = []

    def build(*arguments, **named):
        places.append(torch.get_default_device().type)
        return build_model(*arguments, **named)

    monkeypatch.setattr("nmt_core.search.pytorch.build_model", build)
    config = files.read_json(bundle / "model.json") | more
    reseal(bundle, "model.json", json.dumps(config).encode())

    with pytest.raises(BundleError, match="does not match its model"):
        Translator.load(bundle)
    assert ["meta"] == places


def test_a_bundle_has_only_files_and_folders(bundle, tmp_path):
    """A link can change its target, and reading a pipe can last for ever."""
    (bundle / "model.json").rename(tmp_path / "elsewhere.json")
    (bundle / "model.json").symlink_to(tmp_path / "elsewhere.json")
    (bundle / "notes").mkdir()
    (bundle / "etc").symlink_to("/etc")
    (bundle / "dead").symlink_to("nowhere")
    os.mkfifo(bundle / "tokenizer" / "pipe")

    with pytest.raises(BundleError) as error:
        verify_bundle(bundle)
    for told in (
        "model.json is a link",
        "notes is a folder that was added",
        "etc is a link",
        "dead is a link",
        "tokenizer/pipe is neither a file nor a folder",
    ):
        assert told in str(error.value)
    assert "missing" not in str(error.value)


@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to("kept.json"), Path.mkdir, os.mkfifo], ids=range(3)
)
def test_a_manifest_that_is_no_file_is_refused(bundle, make):
    """Opening a pipe would wait for a writer for ever."""
    (bundle / MANIFEST).rename(bundle / "kept.json")
    make(bundle / MANIFEST)

    for look in (digest_bundle, verify_bundle):
        with pytest.raises(BundleError, match=r"manifest.json is not a regular file; .*cp -rL"):
            look(bundle)


def test_an_endless_manifest_is_not_read(bundle):
    content = (bundle / MANIFEST).read_bytes()
    (bundle / MANIFEST).write_bytes(content.ljust(MAX_MANIFEST_BYTES))
    verify_bundle(bundle)

    (bundle / MANIFEST).write_bytes(content.ljust(MAX_MANIFEST_BYTES + 1))
    for look in (digest_bundle, verify_bundle):
        with pytest.raises(BundleError, match=r"manifest.json was altered"):
            look(bundle)


def test_wrong_settings_are_found_at_export(bundle):
    """The weights fit, but the model is another; the old folder stays unchanged."""
    before = list_contents(bundle)
    other = MODEL.model_copy(update={"scale_embeddings": False})

    with pytest.raises(BundleError, match="model_config does not match"):
        export(bundle, model=other)
    assert before == list_contents(bundle)
    assert [bundle] == list(bundle.parent.iterdir())


def test_golden_sentences_reveal_another_model(bundle):
    translator = Translator.load(bundle)

    assert check_golden(translator, bundle) == []

    with torch.no_grad():
        translator.full.model.output.weight.mul_(-1)
    mismatches = check_golden(translator, bundle)

    told = {one["source"]: one["text"] for one in files.read_json(bundle / "golden.json")}
    assert {source: before for source, before, _ in mismatches} == {
        line: told[line] for line in LINES if line
    }
    assert all(now == translator.translate([source])[0] for source, _, now in mismatches)
    assert all(before != now for _, before, now in mismatches)


def change_golden(folder, number):
    """Seal other translations of a number of golden sentences."""
    kept = files.read_json(folder / "golden.json")
    for answer in kept[:number]:
        answer["text"] += " and more"
    reseal(folder, "golden.json", json.dumps(kept).encode())


@pytest.mark.parametrize("changed", [0, MAX_CHANGED_GOLDEN, MAX_CHANGED_GOLDEN + 1])
def test_a_few_golden_sentences_may_differ(bundle, changed):
    change_golden(bundle, changed)
    problem = find_problem(bundle, engine="auto", device="auto", threads=1)
    assert ("translates 3 golden sentences differently" in problem) == (
        changed > MAX_CHANGED_GOLDEN
    )


def test_model_replaced_after_its_trial_is_refused(bundle, monkeypatch):
    monkeypatch.setattr(
        trial, "run_trial", lambda *_: change_golden(bundle, MAX_CHANGED_GOLDEN) or ""
    )

    with pytest.raises(BundleError, match="was replaced while it was loaded"):
        trial.load_tried(bundle)


def test_a_missing_device_is_named(bundle):
    for name in ("toaster", "cuda:77"):
        with pytest.raises(ConfigError, match=f"no device '{name}' here"):
            Translator.load(bundle, device=name)


def test_translating_needs_no_network_and_writes_nothing(bundle, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    files_and_folders = [bundle, *bundle.rglob("*")]
    for path in files_and_folders:
        path.chmod(path.stat().st_mode & ~WRITABLE)
    before = list_contents(bundle)
    try:
        assert len(Translator.load(bundle).translate(LINES)) == len(LINES)
        assert list_contents(bundle) == before
    finally:
        for path in files_and_folders:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def seal_files(folder, known):
    (folder / "weights").mkdir(parents=True)
    (folder / "weights" / "a").write_text("a")
    files.write_json(folder / MANIFEST, {"format": known, "files": list_contents(folder)})
    return folder


def test_only_empty_folders_and_similar_models_are_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    seal_files(tmp_path / "older", "classifier 1")

    for name in ("new", "new/deep", "empty", "older"):
        require_replaceable(tmp_path / name, by="classifier 2")
    assert (tmp_path / "older" / MANIFEST).exists()


@pytest.mark.parametrize("known", ["language model 2", FORMAT, "classifier"])
def test_other_content_is_not_replaced(tmp_path, known):
    """Neither a model of another kind, nor files beside a model, nor other folders."""
    other = seal_files(tmp_path / "other", known)
    older = seal_files(tmp_path / "older", "classifier 2")
    (older / "notes").mkdir()
    (older / "notes" / "mine.txt").touch()
    damaged = seal_files(tmp_path / "damaged", "classifier 2")
    (damaged / MANIFEST).write_text("{")
    (tmp_path / "file").touch()
    for folder in (other, older, damaged, tmp_path / "file", tmp_path, Path("/")):
        with pytest.raises(
            ConfigError, match=f"^{folder} contains other files than one classifier"
        ):
            require_replaceable(folder, by="classifier 2")
