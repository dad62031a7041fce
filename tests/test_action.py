"""The step of the GitHub Action: four states, by the real command, and comments in which no text acts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("id", step.get("name", "")): step for step in ACTION["runs"]["steps"]}


def run_step(folder: Path, file: str, options: str, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Exit code, outputs and summary of the step, as a runner starts it."""
    fails = ACTION["inputs"]["fails"]["default"]
    given = {"command": "judge", "fails": fails, "file": file, "options": options, **inputs}
    variables = {
        name: given[value.strip("${ }").removeprefix("inputs.")]
        for name, value in STEPS["gate"]["env"].items()
    }
    places = {"GITHUB_OUTPUT": "outputs", "GITHUB_STEP_SUMMARY": "summary.md"}
    environment = os.environ | variables | {name: str(folder / place) for name, place in places.items()}
    environment |= {
        "GITHUB_ACTION_PATH": str(ROOT),
        "RUNNER_TEMP": str(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    ended = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", STEPS["gate"]["run"]],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in ended.stderr, ended.stderr
    lines = (folder / "outputs").read_text(encoding="utf-8").splitlines()
    outputs = dict(line.split("=", 1) for line in lines)
    return ended.returncode, outputs, (folder / "summary.md").read_text(encoding="utf-8")


@pytest.fixture
def labels(tmp_path: Path) -> str:
    """A judge who misses a tenth of the labels of one person, who writes labels that act in Markdown."""
    draw = np.random.default_rng(1)
    truth = draw.choice(["[ok](http://x)", "@toxic"], 120)
    other = np.where(truth == "@toxic", "[ok](http://x)", "@toxic")
    verdict = np.where(draw.random(120) < 0.1, other, truth)
    pd.DataFrame({"verdict": verdict, "ann": truth}).to_csv(tmp_path / "my labels.csv", index=False)
    return "my labels.csv"


@pytest.mark.long
@pytest.mark.parametrize(
    ("limit", "state", "code"),
    [
        pytest.param("0.5", "pass", 0, marks=pytest.mark.slow),
        ("0.8", "inconclusive", 0),
        ("0.97", "fail", 1),
        ("7", "broken", 1),
    ],
)
def test_the_state_is_that_of_the_limit_and_its_interval(
    tmp_path: Path, labels: str, limit: str, state: str, code: int
) -> None:
    options = f"--judge verdict --human ann --fail-under 'kappa.lower={limit}'"
    ended, outputs, summary = run_step(tmp_path, labels, options)
    assert (outputs["state"], ended) == (state, code)
    assert summary.startswith("### ")
    assert summary.splitlines()[0].endswith(state)
    if state == "broken":
        assert "kappa.lower" in summary
        return
    document = json.loads(Path(outputs["document"]).read_text(encoding="utf-8"))
    row = next(row for row in document["estimates"] if row["name"] == "kappa")
    assert (float(limit) > row["lower"]) == (state != "pass")
    assert (float(limit) > row["upper"]) == (state == "fail")
    assert f"| {row['lower']:.4g} |" in summary
    assert not re.search(r"\[ok\]\(|@\w|://\w", summary)


@pytest.mark.long
def test_inputs_choose_what_fails_and_a_missing_file_is_broken(tmp_path: Path, labels: str) -> None:
    options = "--judge verdict --human ann --fail-under kappa.lower=0.8"
    two = {"file": f"{labels}\n{labels}\n", "command": "compare-runs"}
    flips = "--judge verdict --human ann --fail-over flips.upper=0.001"
    ended, outputs, _ = run_step(tmp_path, options=flips, fails="inconclusive", **two)
    assert (ended, outputs["state"]) == (1, "inconclusive")
    ended, outputs, summary = run_step(tmp_path, "absent.csv", options)
    assert (ended, outputs["state"]) == (1, "broken")
    assert "absent.csv" in summary


@pytest.mark.long
def test_every_input_and_output_is_described_and_texts_reach_commands_as_variables_alone() -> None:
    for entry in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert entry["description"].endswith(".") or ":" in entry["description"]
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
