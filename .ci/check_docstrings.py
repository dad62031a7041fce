"""Docstrings of names that no `__all__` exports have at most three lines; run from the root of a checkout.

What a reader needs beyond such a name is one line; a reason, a formula or a shape is a comment at its place.
Methods of exported classes are exported with them, and docstrings of commands are their help.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

LAYERS = ("cli", "analysis", "inference")
LINES = 3


def sources(root: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield all modules of the layers with their syntax trees."""
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*.py")):
            yield path.relative_to(root), ast.parse(path.read_text(encoding="utf-8"))


def exported(tree: ast.Module) -> Iterator[str]:
    """Yield the names in the `__all__` of a module."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(ast.unparse(name) == "__all__" for name in node.targets):
            yield from (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))


def is_command(path: Path, node: ast.AST) -> bool:
    """Whether the docstring of a function is the help of a command."""
    if path.parts[0] != "cli" or not isinstance(node, ast.FunctionDef):
        return False
    return "typer." in ast.unparse(node.args) or "grouped" in map(ast.unparse, node.decorator_list)


def long_docstrings(path: Path, tree: ast.AST, names: set[str], outer: str = "") -> Iterator[str]:
    """Yield a sentence for each docstring of an inner name that is too long."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from long_docstrings(path, node, names, outer)
            continue
        is_public = not node.name.startswith("_") if outer else node.name in names
        if is_public or is_command(path, node):
            if isinstance(node, ast.ClassDef):
                yield from long_docstrings(path, node, names, f"{node.name}.")
            continue
        text = node.body[0]
        if ast.get_docstring(node) and (text.end_lineno or 0) - text.lineno >= LINES:
            yield f"{path}:{text.lineno}: the docstring of {node.name} has more than {LINES} lines."
        yield from long_docstrings(path, node, names - {node.name})


if __name__ == "__main__":
    modules = list(sources(Path.cwd()))
    public = {name for _, tree in modules for name in exported(tree)}
    found = [line for path, tree in modules for line in long_docstrings(path, tree, public)]
    print(*found, sep="\n")
    sys.exit(f"{len(found)} docstrings of inner names are too long." if found else 0)
