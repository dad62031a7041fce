"""Which lines a test must execute to notice a change: its line, or those that use what it defines."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef
Masks = dict[str, int]  # lines of files, as bits
DEPTH = 3  # a constant of a constant of a constant


def mask(first: int, last: int) -> int:
    """Lines from the first to the last as bits."""
    return (1 << last + 1) - (1 << first)


def body(function: Function) -> int:
    return mask(function.body[0].lineno, function.end_lineno or function.lineno)


def functions(tree: ast.AST, outer: str = "") -> Iterator[tuple[str, Function]]:
    """Yield all functions by their qualified names, outer ones first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function | ast.ClassDef):
            name = f"{outer}{node.name}"
            if isinstance(node, Function):
                yield name, node
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, outer)


def enclosing(tree: ast.AST, line: int) -> tuple[str, Function] | None:
    """Return the innermost function that has a line in its body; None for a line that runs at import."""
    around = [(name, node) for name, node in functions(tree) if body(node) >> line & 1]
    return around[-1] if around else None


def header(tree: ast.AST, first: int, last: int) -> int:
    """Lines of the innermost statement around a change; of an if or a loop, those of its condition alone."""
    statement = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= first and last <= (node.end_lineno or 0):
            statement = node
    if statement is None:
        return mask(first, last)
    inner = getattr(statement, "body", None)
    end = max(last, inner[0].lineno - 1) if inner else statement.end_lineno or last
    return mask(statement.lineno, end)


def defined(statement: ast.stmt) -> set[str]:
    """Names that a statement at the top of a module or class defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {statement.name}
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.If() | ast.With():
            written = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            return {node.id for node in written if isinstance(node.ctx, ast.Store)}
    return set()


@dataclass
class Uses:
    """Which names a module imports, and on which lines of its functions and statements it reads which."""

    tree: ast.Module
    imported: set[str] = field(default_factory=set)
    in_functions: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    at_import: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        bodies = 0
        for _, function in functions(self.tree):
            bodies |= body(function)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                self.imported |= {alias.name for alias in node.names}
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            line = getattr(node, "lineno", 0)
            if name and bodies >> line & 1:
                self.in_functions[name] |= 1 << line
        for statement in self.tree.body:
            names = defined(statement)
            for node in ast.walk(statement):
                name = getattr(node, "id", None) or getattr(node, "attr", None)
                if name and not bodies >> getattr(node, "lineno", 0) & 1:
                    self.at_import[name] |= names - {name}


class Places:
    """The lines to execute for a change, over the modules of a checkout."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources

    @cached_property
    def uses(self) -> dict[str, Uses]:
        return {file: Uses(ast.parse(text)) for file, text in self.sources.items()}

    def to_execute(self, file: str, first: int, last: int) -> Masks:
        """Return lines of which a test has to execute one."""
        tree = ast.parse(self.sources[file])
        if enclosing(tree, first) is not None:
            return {file: header(tree, first, last)}
        return self._used(file, tree, first)

    def _used(self, file: str, tree: ast.Module, line: int) -> Masks:
        lines: Masks = defaultdict(int)
        statement = next((node for node in tree.body if _start(node) <= line <= (node.end_lineno or 0)), None)
        if statement is None:
            return lines
        names = defined(statement)
        inner = statement
        if isinstance(statement, ast.ClassDef):
            inner = next((n for n in statement.body if _start(n) <= line <= (n.end_lineno or 0)), statement)
            names |= defined(inner)
        for _, function in functions(ast.Module([inner], [])):
            lines[file] |= body(function)
        if isinstance(inner, Function):  # a default value
            return lines
        waiting, seen = [(name, file, 0) for name in names], set(names)
        while waiting:
            name, home, depth = waiting.pop()
            stem = home.rpartition("/")[2].removesuffix(".py")
            for other, use in self.uses.items():
                if other != home and not {name, stem} & use.imported:
                    continue
                if use.in_functions.get(name):
                    lines[other] |= use.in_functions[name]
                if depth < DEPTH:
                    further = use.at_import.get(name, set()) - seen
                    seen |= further
                    waiting += [(more, other, depth + 1) for more in further]
        return lines


def _start(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return int(min([node.lineno, *(decorator.lineno for decorator in decorators)]))
