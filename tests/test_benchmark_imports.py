"""Benchmarks import names that the package has; they run in another lane."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HELPERS = (ROOT / "tests" / "support", ROOT / "tests")  # which `measure` adds to the path
PLACES = {path.name: path for path in sorted((ROOT / "benchmarks").rglob("*.py"))}


def is_there(base: Path) -> bool:
    """Whether a module or package of a name exists."""
    return base.is_dir() or base.with_suffix(".py").is_file()


def names_in(path: Path) -> set[str]:
    """Names that a module binds, imports or lists as a string, as modules do that import when used."""
    names: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 60:
            texts.add(node.value)
    return names | texts if "__getattr__" in names else names


def missing_names(path: Path) -> list[str]:
    """What a file imports from the package, a neighbour or the tests, and is not there."""
    missing = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.module is None or node.level:
            continue
        first, *rest = node.module.split(".")
        if first == "conjury":
            base = ROOT.joinpath(*rest)
        elif f"{first}.py" in PLACES and not rest:
            base = path.parent / first
        elif folder := next((each for each in HELPERS if is_there(each / first)), None):
            base = folder.joinpath(first, *rest)
        else:
            continue
        source = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
        if not source.is_file() and not base.is_dir():
            missing.append(node.module)
            continue
        bound = names_in(source) if source.is_file() else set()
        missing += [
            f"{node.module}.{alias.name}"
            for alias in node.names
            if alias.name not in bound
            and not (base / f"{alias.name}.py").is_file()
            and not (base / alias.name).is_dir()
        ]
    return missing


@pytest.mark.parametrize("name", PLACES)
def test_a_benchmark_imports_only_what_is_there(name: str) -> None:
    assert missing_names(PLACES[name]) == []


def test_a_name_that_is_gone_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "gone.py"
    path.write_text("from conjury.analysis.audit.multiturn import gone\nfrom conjury.nowhere import x\n")
    assert missing_names(path) == ["conjury.analysis.audit.multiturn.gone", "conjury.nowhere"]
