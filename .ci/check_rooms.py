"""The contract of the rooms: which may import which, no circles, and folders that can be read at a glance.

Imports inside functions and for types alone count like all others. Run from the root of a checkout.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# From top to bottom: a room imports from rooms further down only; rooms of one line do not know each other.
ROOMS = {
    "analysis": (
        "report",
        "pipeline",
        "trial",
        "instrument",
        "checks audit",
        "conjoint",
        "benchmark",
        "raters",
        "correction",
        "results",
        "figures",
        "frames",
        "numerics r",
    ),
    "inference": (
        "panel",
        "collecting",
        "backends",
        "vignettes simulation",
        "humans perturb",
        "requests parsing",
        "readers",
        "design",
        "study",
        "ledger",
        "tables",
        "errors",
    ),
    "cli": ("main", "commands"),
}
LAYERS = ("cli", "analysis", "inference")
# What the analysis layer may know of the inference layer: tables, study files, designs and simulated truth,
# but nothing that asks a model.
NOT_FOR_ANALYSIS = ("collecting", "backends", "vignettes", "requests", "ledger", "humans", "perturb")
NAMES = 15
MANY = ("analysis/figures",)  # one module per kind of figure


def modules(root: Path) -> dict[str, Path]:
    """Return all modules below the layers by their dotted names."""
    found = {}
    for layer in LAYERS:
        for path in (root / layer).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the modules that a module imports, with the line."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
        elif (node.module or "").startswith("conjury."):
            base = str(node.module).split(".")[1:]
        else:
            continue
        origin = ".".join(part for part in base if part)
        for alias in node.names:
            target = f"{origin}.{alias.name}" if f"{origin}.{alias.name}" in known else origin
            if target in known and target != name:
                yield target, node.lineno


def fault(importer: str, imported: str) -> str | None:
    """Say why a module may not import another; None where it may."""
    (layer, *own), (other, *theirs) = importer.split("."), imported.split(".")
    if layer != other:
        if LAYERS.index(layer) > LAYERS.index(other):
            return f"{layer} lies below {other}"
        if layer == "analysis" and theirs and theirs[0] in NOT_FOR_ANALYSIS:
            return f"analysis does not know inference.{theirs[0]}"
        return None
    floors = {room: n for n, rooms in enumerate(ROOMS[layer]) for room in rooms.split()}
    if not own or not theirs or own[0] == theirs[0]:
        return None
    if own[0] not in floors or theirs[0] not in floors:
        return None if layer == "cli" else f"{own[0]} or {theirs[0]} is no room; add it to ROOMS"
    if floors[own[0]] < floors[theirs[0]]:
        return None
    return f"{own[0]} may not import {theirs[0]}"


def problems(root: Path) -> Iterator[str]:
    """Yield a sentence for each breach of the contract."""
    known = modules(root)
    graph: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for target, line in imports(name, path, known):
            graph[name].add(target)
            reason = fault(name, target)
            if reason is not None:
                yield f"{path.relative_to(root)}:{line}: imports {target}; {reason}."
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"Circular import: {' <- '.join(error.args[1])}."
    for folder in sorted({path.parent for path in known.values()}):
        place = folder.relative_to(root).as_posix()
        names = [part for part in folder.iterdir() if part.name not in ("__pycache__", "__init__.py")]
        if len(names) > NAMES and not place.startswith(MANY):
            yield f"{place} has {len(names)} names; {NAMES} can be read at a glance, so group them."


if __name__ == "__main__":
    breaches = sorted(set(problems(Path.cwd())))
    print(*breaches, sep="\n")
    sys.exit(f"{len(breaches)} breaches of the contract of rooms." if breaches else 0)
