"""Which test executes which lines, and how long it takes: recorded once for each content of a test file.

coverage.py has contexts of tests only with its tracer, which is several times slower than the events of
Python 3.12 that this module uses; lines of processes that tests start are recorded, too.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mutants import hook
from mutants.places import Masks
from mutants.processes import Job, run
from mutants.sampling import digest

Tests = dict[str, tuple[float, Masks]]  # tests that passed, with seconds and lines


@dataclass(frozen=True)
class Recorded:
    """What a test file executed: by its tests, and outside of tests (at import, in fixtures of modules)."""

    file: str
    sources: Mapping[str, str]  # hashes of the test file and of all files that it executed
    tests: Tests
    outside: Masks


class Recorder:
    """A plugin of pytest that attributes lines to tests."""

    def __init__(self, lines: hook.Lines) -> None:
        self.lines = lines
        self.tests: dict[str, dict[str, Any]] = {}
        self.outside: Masks = defaultdict(int)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for file, lines in self.lines.taken().items():
            self.outside[file] |= lines
        before = seconds()
        answer = yield
        entry = self.tests.setdefault(item.nodeid, {"passed": True})
        entry |= {"seconds": round(seconds() - before, 4), "lines": self.lines.taken()}
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        entry = self.tests.setdefault(report.nodeid, {"passed": True})
        entry["passed"] &= report.passed


def seconds() -> float:
    """Seconds of processors that this process and those it waited for have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def settle_hypothesis() -> None:
    """Have the same examples in each run, and none of those of a mutant remembered."""
    try:
        from hypothesis import settings
    except ImportError:
        return
    settings.register_profile("mutants", database=None, derandomize=True, deadline=None)
    settings.load_profile("mutants")


def recording(root: Path, packages: Iterable[str], file: str, options: list[str]) -> Callable[[Path], Any]:
    """Return the job that runs a test file and records."""

    def work(folder: Path) -> Any:
        os.chdir(root)
        hook.record_children(root, packages, folder)
        recorder = Recorder(hook.record(root, packages))
        settle_hypothesis()
        pytest.main([*options, f"--basetemp={folder}/base", file], plugins=[recorder])
        tests = {name: entry for name, entry in recorder.tests.items() if entry["passed"]}
        for left in folder.glob("*.lines"):
            test, masks = json.loads(left.read_text(encoding="utf-8"))
            lines = tests[test]["lines"] if test in tests else recorder.outside
            for name, mask in masks.items():
                lines[name] = lines.get(name, 0) | int(mask, 16)
        everything = {name for entry in tests.values() for name in entry["lines"]} | set(recorder.outside)
        touched = sorted(name for name in everything if (root / name).is_file())
        return {
            "sources": {name: content(root / name) for name in [file, *touched]},
            "outside": _in_hex(recorder.outside),
            "tests": {name: [e["seconds"], _in_hex(e["lines"])] for name, e in tests.items()},
        }

    return work


def _in_hex(lines: Masks) -> dict[str, str]:
    return {name: f"{mask:x}" for name, mask in lines.items()}


def _from_hex(lines: Mapping[str, str]) -> Masks:
    return {name: int(mask, 16) for name, mask in lines.items()}


def content(path: Path) -> str:
    return str(digest(path.read_text(encoding="utf-8")))


class Store:
    """Recorded test files, in a folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        (folder / "sources").mkdir(parents=True, exist_ok=True)

    def _place(self, file: str) -> Path:
        return self.folder / f"{digest(file)}.json.gz"

    def read(self, file: str) -> Recorded | None:
        """Return what is recorded of a test file, also where it is no longer current."""
        if not self._place(file).exists():
            return None
        told = json.loads(gzip.decompress(self._place(file).read_bytes()))
        tests = {name: (spent, _from_hex(lines)) for name, (spent, lines) in told["tests"].items()}
        return Recorded(file, told["sources"], tests, _from_hex(told["outside"]))

    def is_current(self, file: str, *, code: bool = True) -> bool:
        """Say whether neither the test file nor, with ``code``, any file that it executed has changed."""
        if not self._place(file).exists():
            return False
        sources = json.loads(gzip.decompress(self._place(file).read_bytes()))["sources"]
        names = sources if code else [file]
        return all((self.root / n).is_file() and content(self.root / n) == sources[n] for n in names)

    def write(self, file: str, told: Mapping[str, Any]) -> None:
        for name, state in told["sources"].items():
            kept = self.folder / "sources" / state
            if not kept.exists() and not name.startswith("tests/"):
                kept.write_bytes((self.root / name).read_bytes())
        part = self._place(file).with_suffix(".part")
        part.write_bytes(gzip.compress(json.dumps(told).encode(), 6))
        part.replace(self._place(file))

    def source(self, state: str) -> str | None:
        """Return the text of a file as it was when it was recorded, by its hash."""
        kept = self.folder / "sources" / state
        return kept.read_text(encoding="utf-8") if kept.exists() else None


def record(
    store: Store,
    files: Iterable[str],
    packages: Iterable[str],
    options: list[str],
    processes: int,
    until: float = float("inf"),
) -> None:
    """Record test files that are not current."""
    names = list(files)

    def jobs() -> Iterator[Job]:
        for file in names:
            if time.monotonic() < until:
                yield Job(file, recording(store.root, packages, file, options), cpu=900, wall=3600.0)

    for n, done in enumerate(run(jobs(), processes), 1):
        if done.result is None:
            print(f"\n{done.key} could not be recorded: {done.printed[-300:]}", flush=True)
            continue
        store.write(done.key, done.result)
        print(
            f"\rrecorded {n} of {len(names)} test files ({done.seconds:.0f} s: {done.key})\x1b[K",
            end="",
            flush=True,
        )
    if names:
        print()
