"""The harness of `make mutants` notices which tests notice; what it tries is well formed."""

import ast
import json
import random
import subprocess
from pathlib import Path

import pytest

from tests.mutation.__main__ import tabulate, try_all
from tests.mutation.covering import ALL_TESTS, Records, limit
from tests.mutation.drawing import Mutant, Source, draw, list_faults, make_fault
from tests.mutation.trial import KILLED, SURVIVED, TIMEOUT, Bench

TOP = Path(__file__).parents[2]
CODE = '''"""A room."""

LIMIT: int = 3  # 3


def count(values: list[int], most: int = LIMIT) -> int:
    """Count."""
    total = 0
    while total < len(values):
        total += 1
    return min(total, most)
'''
NO_TEST = "def test_it():\n    from nmt_core.room.code import count\n    count([1, 2])\n"
GOOD_TEST = """
from nmt_core.room.code import count

def test_it():
    assert [0, 2, 3, 3] == [count([1] * n) for n in (0, 2, 3, 4)]
"""


@pytest.fixture
def little(tmp_path):
    """A project with one file of code."""
    for file in ("nmt_core/room/code.py", "tests/unit/room/test_code.py"):
        (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / "nmt_core/__init__.py").touch()  # or that of an editable installation is taken
    (tmp_path / "nmt_core/room/code.py").write_text(CODE)
    options = '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\npythonpath = ["."]\n'
    (tmp_path / "pyproject.toml").write_text(options)
    (tmp_path / ".gitignore").write_text("/.mutants_cache/\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def change(old, new):
    return make_fault_of(CODE.replace(old, new), CODE[: CODE.index(old)].count("\n") + 1)


def make_fault_of(code, line):
    return Mutant("nmt_core/room/code.py", code, code, line, line)


ENDLESS = change("total += 1", "total += 0")
WRONG = change("min(total, most)", "max(total, most)")
LARGER = change("LIMIT: int = 3", "LIMIT: int = 4")


def outcomes(top, *mutants):
    return [outcome for _, outcome, _ in try_all(top, list(mutants), cores=1, libraries=())]


@pytest.mark.slow
def test_a_test_that_asserts_nothing_lets_faults_live_and_one_that_does_kills_them(little):
    test = little / "tests/unit/room/test_code.py"
    test.write_text(NO_TEST)
    assert [SURVIVED, SURVIVED] == outcomes(little, WRONG, LARGER)
    test.write_text(GOOD_TEST)
    assert [KILLED, KILLED, SURVIVED] == outcomes(little, WRONG, LARGER, change("Count", "Sum"))
    assert CODE == (little / "nmt_core/room/code.py").read_text()


@pytest.mark.slow
def test_a_mutant_that_never_ends_is_ended(little, monkeypatch):
    monkeypatch.setattr("tests.mutation.trial.PATIENCE", 2)
    (little / "tests/unit/room/test_code.py").write_text(GOOD_TEST)
    assert [TIMEOUT] == outcomes(little, ENDLESS)


@pytest.mark.slow
def test_a_test_that_starts_the_code_as_a_program_is_asked(little):
    program = GOOD_TEST.replace(
        "from nmt_core.room.code import count\n", "import subprocess, sys\n"
    )
    asks = "subprocess.run([sys.executable, '-c', 'from nmt_core.room.code import count as f; '"
    check = f"{asks} 'assert f([1] * 4) == 3'], check=True)"
    test = program.replace("assert [0, 2, 3, 3] == [count([1] * n) for n in (0, 2, 3, 4)]", check)
    (little / "tests/unit/room/test_code.py").write_text(test)
    assert [KILLED] == outcomes(little, WRONG)


@pytest.mark.slow
def test_what_was_measured_says_the_same_when_it_is_read_again(little):
    """Or the first run would ask other tests than the next."""
    (little / "tests/unit/room/test_code.py").write_text(GOOD_TEST)
    record = Bench(little, little / "bench", ()).measure("tests/unit/room/test_code.py")
    assert record["lines"]["nmt_core/room/code.py"]
    assert record == json.loads(json.dumps(record))


@pytest.mark.slow
def test_code_that_no_test_runs_survives(little):
    (little / "tests/unit/room/test_code.py").write_text("def test_it():\n    pass\n")
    assert [SURVIVED] == outcomes(little, WRONG)


@pytest.mark.parametrize(
    ("code", "others"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a == b", ["a != b"]),
        ("a + b", ["a - b"]),
        ("a and b", ["a or b", "b", "a"]),
        ("not a", ["a"]),
        ("2", ["3", "1"]),
        ("{9_999: a, 10_000: a}", ["{10000: a, 10000: a}"]),
        ("10_000_000", []),
        ("True", ["False"]),
        ("a if b else c", ["a if not b else c", "a", "c"]),
        ("f(a, b, c=d)", ["f(a, b)", "f(b, a, c=d)"]),
        ("max(a, b)", ["min(a, b)"]),
        ("sorted(a)", ["a"]),
        ("a[b:c]", ["a[:c]", "a[b:]", "a[b:c - 1]"]),
        ("[a, b]", ["[b]", "[a]"]),
        ("{'a': b, 'c': d}", ["{'c': d}", "{'a': b}"]),
        ("[a for a in b if a]", ["[a for a in b]", "[a for a in b if not a]"]),
        ("a = 'text' + f'{b}'", []),
        ("a: int = None", []),
        ("assert a < b", []),
        ("if __name__ == '__main__':\n    main()", []),
        ("LONGEST = 4096", []),
        ("WAIT_SECONDS = 2.0", []),
        ("FEWEST = 8", ["FEWEST = 9", "FEWEST = 7"]),
        ("SLEPT = 0", ["SLEPT = 1"]),
        ("del a", []),
        ("del a[b]", ["pass"]),
        ("a = suppress(A, B)", []),
        ("a = np.maximum(b, c)", []),
        ("f(a, b, device=c)", ["f(b, a, device=c)"]),
        ("zip(a, b, strict=True)", ["zip(b, a, strict=True)"]),
        ("if a:\n    b()", ["if not a:\n    b()", "if a:\n    pass"]),
        ("while a:\n    break", ["while not a:\n    break", "while a:\n    continue"]),
        ("a += b", ["a -= b", "a = b", "pass"]),
        ("try:\n    a\nexcept B:\n    pass", ["try:\n    a\nexcept ():\n    pass"]),
        ("def f(a=True):\n    return a", ["def f(a=False):\n    return a"]),
        ("def f():\n    return a < b", ["def f():\n    return not a < b"]),
    ],
)
def test_operators_make_the_faults_that_people_make(code, others):
    source = Source("stages/a.py", code)
    made = {
        ast.unparse(ast.parse(source.apply(one))) for line in source.list_changes() for one in line
    }
    assert set(others) <= made
    assert bool(others) == bool(made)


def test_a_draw_can_be_repeated_and_another_seed_draws_others():
    """And a mutant differs from its file in what it says, and is Python."""
    mutants = draw(TOP, 20, "seed", "nmt_core/evaluation")
    assert mutants == draw(TOP, 20, "seed", "nmt_core/evaluation")
    assert mutants != draw(TOP, 20, "other", "nmt_core/evaluation")
    assert 20 == len({(mutant.file, mutant.first) for mutant in mutants})
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.code)) != ast.dump(
            ast.parse((TOP / mutant.file).read_text())
        )
        assert "nmt_core/evaluation" == mutant.room
    with pytest.raises(ValueError, match="no room"):
        draw(TOP, 20, "seed", "nmt_core/nowhere")


