"""What all benchmarks share: the data, seconds and bytes, the machine, tables and pages of results."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SCRATCH = HERE.parent / "build" / "bench"  # on disk, where a folder for temporary files may be in memory
sys.path += [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "support")]

PACKAGES = ("conjury", "numpy", "scipy", "pandas", "statsmodels", "linearmodels", "pyfixest", "wildboottest")


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def best_of(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Least seconds of each contender; all take turns, so that a busy moment hits them alike."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, function in contenders.items():
            taken[name].append(seconds(function))
    return {name: min(found) for name, found in taken.items()}


def import_seconds(module: str, processes: int) -> float:
    """Least seconds that importing a module takes in fresh processes, the interpreter's start not counted."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return min(float(run_python(["-c", code])) for _ in range(processes))


def run_python(arguments: Sequence[str], limit: float | None = None) -> str:
    """Run a fresh interpreter and return what it prints."""
    command = [sys.executable, *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    if found.returncode:
        raise RuntimeError(f"a fresh process failed:\n{found.stderr}")
    return found.stdout


def peak_memory() -> float:
    """Most memory that this process has held, in MB (10^6 bytes).

    Linux also counts in ``ru_maxrss`` what the parent held when it started this process, so its
    own count of this program is read there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Describe the machine in general words."""
    listed = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", listed.read_text()) if listed.exists() else []
    model = models[0] if models else platform.processor() or platform.machine()
    load = f"load {os.getloadavg()[0]:.1f} before the run" if hasattr(os, "getloadavg") else "load unknown"
    return f"{cores()} cores ({load}), {model}, {platform.system()}, Python {platform.python_version()}"


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Versions of those packages that are installed, of our own with its commit."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = f"{version(name)} ({commit()})" if name == "conjury" else version(name)
    return found


def commit() -> str:
    """The commit of the checkout, and whether the code that is measured differs from it."""
    try:
        name = subprocess.run(
            ["git", "rev-parse", "--short=8", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    code = [str(HERE.parent / folder) for folder in ("analysis", "inference", "cli", "R")]
    difference = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *code], cwd=HERE, check=False)
    return f"{name} with changes" if difference.returncode else name


def listed(named: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in named.items())


def in_a_process(arguments: Sequence[str], limit: float | None = None) -> dict[str, Any]:
    """Run a measurement in a fresh process; its last line is what it found, as JSON."""
    return dict(json.loads(run_python(arguments, limit).splitlines()[-1]))


@dataclass(frozen=True)
class Target:
    """A claim, what was measured, and whether it holds; None where it could not be measured."""

    claim: str
    measured: str
    met: bool | None


def table(head: list[str], rows: list[list[str]]) -> str:
    """Write a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def target_rows(targets: Sequence[Target]) -> str:
    """Write a table of targets, met or not."""
    says = {True: "met", False: "**not met**", None: "not measured"}
    rows = [[target.claim, target.measured, says[target.met]] for target in targets]
    return table(["target", "measured", ""], rows)


def page(title: str, facts: Mapping[str, str], *parts: str, by: str = "make bench") -> str:
    """Write a page: what was measured and where, and its sections."""
    told = "\n".join(f"- {name}: {text}" for name, text in facts.items())
    opening = f"# {title}\n\nWritten by `{by}`. All times are of one run."
    return "\n\n".join([opening, told, *parts]) + "\n"


def publish(name: str, text: str, written: bool = True) -> None:
    """Print a page and, unless the run was a quick one, keep it among the results."""
    print(text)
    if written:
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


OUTCOME, ID, BY = "chosen", "pair_id", "identity"
FEATURES = ("slur", "identity", "topic", "reply", "curse", "engagement")
FORMULA = f"{OUTCOME} ~ {' + '.join(FEATURES)}"
FORMULA_WITHOUT_BY = f"{OUTCOME} ~ {' + '.join(name for name in FEATURES if name != BY)}"
STIMULI = {"text": ("topic", "scenario_id"), "user": ("identity", "user_id")}
PAIRS = 30_000


@dataclass(frozen=True)
class Choices:
    """A table of choices, two rows per pair, and one sentence on where it comes from."""

    table: pd.DataFrame
    source: str


def load_choices(pairs: int | None = None) -> Choices:
    """Load the real choices, or simulate as many; with ``pairs``, simulate that many."""
    from golden import GOLDEN, gemini

    from conjury.inference.simulation import simulate
    from conjury.inference.study import load_study

    if GOLDEN.is_dir() and pairs is None:
        table, source = gemini(), "forced choices of Gemini 2.5 Flash, baseline prompt"
    else:
        study = load_study("moderation")
        found = simulate(study, seed=1, pairs=pairs or PAIRS, judges=["gpt4o"], prompts=["baseline"])
        table, source = found.choices, "simulated forced choices of one model, baseline prompt"
    for stimulus, (attribute, number) in STIMULI.items():
        if stimulus not in table:
            table[stimulus] = table[attribute].astype(str) + "_" + table[number].astype(str)
    table = table[[ID, OUTCOME, *FEATURES, *STIMULI]].astype({OUTCOME: "int64"})
    table[ID] = pd.factorize(table[ID])[0]
    return Choices(table, f"{len(table):,} rows, {source}")
