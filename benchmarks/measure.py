"""Seconds, bytes, and the machine they were measured on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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


def run_python(arguments: Sequence[str]) -> str:
    """Run a fresh interpreter and return what it prints."""
    found = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
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


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
