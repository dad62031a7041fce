"""Tries mutants, each in a fresh process, and appends a verdict for each to a file."""

from __future__ import annotations

import ast
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mutants import hook
from mutants.processes import Done, Job, run
from mutants.recording import settle_hypothesis
from mutants.sampling import digest

# A mutant is noticed if a test fails, the import fails, or the tests end no more in time.
NOTICED = ("killed", "broken", "timeout", "crashed")


@dataclass(frozen=True)
class Trial:
    """A mutant with all that its process needs."""

    id: str
    file: str
    path: Path
    module: str
    text: str  # of the whole module, changed
    tests: tuple[str, ...]
    seconds: float  # that the tests take without the change
    told: dict[str, Any] = field(default_factory=dict)  # goes into the verdict
    whole: bool = False  # all tests run, also after one has failed


class Choice:
    """A plugin of pytest that keeps the chosen tests, in their order, and notes which one fails."""

    def __init__(self, tests: Iterable[str]) -> None:
        self.order = {name: n for n, name in enumerate(tests)}
        self.failed: dict[str, str] = {}
        self.ran = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran += report.when == "call"
        if report.failed:
            self._note(report)

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        self.failed.setdefault(report.nodeid, lines[0][1:].strip()[:200] if lines else "")


def trying(root: Path, trial: Trial, options: list[str]) -> Callable[[Path], Any]:
    """Return the job that runs the tests of a mutant."""

    def work(folder: Path) -> Any:
        os.chdir(root)
        hook.install(trial.module, trial.path, trial.text, folder)
        settle_hypothesis()
        failed, ran = dict[str, str](), 0
        stop = [] if trial.whole else ["--maxfail=1"]
        for n, tests in enumerate(in_parts(trial.tests)):
            choice = Choice(tests)
            files = list(dict.fromkeys(map(file_of, tests)))
            pytest.main([*options, *stop, f"--basetemp={folder}/base{n}", *files], plugins=[choice])
            failed, ran = failed | choice.failed, ran + choice.ran
            if failed and not trial.whole:
                break
        traces = [name for name in ("imported", "broken") if (folder / name).exists()]
        return {"failed": failed, "ran": ran, "traces": traces}

    return work


def file_of(test: str) -> str:
    return test.partition("::")[0]


def in_parts(tests: Sequence[str]) -> Iterator[list[str]]:
    """Yield the tests of the first two files, then of eight, then the others: most mutants need no third."""
    files = list(dict.fromkeys(map(file_of, tests)))
    for part in (files[:2], files[2:10], files[10:]):
        if part:
            yield [test for test in tests if file_of(test) in part]


def verdict(done: Done) -> dict[str, Any]:
    """Judge how a job ended."""
    if done.late:
        return {"verdict": "timeout"}
    if done.result is None:  # no Python traceback: the interpreter died, by the mutant
        kind = "not run" if "Traceback" in done.printed else "crashed"
        return {"verdict": kind, "message": done.printed[-300:]}
    failed, traces = done.result["failed"], done.result["traces"]
    noted: dict[str, Any] = {"ran": done.result["ran"]}
    if "imported" not in traces or not (failed or done.result["ran"]):
        return {**noted, "verdict": "not run", "message": done.printed[-300:]}
    if not failed:
        return {**noted, "verdict": "survived"}
    test, message = next(iter(failed.items()))
    kind = "broken" if "broken" in traces else "killed"
    more = {"failed": list(failed)} if len(failed) > 1 else {}
    return {**noted, **more, "verdict": kind, "by": test, "message": message}


def state_of_test(root: Path, test: str) -> str | None:
    """Return a hash of the function that a test's name names; None for what is no longer there."""
    file, _, name = test.partition("[")[0].partition("::")
    if not (root / file).is_file():
        return None
    text = (root / file).read_text(encoding="utf-8")
    if not name:  # the import of the file failed
        return ""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name.split("::")[-1]:
            return str(digest(ast.unparse(node)))
    return None


def has_lost_its_test(root: Path, verdict: Mapping[str, Any]) -> bool:
    """Say whether the test that noticed a mutant has gone or changed since."""
    return "state" in verdict and state_of_test(root, verdict["by"]) != verdict["state"]


class Verdicts:
    """A file of verdicts, one a line, of which the last of a mutant holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                told = json.loads(line)
            except json.JSONDecodeError:  # cut off by a crash
                continue
            self.known[told["id"]] = told

    def add(self, told: dict[str, Any]) -> None:
        self.known[told["id"]] = told
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")


def try_all(
    root: Path,
    trials: Iterable[Trial],
    verdicts: Verdicts,
    *,
    total: int,
    options: list[str],
    processes: int,
    until: float = float("inf"),
    say: Callable[[str], None] = print,
) -> None:
    """Try mutants until a time of the monotonic clock; those without tests are not reached."""
    began, started = time.monotonic(), dict[str, Trial]()
    counts = dict[str, int]()

    def settle(trial: Trial, told: dict[str, Any]) -> None:
        if "by" in told:
            told["state"] = state_of_test(root, told["by"])
        verdicts.add({"id": trial.id, "file": trial.file, **trial.told, **told})
        counts[told["verdict"]] = counts.get(told["verdict"], 0) + 1
        tried = sum(counts.values())
        rest = (time.monotonic() - began) / tried * (total - tried)
        shown = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
        say(f"{tried} of {total} mutants, {rest / 60:.0f} minutes to go: {shown}")

    def jobs() -> Iterator[Job]:
        for trial in trials:
            if time.monotonic() > until:
                return
            if not trial.tests:
                settle(trial, {"verdict": "not reached"})
                continue
            started[trial.id] = trial
            limit = 40 + 4 * trial.seconds
            yield Job(trial.id, trying(root, trial, options), cpu=int(limit), wall=6 * limit)

    for done in run(jobs(), processes):
        settle(started.pop(done.key), {**verdict(done), "seconds": round(done.seconds, 1)})
