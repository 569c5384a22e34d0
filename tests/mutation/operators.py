"""Small faults that a tired engineer makes, as changes of a syntax tree.

An operator takes a node and yields what could stand in its place. Text that people read,
annotations, decorators, assertions and messages of exceptions are left alone: what they say is no
matter of right and wrong.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

Operator = Callable[[ast.AST], Iterator[ast.AST | None]]

SWAPPED = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Mult],
    ast.Mod: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.BitXor: [ast.BitAnd],
    ast.LShift: [ast.RShift],
    ast.RShift: [ast.LShift],
}
"""What an operation is taken for."""

TWINS = {
    name: twin
    for pair in (
        ("min", "max"),
        ("any", "all"),
        ("floor", "ceil"),
        ("lstrip", "rstrip"),
        ("startswith", "endswith"),
        ("find", "rfind"),
        ("partition", "rpartition"),
        ("removeprefix", "removesuffix"),
        ("append", "extend"),
        ("zeros", "ones"),
        ("argmin", "argmax"),
        ("debug", "warning"),
    )
    for name, twin in (pair, pair[::-1])
}
"""Functions that are taken for each other."""

PEELED = {"sorted", "reversed", "list", "tuple", "set", "abs", "round", "sum", "dict", "unique"}
"""Functions of one value that are forgotten."""

DANGEROUS = {"kill", "killpg", "terminate", "send_signal", "rmtree", "unlink", "rmdir", "remove"}
"""Calls whose arguments stay as they are: a mutant must not end or delete what is not its own."""

HARMLESS = {"strict", "encoding", "help", "device"}
HARMLESS |= {"style", "header_style", "box", "pad_edge", "show_lines", "expand", "justify"}
"""Arguments that only guard, tell or adorn, or that a GPU alone would notice."""

SYMMETRIC = {"min", "max", "minimum", "maximum", "isinstance", "hasattr", "suppress"}
"""Functions that do not mind the order of their arguments, or fail at once in another."""


class Change(NamedTuple):
    """A node of a file, and the text that takes its place; the lines of the statement around it."""

    node: ast.AST
    new: str
    first: int
    last: int


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def without(nodes: list, at: int) -> list:
    """Return a list without one of its elements."""
    return [*nodes[:at], *nodes[at + 1 :]]


def is_text(node: ast.AST) -> bool:
    """Whether an expression is a text, whole or in parts."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def negate(node: ast.expr) -> ast.expr:
    """Say the contrary."""
    return node.operand if is_not(node) else ast.UnaryOp(ast.Not(), node)


def is_not(node: ast.AST) -> bool:
    """Whether an expression is a negation."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def swap_operation(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the same with another operation: + for -, < for <=, and for or."""
    if not is_text(node):
        for other in SWAPPED.get(type(node.op), []):
            yield changed(node, op=other())


def swap_comparison(node: ast.AST) -> Iterator[ast.AST]:
    """Yield comparisons at the next boundary, and their contrary."""
    for at, found in enumerate(node.ops):
        for other in SWAPPED[type(found)]:
            yield changed(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])


