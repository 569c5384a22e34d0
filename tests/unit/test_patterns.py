"""No regular expression of ours takes quadratic time on hostile text."""

import ast
import importlib
import itertools
import re
import signal
import time
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from re import _constants as op
from re import _parser as parser

import pytest
import regex

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
PACKAGES = ("nmt_core", "stages", "flows", "infra")
METHODS = {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
LENGTH = 8000
SECONDS = 0.03
"""Processor seconds that a quadratic search of LENGTH characters exceeds ten times."""

GROWTH = 8
"""4 times the text takes a linear search 4 times as long, a quadratic search 16 times."""


@cache
def parse_modules():
    """Return the syntax tree of each module, by path."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in paths}


@cache
def list_methods():
    """Return the methods that are called on each name."""
    methods = defaultdict(set)
    for node in itertools.chain.from_iterable(map(ast.walk, parse_modules().values())):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            methods[getattr(node.value, "id", getattr(node.value, "attr", ""))].add(node.attr)
    return methods


def list_patterns(package):
    """Yield place, pattern and methods of each pattern that a module can compute."""
    methods = list_methods()
    for path, tree in parse_modules().items():
        if path.parts[0] != package:
            continue
        names = {
            node.value: getattr(target, "id", "")
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            program, method = getattr(node.func.value, "id", ""), node.func.attr
            if program not in {"re", "regex"} or method not in {*METHODS, "compile"}:
                continue
            flags = node.args[1:2] if method == "compile" else []
            flags += [each.value for each in node.keywords if each.arg == "flags"]
            module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            known = vars(importlib.import_module(module))
            try:
                pattern, *rest = (evaluate(each, known) for each in [*node.args[:1], *flags])
                pattern = known[program].compile(pattern, *rest)
            except (NameError, re.error, regex.error):  # built from the arguments of a function
                continue
            used = methods[names.get(node)] if method == "compile" else {method}
            yield f"{path}:{node.lineno}", pattern, used or {"search"}


def evaluate(node, known):
    code = compile(ast.Expression(node), "pattern", "eval")
    return eval(code, dict(known))  # noqa: S307 - our own source


def sample(items, space):
    """Return a text that some parsed items match, ignoring conditions on the context."""
    text = ""
    for kind, value in items:
        if kind is op.LITERAL:
            text += chr(value)
        elif kind is op.NOT_LITERAL:
            text += "b" if value == ord("a") else "a"
        elif kind in (op.ANY, op.IN):
            text += find_member(kind, value, space)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            text += sample(value[2], space) * max(1, min(value[0], 3))
        elif kind in (op.SUBPATTERN, op.ATOMIC_GROUP):
            text += sample(value[-1] if kind is op.SUBPATTERN else value, space)
        elif kind is op.BRANCH:
            text += sample(value[1][0], space)
    return text


def find_member(kind, value, space):
    """Return a character of a class, white space if possible."""
    if kind is op.ANY:
        return "a"
    named = [chr(each if what is op.LITERAL else each[0]) for what, each in value
             if what in (op.LITERAL, op.RANGE)]  # fmt: skip
    candidates = [space, *named, "a", "0", "-", ".", "\n", "é"]
    subpattern = parser.SubPattern(parser.State(), [(op.IN, value)])
    matches = re._compiler.compile(subpattern).fullmatch
    return next(filter(matches, candidates), "a")


def list_attacks(pattern):
    """Return hostile texts: repeated matches of the parts of a pattern."""
    source, flags = pattern.pattern, pattern.flags
    if isinstance(source, bytes):
        source, flags = source.decode("latin-1"), flags & ~re.UNICODE
    try:
        items = parser.parse(source, flags if isinstance(pattern, re.Pattern) else 0)
    except (re.error, OverflowError):  # of regex, unknown to re
        pumps = {("", pump) for pump in (" ", "\n", "1", "a", "A", ".", "-", "1 ", "1.", "a-")}
    else:
        pumps = {pump for space in " \n" for pump in list_pumps(items, "", space)}
    return {(before, pump, end) for before, pump in pumps for end in ("", "\0")}


def list_pumps(items, before, space):
    """Yield a text that leads to each part, and a text that the part matches."""
    for item in items:
        kind, value = item
        inner = []
        if kind is op.BRANCH:
            inner = value[1]
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            inner = [value[2]]
        elif kind in (op.SUBPATTERN, op.ATOMIC_GROUP):
            inner = [value[-1] if kind is op.SUBPATTERN else value]
        for each in inner:
            yield from list_pumps(each, before, space)
        if text := sample([item], space):
            yield before, text
            before += text
            yield "", before


@contextmanager
def at_most(seconds):
    """Raise a TimeoutError after some seconds of processor time."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def measure(pattern, method, attack, length):
    """Return the processor seconds of a search in a hostile text."""
    before, pump, end = attack
    text = f"{before}{pump * (length // len(pump))}{end}"
    if isinstance(pattern.pattern, bytes):
        text = text.encode("latin-1", "replace")
    arguments = (type(text)(), text) if method in {"sub", "subn"} else (text,)
    began = time.process_time()
    found = getattr(pattern, method)(*arguments)
    if method == "finditer":
        for _ in found:
            pass
    return time.process_time() - began


def is_square(pattern, method, attack):
    try:
        with at_most(1):
            if measure(pattern, method, attack, LENGTH) < SECONDS:
                return False
            short = min(measure(pattern, method, attack, LENGTH // 4) for _ in range(2))
            return min(measure(pattern, method, attack, LENGTH) for _ in range(2)) > GROWTH * short
    except TimeoutError:
        return True


@pytest.mark.parametrize("package", PACKAGES)
def test_patterns_are_linear_on_hostile_text(package):
    square = {
        place: (method, attack)
        for place, pattern, methods in list_patterns(package)
        for method in sorted(methods)
        for attack in sorted(list_attacks(pattern))
        if is_square(pattern, method, attack)
    }
    assert not square


def test_quadratic_and_cubic_patterns_are_found():
    """Patterns of a workbook's columns and of line ends in a translation memory."""
    for source, method in (
        (r'<(?:\w+:)?tableColumn\s[^>]*?\bname="([^"]*)"', "findall"),
        (r"\s*(?:<br\s*/?>|\\n|[\r\n]+)\s*", "fullmatch"),
        (r"(a+)+b", "search"),
    ):
        pattern = re.compile(source)
        assert any(is_square(pattern, method, attack) for attack in list_attacks(pattern)), source
