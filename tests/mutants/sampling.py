"""Which mutants: all places of all modules but those that no test has to notice, drawn by seed in rooms."""

from __future__ import annotations

import ast
import hashlib
import json
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mutants import operators

LAYERS = ("analysis", "inference", "cli")


@dataclass(frozen=True, order=True)
class Mutant:
    """One change of one file; ``text`` and ``becomes`` are its lines before and after."""

    rank: str  # a hash: the order of the draw
    file: str
    operator: str
    occurrence: int
    line: int
    end: int
    place: str
    content: str  # a hash of the file

    @property
    def id(self) -> str:
        return digest(self.file, self.operator, str(self.occurrence), self.content)

    @property
    def room(self) -> str:
        return room_of(self.file)


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def room_of(file: str) -> str:
    """The folder below the layer; the commands are one room."""
    parts = file.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] != "cli" else parts[0]


def packages(root: Path) -> dict[str, str]:
    """Folders of the checkout and the packages that they are."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return {folder: name for name, folder in settings["tool"]["setuptools"]["package-dir"].items()}


def module_of(file: str, folders: Mapping[str, str]) -> str:
    """The name under which a file is imported."""
    folder = max((folder for folder in folders if file.startswith(f"{folder}/")), key=len)
    parts = file.removeprefix(f"{folder}/").removesuffix(".py").split("/")
    return ".".join([folders[folder], *(parts[:-1] if parts[-1] == "__init__" else parts)])


# ---- what is left out ----


def left_out(text: str) -> Iterator[operators.Position]:
    """Yield the spans without mutants: types, decorators, imports, messages of errors, what narrows types."""
    lines = text.splitlines()

    def span(node: ast.expr | ast.stmt) -> operators.Position:
        def place(line: int, column: int) -> tuple[int, int]:  # the tree counts bytes
            return line, len(lines[line - 1].encode()[:column].decode())

        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
                yield span(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from map(span, node.decorator_list)
                if not isinstance(node, ast.ClassDef) and node.returns is not None:
                    yield span(node.returns)
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield span(annotation)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                yield span(node)
            case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
                yield span(node)
            case ast.Call(
                func=ast.Name(id="warn" | "cast" | "TypeVar") | ast.Attribute(attr="warn" | "cast")
            ):
                yield span(node)
            case ast.Subscript(value=ast.Name(id="Literal")):
                yield span(node)


def candidates(text: str) -> list[tuple[str, int, operators.Position]]:
    """All changes of a module that a test should notice."""
    spans = list(left_out(text))
    tree = ast.parse(text)
    types = {node.lineno for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign | ast.ClassDef)}
    return [
        (name, occurrence, (start, end))
        for name, occurrence, (start, end) in operators.changes(text)
        if not any(first <= start and end <= last for first, last in spans)
        and not ("BitOr" in name and start[0] in types)  # a type under a name
    ]


# ---- the draw ----


def all_mutants(root: Path, folder: Path, seed: int, files: Iterable[str]) -> list[Mutant]:
    """All mutants of files in the order of the draw, one for each place; found once for each content."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[tuple[str, operators.Position], Mutant] = {}
    for file in files:
        text = (root / file).read_text(encoding="utf-8")
        stored = folder / f"{digest(file, text)}.json"
        if not stored.exists():
            stored.write_text(json.dumps(candidates(text)), encoding="utf-8")
        lines, seen = text.splitlines(), Counter[tuple[str, ...]]()
        for name, occurrence, (start, end) in json.loads(stored.read_text(encoding="utf-8")):
            key = (file, name, lines[start[0] - 1].strip())
            seen[key] += 1
            mutant = Mutant(
                digest(str(seed), *key, str(seen[key])),
                file,
                name,
                occurrence,
                start[0],
                end[0],
                f"{start[0]}:{start[1]}",
                digest(text),
            )
            place = (file, (tuple(start), tuple(end)))
            drawn[place] = min(drawn.get(place, mutant), mutant)
    return sorted(drawn.values())


def python_files(root: Path) -> list[str]:
    paths = (path for layer in LAYERS for path in (root / layer).rglob("*.py"))
    return sorted(path.relative_to(root).as_posix() for path in paths if "__pycache__" not in path.parts)


def quotas(available: Mapping[str, int], total: int) -> dict[str, int]:
    """How many to draw from each room: half of all in equal parts, half by size, none more than there are."""
    least = total // (2 * len(available)) if available else 0
    quota = {room: min(size, least) for room, size in available.items()}
    while (rest := total - sum(quota.values())) > 0:
        free = {room: size - quota[room] for room, size in available.items() if size > quota[room]}
        if not free:
            break
        for room, size in free.items():
            share = max(1, rest * size // sum(free.values()))
            quota[room] += min(size, share, max(0, total - sum(quota.values())))
    return quota


def sample(root: Path, mutants: Iterable[Mutant], total: int) -> list[Mutant]:
    """Draw from each room, leaving out changes that are no Python or no change; in the order of the draw."""
    rooms: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        rooms[mutant.room].append(mutant)
    quota = quotas({room: len(within) for room, within in sorted(rooms.items())}, total)
    return sorted(mutant for room, within in rooms.items() for mutant in _first(root, within, quota[room]))


def _first(root: Path, mutants: Iterable[Mutant], number: int) -> Iterator[Mutant]:
    for mutant in mutants:
        if number <= 0:
            return
        if is_change(*texts(root, mutant)):
            number -= 1
            yield mutant


def texts(root: Path, mutant: Mutant) -> tuple[str, str]:
    """The text of the file before and after the change."""
    text = (root / mutant.file).read_text(encoding="utf-8")
    return text, operators.changed(text, mutant.operator, mutant.occurrence)


def is_change(text: str, becomes: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            compile(becomes, "mutant", "exec")
            return ast.dump(ast.parse(text)) != ast.dump(ast.parse(becomes))
        except SyntaxError:
            return False


def shown(text: str, becomes: str, mutant: Mutant) -> tuple[str, str]:
    """The lines of a mutant before and after, each as one line."""
    before, after = text.splitlines(), becomes.splitlines()
    first = mutant.line - 1
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), first)
    from_end = 0
    while (
        from_end < min(len(before), len(after)) - same - 1 and before[-1 - from_end] == after[-1 - from_end]
    ):
        from_end += 1
    parts = (lines[same : len(lines) - from_end] for lines in (before, after))
    was, is_now = (" ".join(line.strip() for line in lines) for lines in parts)
    return was, is_now