def drop_operand(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a conjunction or alternative that forgets one of its parts."""
    for at in range(len(node.values)):
        rest = without(node.values, at)
        yield rest[0] if len(rest) == 1 else changed(node, values=rest)


def drop_sign(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what was negated."""
    yield node.operand


def change_constant(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a number beside the right one, if that is not as good, and the other truth."""
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int) and abs(node.value) < 10_000:
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)
    elif isinstance(node.value, float):
        yield ast.Constant(node.value * 2 or 1.0)


def change_condition(node: ast.AST) -> Iterator[ast.AST]:
    """Yield an expression that takes the other way."""
    yield changed(node, test=negate(node.test))
    yield node.body
    yield node.orelse


def change_result(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a function that returns nothing, or the contrary."""
    if isinstance(node.value, ast.Compare | ast.BoolOp) or is_not(node.value):
        yield changed(node, value=negate(node.value))
    elif node.value is not None and not isinstance(node.value, ast.Constant):
        yield changed(node, value=ast.Constant(None))


def drop_argument(node: ast.AST) -> Iterator[ast.AST]:
    """Yield calls that forget an argument given by name."""
    for at, keyword in enumerate(node.keywords):
        if not (is_text(keyword.value) or keyword.arg in HARMLESS):
            yield changed(node, keywords=without(node.keywords, at))


def swap_arguments(node: ast.AST) -> Iterator[ast.AST]:
    """Yield calls with two neighbouring arguments in the wrong order."""
    for at in range(len(node.args) - 1):
        first, second = node.args[at : at + 2]
        plain = not any(isinstance(one, ast.Starred) or is_text(one) for one in (first, second))
        if plain and called(node) not in SYMMETRIC:
            yield changed(node, args=[*node.args[:at], second, first, *node.args[at + 2 :]])


def swap_function(node: ast.AST) -> Iterator[ast.AST]:
    """Yield calls of a function's twin, and what a function would have been given."""
    name = called(node)
    if name in TWINS:
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        yield changed(node, func=changed(node.func, **{field: TWINS[name]}))
    if name in PEELED and len(node.args) == 1 and isinstance(node.func, ast.Name):
        yield node.args[0]


def called(node: ast.AST) -> str:
    """Return the last name of the function that is called."""
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def drop_bound(node: ast.AST) -> Iterator[ast.AST]:
    """Yield slices that begin or end elsewhere."""
    for bound in ("lower", "upper"):
        if getattr(node, bound) is not None:
            yield changed(node, **{bound: None})
    if node.upper is not None and not isinstance(node.upper, ast.Constant):
        yield changed(node, upper=ast.BinOp(node.upper, ast.Sub(), ast.Constant(1)))


def drop_element(node: ast.AST) -> Iterator[ast.AST]:
    """Yield lists, sets and tuples that lack an element; not pairs, which nobody could unpack."""
    fewest = 3 if isinstance(node, ast.Tuple) else 2
    for at, one in enumerate(node.elts):
        if len(node.elts) >= fewest and not is_text(one):
            yield changed(node, elts=without(node.elts, at))


def drop_entry(node: ast.AST) -> Iterator[ast.AST]:
    """Yield mappings that lack an entry."""
    for at in range(len(node.keys)):
        yield changed(node, keys=without(node.keys, at), values=without(node.values, at))


def drop_filter(node: ast.AST) -> Iterator[ast.AST]:
    """Yield comprehensions that take everything, or what they should leave."""
    for at, loop in enumerate(node.generators):
        for place, condition in enumerate(loop.ifs):
            for ifs in (
                without(loop.ifs, place),
                [*loop.ifs[:place], negate(condition), *loop.ifs[place + 1 :]],
            ):
                generators = [
                    *node.generators[:at],
                    changed(loop, ifs=ifs),
                    *node.generators[at + 1 :],
                ]
                yield changed(node, generators=generators)


def drop_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nothing where something was done: a call, a value kept in an object, an exception."""
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Await):
        return
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
    if targets and isinstance(targets[0], ast.Name | ast.Tuple):
        return
    yield ast.Pass()


def replace_total(node: ast.AST) -> Iterator[ast.AST]:
    """Yield an assignment where something is added."""
    yield ast.Assign([node.target], node.value, lineno=0)


def leave_loop(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the end of a loop for its next turn, and the other way round."""
    yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()


EXPRESSIONS: dict[type[ast.AST], list[Operator]] = {
    ast.Compare: [swap_comparison],
    ast.BinOp: [swap_operation],
    ast.BoolOp: [swap_operation, drop_operand],
    ast.UnaryOp: [drop_sign],
    ast.Constant: [change_constant],
    ast.IfExp: [change_condition],
    ast.Call: [drop_argument, swap_arguments, swap_function],
    ast.Slice: [drop_bound],
    ast.List: [drop_element],
    ast.Set: [drop_element],
    ast.Tuple: [drop_element],
    ast.Dict: [drop_entry],
    ast.ListComp: [drop_filter],
    ast.SetComp: [drop_filter],
    ast.DictComp: [drop_filter],
    ast.GeneratorExp: [drop_filter],
}
STATEMENTS: dict[type[ast.AST], list[Operator]] = {
    ast.AugAssign: [swap_operation, replace_total, drop_statement],
    ast.Return: [change_result],
    ast.Expr: [drop_statement],
    ast.Assign: [drop_statement],
    ast.Delete: [drop_statement],
    ast.Raise: [drop_statement],
    ast.Break: [leave_loop, drop_statement],
    ast.Continue: [leave_loop, drop_statement],
}
UNTOUCHED = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)


def find_changes(tree: ast.Module) -> Iterator[Change]:
    """Yield everything that operators would make of a file."""
    for statement in tree.body:
        if not is_far_bound(statement):
            yield from change_statement(statement)


def change_statement(node: ast.stmt) -> Iterator[Change]:
    """Yield what operators make of a statement and of those within it."""
    if isinstance(node, UNTOUCHED) or is_apart(node):
        return
    first, last = span(node)
    for operator in STATEMENTS.get(type(node), []):
        for other in operator(node):
            yield Change(node, write(other), first, last)
    if isinstance(node, ast.If | ast.While):
        yield Change(node.test, write(negate(node.test)), first, last)
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "bases", "targets", "target"}:
            continue
        if isinstance(node, ast.Raise) and field == "exc":
            continue
        for child in value if isinstance(value, list) else [value]:
            yield from change_child(child, first, last)


