"""The contract of the rooms: which may import which, no circles, and folders that can be read at a glance.

Wings are folders without which all else works: nothing imports them, a `Registry` finds them by name.
Imports inside functions and for types alone count like all others, and so do names given to `import_module`.
Run from the root of a checkout.
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
        "preparation",
        "design",
        "study",
        "ledger",
        "tables",
        "inference_wings",
        "entry_registry",
        "errors lazy_names",
    ),
    "cli": ("main", "commands"),
}
LAYERS = ("cli", "analysis", "inference")
ROOT = "cli.package"  # `import conjury`, above all rooms of all layers
# What the analysis layer may know of the inference layer: tables, study files, designs and simulated truth,
# but nothing that asks a model.
NOT_FOR_ANALYSIS = ("collecting", "backends", "vignettes", "requests", "ledger", "humans", "perturb")
# Each wing and what goes with it: its analyses, exhibits and commands.
WINGS = {
    "analysis.audit": (
        "analysis.pipeline.wings.published",
        "analysis.report.exhibits.published",
        "cli.checking_tables",
    ),
    "analysis.checks": (
        "analysis.pipeline.wings.checks_in_folder",
        "cli.commands.check",
        "cli.commands.checked_results",
    ),
    "analysis.conjoint.engines.bayes": (),
    "analysis.instrument": (
        "analysis.pipeline.wings.instrument_steps",
        "cli.commands.judges.compare_pairs",
    ),
    "analysis.raters.models": ("cli.commands.judges.raters",),
    "analysis.report.paper": (
        "cli.commands.papers.checklist",
        "cli.commands.papers.paper_inputs",
        "cli.commands.papers.metadata",
        "cli.commands.papers.methods",
        "cli.commands.papers.preregister",
        "cli.commands.papers.tables",
    ),
    "analysis.report.replication": ("cli.commands.papers.replicate",),
    "analysis.trial": ("cli.commands.trial",),
    "inference.backends.cluster": (),
    "inference.humans": ("cli.import_command", "cli.import_options"),
    "inference.panel": ("cli.commands.people", "cli.commands.view"),
    "inference.perturb": ("cli.perturbing",),
    "inference.vignettes": ("cli.gallery", "cli.rendering"),
}
NEEDS = {  # wings that import another one
    ("analysis.conjoint.engines.bayes", "analysis.raters.models"),
    ("analysis.report.replication", "analysis.report.paper"),
    ("analysis.trial", "analysis.instrument"),
    ("inference.humans", "inference.panel"),
    ("inference.panel", "inference.humans"),
    ("inference.panel", "inference.vignettes"),
}
NAMES = 15  # of a folder, wings aside
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
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for origin in origins(node, name, package):
            target = longest(origin, known)
            if target is not None and target != name:
                yield target, node.lineno


def origins(node: ast.AST, name: str, package: str) -> Iterator[str]:
    """Yield the dotted names that a node imports, without `conjury.`; `conjury` alone is ROOT."""
    match node:
        case ast.Import(names=aliases):
            yield from (inside(alias.name) for alias in aliases)
        case ast.ImportFrom(level=0, module=module, names=aliases):
            yield from (inside(f"{module}.{alias.name}") for alias in aliases)
        case ast.ImportFrom(level=level, module=module, names=aliases):
            base = ".".join(part for part in (above(package, level), module) if part)
            yield from (f"{base}.{alias.name}" for alias in aliases)
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[first, *_]):
            written = literal(first, name, package) if called in ("import_module", "__import__") else ""
            dots = len(written) - len(written.lstrip("."))
            origin = f"{above(package, dots)}.{written[dots:]}" if dots else inside(written)
            # A name that is only known to begin like the importer's package says nothing.
            if not f"{name}.".startswith(f"{origin}."):
                yield origin


def inside(name: str) -> str:
    """Return an absolute name without `conjury.`: ROOT if it is in no layer, "" for other libraries."""
    first, _, rest = name.partition(".")
    if first != "conjury":
        return ""
    return rest if rest.partition(".")[0] in LAYERS else ROOT


def above(package: str, level: int) -> str:
    """Return the package that relative names of a level begin with."""
    parts = package.split(".")
    return ".".join(parts[: len(parts) - level + 1])


def literal(node: ast.expr, name: str, package: str) -> str:
    """Return a string as far as it is written out; `__package__` and `__name__` are known."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            text = ""
            for part in parts:
                match part:
                    case ast.Constant(value=str(piece)):
                        text += piece
                    case ast.FormattedValue(value=ast.Name(id="__package__")):
                        text += f"conjury.{package}"
                    case ast.FormattedValue(value=ast.Name(id="__name__")):
                        text += f"conjury.{name}"
                    case _:
                        return text.rpartition(".")[0]
            return text
    return ""


