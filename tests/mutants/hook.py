"""Stands between import and the files: a module is compiled from another text, or lines are recorded.

Only the standard library is imported, since child processes of tests load this module before anything else.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

MUTANT = "CONJURY_MUTANT"  # names a file that describes the mutant
LINES = "CONJURY_LINES"  # names a folder for the lines that child processes execute
CHILD = Path(__file__).parent / "child"
TOOL = 4  # a number that neither coverage nor profilers use

# ---- a mutant ----


class MutantLoader(SourceFileLoader):
    """Compiles a text in place of the file, and leaves a trace of it."""

    def __init__(self, name: str, path: str, text: str, traces: Path) -> None:
        super().__init__(name, path)
        self.text, self.traces = text, traces

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        (self.traces / "imported").touch()
        try:
            super().exec_module(module)
        except BaseException:
            (self.traces / "broken").touch()
            raise


class MutantFinder(MetaPathFinder):
    """Finds one module, in the place of all other finders."""

    def __init__(self, module: str, path: str, text: str, traces: Path) -> None:
        self.module, self.loader = module, MutantLoader(module, path, text, traces)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        place = Path(self.loader.path)
        inside = [str(place.parent)] if place.name == "__init__.py" else None
        return spec_from_file_location(fullname, place, loader=self.loader, submodule_search_locations=inside)


def install(module: str, path: Path, text: str, folder: Path) -> None:
    """Let this process and those that it starts import a module from a text; traces appear in the folder."""
    described = folder / "mutant.json"
    described.write_text(
        json.dumps({"module": module, "path": str(path), "text": text, "traces": str(folder)}),
        encoding="utf-8",
    )
    _for_children(MUTANT, described)
    sys.meta_path.insert(0, MutantFinder(module, str(path), text, folder))


# ---- lines ----


class Lines:
    """The lines of files below a folder that are executed, as bits of one number for each file."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root}{os.sep}"
        self.executed: defaultdict[str, int] = defaultdict(int)
        monitoring = _monitoring()
        monitoring.use_tool_id(TOOL, "mutants")
        monitoring.register_callback(TOOL, monitoring.events.LINE, self._note)
        self._done = monitoring.DISABLE

    def _note(self, code: CodeType, line: int) -> Any:
        self.executed[code.co_filename] |= 1 << line
        return self._done

    def taken(self) -> dict[str, int]:
        """Return what was executed since the last call, by paths relative to the root."""
        lines, self.executed = self.executed, defaultdict(int)
        _monitoring().restart_events()
        return {name.removeprefix(self.root): mask for name, mask in lines.items()}

    def watch(self, code: CodeType) -> None:
        """Watch a code object and all those in it."""
        _monitoring().set_local_events(TOOL, code, _monitoring().events.LINE)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self.watch(inner)


def _monitoring() -> Any:
    return sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # from Python 3.12


class LinesLoader(SourceFileLoader):
    """Loads a module as usual and watches its code."""

    lines: Lines

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        if code is not None:
            self.lines.watch(code)
        return code


class LinesFinder(MetaPathFinder):
    """Has the other finders find the modules of the packages, and watches what they load."""

    def __init__(self, packages: Iterable[str], lines: Lines) -> None:
        self.packages, self.lines = frozenset(packages), lines

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.packages:
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((spec for finder in others if (spec := finder.find_spec(fullname, path, target))), None)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            loader = LinesLoader(spec.loader.name, spec.loader.path)
            loader.lines = self.lines
            spec.loader = loader
        return spec


def record(root: Path, packages: Iterable[str]) -> Lines:
    """Record lines of the packages in this process from now on."""
    lines = Lines(root)
    sys.meta_path.insert(0, LinesFinder(packages, lines))
    return lines


def record_children(root: Path, packages: Iterable[str], folder: Path) -> None:
    """Let processes that this one starts leave their lines in a folder."""
    _for_children(LINES, folder)
    (folder / "what.json").write_text(json.dumps([str(root), *packages]), encoding="utf-8")


def _leave(lines: Lines, folder: Path) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    masks = {name: f"{mask:x}" for name, mask in lines.taken().items()}
    (folder / f"{uuid.uuid4().hex}.lines").write_text(json.dumps([test, masks]), encoding="utf-8")


# ---- child processes ----


def _for_children(variable: str, value: Path) -> None:
    os.environ[variable] = str(value)
    before = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    if str(CHILD) not in before:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(CHILD), *before])


def start() -> None:
    """Do in a child process what the environment asks for."""
    if path := os.environ.get(MUTANT):
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        sys.meta_path.insert(
            0, MutantFinder(told["module"], told["path"], told["text"], Path(told["traces"]))
        )
    elif (folder := os.environ.get(LINES)) and sys.version_info >= (3, 12):
        root, *packages = json.loads((Path(folder) / "what.json").read_text(encoding="utf-8"))
        atexit.register(_leave, record(Path(root), packages), Path(folder))
