"""What makes a training another one: settings, data, code, and nothing else."""

import ast
import dis
import signal
from contextlib import nullcontext
from functools import cache
from types import CodeType, SimpleNamespace

import pytest

from nmt_core.base.interrupt import Interrupted
from nmt_core.base.languages import Languages
from nmt_core.training.distributed import ALONE
from stages import paths, train
from stages.configure import compose
from stages.configure.sections import build_all
from stages.runtime import fingerprint
from stages.runtime.fingerprint import compute_fingerprint, hash_json, parse_code
from tests.support.projects import PROJECT

DEPENDENCIES = ("code/inner/model.py", "data/shards/0.npy", "stage.py")
CODE = '''"""What it is."""

RATE = 0.5
"""What it is for."""


def halve(values):
    """Halve them."""
    for value in values:
        assert value
        yield value * RATE
'''
ALL_CODE = sorted(
    path for room in ("nmt_core", "stages") for path in (PROJECT / room).rglob("*.py")
)


@pytest.fixture
def key(tmp_path, monkeypatch):
    """The fingerprint of a stage that depends on two folders and a file."""
    monkeypatch.chdir(tmp_path)
    for name in (*DEPENDENCIES, "other.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name = {name!r}\n")
    pipeline = tmp_path / "dvc.yaml"
    pipeline.write_text(
        "stages:\n"
        "  train: {deps: [stage.py, code, data/shards]}\n"
        "  other: {deps: [other.py, code]}\n"
    )
    return lambda stage="train", seed=1, target="en", steps=10: compute_fingerprint(
        [{"seed": seed}, {"target": target}], stage, budget={"steps": steps}, pipeline=pipeline
    )


@pytest.mark.parametrize("name", DEPENDENCIES)
def test_whatever_a_stage_depends_on_makes_another_training(key, tmp_path, name):
    before = key()
    path = tmp_path / name
    path.write_text(f"name = {name!r} + ' '\n")
    changed = key()
    path.rename(path.with_name("renamed"))

    assert len({before, changed, key()} if name != "stage.py" else {before, changed, ""}) == 3


def test_settings_and_stages_make_another_training(key):
    assert len({key(), key(seed=2), key(target="fr"), key("other"), key(steps=20)}) == 5


def test_the_order_of_keys_makes_no_other_training():
    settings = {"seed": 1, "model": {"width": 2, "heads": 1}}
    turned = {"model": {"heads": 1, "width": 2}, "seed": 1}

    assert hash_json([settings]) == hash_json([turned])
    assert hash_json([1, 2]) != hash_json([2, 1])


def test_trainings_that_differ_in_their_budget_only_have_their_course_in_common(key):
    courses = {key().partition("-")[0], key(steps=20).partition("-")[0]}

    assert len(courses) == 1
    assert courses != {key(seed=2).partition("-")[0]}


def test_a_new_file_of_code_makes_another_training(key, tmp_path):
    before = key()
    (tmp_path / "code/inner/new.py").touch()

    assert before != key()


def test_nothing_else_does(key, tmp_path):
    before = key()
    (tmp_path / "other.py").write_text("changed")
    (tmp_path / "code/__pycache__").mkdir()
    (tmp_path / "code/__pycache__/trainer.cpython-311.pyc").touch()
    (tmp_path / "stage.py").touch()

    assert before == key()


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("    for", "    # one by one\n    for", True),
        ('"""Halve them."""', '"""Halve."""\n    "all of them"', True),
        ('    """Halve them."""\n', "", True),
        ('"""What it is."""\n', "", True),
        ('"""What it is for."""\n', "", True),
        ("value * RATE", "(value*RATE)", True),
        ("\n\n\n", "\n", True),
        ("0.5", "0.25", False),
        ("0.5", "'0.5'", False),
        ("value * RATE", "RATE * value", False),
        ("        assert value\n", "", False),
        ("        yield", "    yield", False),
        ('    """Halve them."""\n', "    print('Halve them.')\n", False),
    ],
)
def test_what_code_does_makes_another_training_and_words_and_spaces_do_not(
    key, tmp_path, old, new, same
):
    assert old in CODE
    path = tmp_path / "stage.py"
    path.write_text(CODE)
    before = key()
    path.write_text(CODE.replace(old, new))

    assert (before == key()) is same


@pytest.mark.parametrize(
    "block",
    [
        "class C:\n async def f():\n  {}",
        "while f():\n {0}\nelse:\n {0}",
        "try:\n {0}\nexcept E:\n {0}\nelse:\n {0}\nfinally:\n {0}",
        "match f():\n case 1:\n  {}",
    ],
)
def test_words_count_in_no_block(block):
    spoken, silent = (block.format(code).encode() for code in ("'It runs.'; run()", "run()"))

    assert ast.dump(parse_code(spoken)) == ast.dump(parse_code(silent))


def test_what_is_no_python_counts_byte_by_byte(key, tmp_path):
    found = set()
    for text in ("def", "def ", "\0"):
        (tmp_path / "stage.py").write_text(text)
        found.add(key())

    assert len(found) == 3


def test_python_compiles_what_is_counted_to_the_same():
    """To what it runs without docstrings: nothing but words is left out."""
    for path in ALL_CODE[::3]:
        source = path.read_bytes()
        assert operations(parse_code(source)) == operations(ast.parse(source)), path


def operations(tree):
    """What Python does without docstrings, in order, but for how far it jumps."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    nothing = {dis.opmap[name] for name in ("NOP", "CACHE", "EXTENDED_ARG")}

    def of(value):
        if not isinstance(value, CodeType):
            return value
        found, longer = [], 0
        for opcode, low in zip(value.co_code[::2], value.co_code[1::2], strict=True):
            number = longer << 8 | low
            longer = number if opcode == dis.EXTENDED_ARG else 0
            if opcode not in nothing:
                constant = opcode in dis.hasconst
                told = of(value.co_consts[number]) if constant else number
                found.append((opcode, None if opcode in jumps else told))
        return found, value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars

    return of(compile(ast.fix_missing_locations(tree), "file", "exec", optimize=2))


@pytest.fixture(scope="module")
def params():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "hash_code", cache(fingerprint.hash_code))  # of all code: once
        yield build_all(compose.compose_groups(["data=demo"]), source="conf")["train"]


def test_settings_decide_the_course_and_the_budget_the_end(params):
    languages = Languages(source="de", target="en")
    changes = [{}, {"seed": 9}, {"budget": params.budget.model_copy(update={"steps": 7})}]
    found = [train.identify(params.model_copy(update=change), languages) for change in changes]
    (course, end), (another_course, same_end), (same_course, another_end) = (
        key.split("-") for key in found
    )

    assert (course, end) == (same_course, same_end)
    assert course != another_course
    assert end != another_end


def test_another_target_language_is_another_training(params, monkeypatch):
    """Its BLEU is counted in other words, so that another validation may be the best."""
    keys, told = [], []

    def run(*_, languages, checkpoints, **__):
        keys.append(checkpoints.name)
        told.append(languages.target)
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(train, "track_training", lambda *_: nullcontext())
    monkeypatch.setattr(train.files, "read_json", lambda path: {paths.TAGS: [""]}[path])
    monkeypatch.setattr(train, "run", run)
    for target in ("en", "ja"):
        download = SimpleNamespace(languages=Languages(source="de", target=target), parallel={})
        monkeypatch.setattr(train, "load", lambda *_, section=download: section)
        with pytest.raises(SystemExit):
            train.run_rank(params, ALONE)

    assert told == ["en", "ja"]
    assert len(set(keys)) == 2