def test_what_reads_the_same_is_no_mutant():
    source = Source("stages/a.py", "f(b'', b\"\")")
    [changes] = source.list_changes()
    swapped = [one for one in changes if one.new == "f(b'', b'')"]
    assert swapped
    assert source.mutate(swapped, random.Random(0)) is None


def test_text_that_people_read_and_what_types_say_stay_as_they_are():
    source = Source("stages/a.py", CODE)
    made = [source.mutate(line, random.Random(0)) for line in source.list_changes()]
    assert all(mutant and '"""Count."""' in mutant.code and "# 3" in mutant.code for mutant in made)
    assert [3, 8, 9, 10, 11] == [mutant.first for mutant in made]


def test_the_fastest_tests_come_first_and_take_no_more_than_they_may():
    chosen = list(limit(iter([("a", {"slow": 9.0, "fast": 1.0}), ("b", {"long": ALL_TESTS})])))
    assert [("a", ["fast", "slow"])] == [(file, list(tests)) for file, tests in chosen]


def test_a_line_that_runs_on_import_is_seen_by_all_who_use_its_file(tmp_path):
    """Not only by the test that happened to be the first to need it."""
    records = Records(tmp_path)
    for file, seen in (("first", {"3": [0], "8": [0]}), ("later", {"11": [0]}), ("other", {})):
        (tmp_path / file).touch()
        records.keep(file, {"seconds": {file: 0.1}, "lines": {LARGER.file: seen}})

    assert ["first", "later"] == [file for file, _ in records.choose(LARGER)]
    assert ["later"] == [file for file, _ in records.choose(WRONG)]
    assert (LARGER.first, WRONG.first) == (3, 11)


def test_the_table_counts_by_room():
    mutants = [WRONG, WRONG._replace(file="stages/a.py"), WRONG]
    table = tabulate(
        [(one, end, "") for one, end in zip(mutants, (KILLED, SURVIVED, TIMEOUT), strict=True)]
    )
    assert [["nmt_core/room", "stages", "all"], ["100%", "0%", "67%"]] == [
        list(table.columns[0].cells),
        list(table.columns[-1].cells),
    ]


def test_faults_of_the_list_change_one_place_each_and_are_few():
    faults = list_faults(TOP)
    assert 100 <= len(faults) <= 150
    assert all(ast.parse(fault.code) for fault in faults)
    with pytest.raises(ValueError, match="4 times"):
        make_fault(TOP, "name", "tests/support/order.py", "FILES", "")