def longest(origin: str, known: Iterable[str]) -> str | None:
    """Return the module that a dotted name is in: the longest known beginning."""
    while origin and origin not in known:
        origin = origin.rpartition(".")[0]
    return origin or None


def fault(importer: str, imported: str) -> str | None:
    """Say why a module may not import another; None where it may."""
    (layer, *own), (other, *theirs) = importer.split("."), imported.split(".")
    if imported == ROOT:
        return "conjury, the top of the package, lies above all rooms"
    if layer != other:
        if LAYERS.index(layer) > LAYERS.index(other):
            return f"{layer} lies below {other}"
        if layer == "analysis" and theirs and theirs[0] in NOT_FOR_ANALYSIS:
            return f"analysis does not know inference.{theirs[0]}"
        return None
    floors = {room: n for n, rooms in enumerate(ROOMS[layer]) for room in rooms.split()}
    if own and not theirs:
        return f"{other}, the top of the layer, lies above its rooms"
    if not own or own[0] == theirs[0]:
        return None
    if own[0] not in floors or theirs[0] not in floors:
        return None if layer == "cli" else f"{own[0]} or {theirs[0]} is no room; add it to ROOMS"
    if floors[own[0]] < floors[theirs[0]]:
        return None
    return f"{own[0]} may not import {theirs[0]}"


def wing_of(module: str) -> str:
    """Return the wing that a module belongs to, or "" for one that is always there."""
    for wing, further in WINGS.items():
        if any(f"{module}.".startswith(f"{part}.") for part in (wing, *further)):
            return wing
    return ""


def types_alone(path: Path) -> set[int]:
    """Lines of an `__init__.py` that import for types alone: it imports these names when they are used."""
    if path.name != "__init__.py":
        return set()
    return {
        line
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }


def problems(root: Path) -> Iterator[str]:
    """Yield a sentence for each breach of the contract."""
    known = modules(root)
    graph: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        own, lines_of_types = wing_of(name), types_alone(path)
        for target, line in imports(name, path, known):
            graph[name].add(target)
            reason = fault(name, target)
            if reason is not None:
                yield f"{path.relative_to(root)}:{line}: imports {target}; {reason}."
            wing = wing_of(target)
            if wing and wing != own and (own, wing) not in NEEDS and line not in lines_of_types:
                yield (
                    f"{path.relative_to(root)}:{line}: imports {target} of the wing {wing}; reach it by a "
                    "Registry."
                )
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield f"Circular import: {' <- '.join(error.args[1])}."
    for folder in sorted({path.parent for path in known.values()}):
        place = folder.relative_to(root).as_posix()
        names = [
            part
            for part in folder.iterdir()
            if part.name not in ("__pycache__", "__init__.py")
            and f"{place}/{part.name}".replace("/", ".") not in WINGS
        ]
        if len(names) > NAMES and not place.startswith(MANY):
            yield f"{place} has {len(names)} names; {NAMES} can be read at a glance, so group them."


if __name__ == "__main__":
    breaches = sorted(set(problems(Path.cwd())))
    print(*breaches, sep="\n")
    sys.exit(f"{len(breaches)} breaches of the contract of rooms." if breaches else 0)
