"""The benchmarks run, on few data and without R, and say what they found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("benchmarks")
    found = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--without-r", "--out", str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout, json.loads((folder / "benchmarks.json").read_text(encoding="utf-8"))


def test_a_quick_run_times_ours_and_the_peers_and_tells_every_target(
    quick_run: tuple[str, dict[str, Any]],
) -> None:
    printed, found = quick_run
    assert {"native", "statsmodels", "linearmodels"} <= {one["name"] for one in found["amce"]}
    assert all(one["seconds"] > 0 and one["difference"] < 1e-8 for one in found["amce"])
    assert set(found["bootstrap"]) == {"amce", "differences"}
    assert "| statsmodels |" in printed
    targets = {target["claim"]: target["met"] for target in found["targets"]}
    assert len(targets) == 8
    assert targets["AMCEs at least 40 times as fast as cregg cj"] is None
    assert "not measured: left out" in printed
    assert isinstance(targets["peak memory under 600 MB"], bool)
    assert 50 < found["peak_memory_mb"] < 600  # that of a fresh process


def test_a_quick_run_leaves_the_committed_results_alone(quick_run: tuple[str, dict[str, Any]]) -> None:
    committed = ROOT / "benchmarks" / "results" / "RESULTS.md"
    assert not committed.exists() or "A quick run" not in committed.read_text(encoding="utf-8")


def test_the_benchmark_of_reading_has_both_rates_of_every_program() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "reading.py"), "--quick"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for name in (
        "conjury",
        "FastChat / MT-Bench",
        "inspect_ai",
        "lm-evaluation-harness",
        "promptfoo",
        "AlpacaEval",
    ):
        assert run.stdout.count(f"| {name} |") >= 2