def change_child(child: object, first: int, last: int) -> Iterator[Change]:
    """Yield what operators make of a part of a statement."""
    if isinstance(child, ast.stmt):
        yield from change_statement(child)
    elif isinstance(child, ast.expr):
        yield from change_expression(child, first, last)
    elif isinstance(child, ast.ExceptHandler | ast.match_case | ast.withitem | ast.arguments):
        if isinstance(child, ast.ExceptHandler) and child.type is not None:
            first = last = child.lineno
            yield Change(child.type, "()", first, last)
        for part in ast.iter_child_nodes(child):
            yield from change_child(part, first, last)


def change_expression(node: ast.AST, first: int, last: int) -> Iterator[Change]:
    """Yield what operators make of an expression and of its parts."""
    if isinstance(node, UNTOUCHED) or is_text(node):
        return
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return
    for operator in EXPRESSIONS.get(type(node), []):
        for other in operator(node):
            yield Change(node, write(other), first, last)
    if isinstance(node, ast.Call) and called(node) in DANGEROUS:
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg in HARMLESS:
            continue
        if isinstance(child, ast.arguments | ast.keyword | ast.comprehension | ast.expr):
            yield from change_expression(child, first, last)


def span(node: ast.stmt) -> tuple[int, int]:
    """Return the lines whose tests see a change: of a function all, of a compound its head."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Match):
        return node.lineno, node.end_lineno
    body = getattr(node, "body", None)
    return node.lineno, max(node.lineno, body[0].lineno - 1) if body else node.end_lineno


def is_far_bound(node: ast.stmt) -> bool:
    """Whether a statement names a number beside which another is as good.

    Either it is so large or small, or it says how many seconds something is waited for.
    """
    value = getattr(node, "value", None)
    if not (isinstance(node, ast.Assign) and isinstance(value, ast.Constant)):
        return False
    number, name = value.value, ast.unparse(node.targets[0])
    patience = name.endswith("_SECONDS")
    return isinstance(number, int | float) and (patience or not 1e-3 < abs(number or 1) < 1e3)


def is_apart(node: ast.stmt) -> bool:
    """Whether a statement is for the type checker or a program alone, or says what is offered."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in {"TYPE_CHECKING", "__name__ == '__main__'"}
    name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
    return name == "__all__" or (
        isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("TypeVar(")
    )


def write(node: ast.AST) -> str:
    """Return the text of a node; an expression keeps to itself."""
    text = ast.unparse(node)
    alone = isinstance(node, ast.stmt | ast.Slice | ast.GeneratorExp)
    simple = isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    bracketed = isinstance(node, ast.List | ast.Set | ast.Dict | ast.ListComp | ast.SetComp)
    return text if alone or simple or bracketed else f"({text})"
