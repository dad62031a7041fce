"""``conjury trial``: what it prints, keeps and refuses, and the report on it."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from interrupts import interruptible_process
from made_up.trials import written

from conjury.analysis.trial import load_trial, run_trial
from conjury.inference.errors import InputError


def test_a_trial_prints_its_size_first_and_then_performance(ran: Callable[..., str], tmp_path: Path) -> None:
    printed = ran("trial", written(tmp_path), "--workers", 1)
    assert printed.index("2 cells, 2 methods, 12 draws to be made by 1 process") < printed.index("coverage")
    assert "conjury report trials --results results/trials" in printed.replace("\n", " ")
    table = pd.read_parquet(tmp_path / "results" / "trials" / "tables" / "own.parquet")
    expected = run_trial(load_trial(tmp_path / "own.yaml")).frame
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)


@pytest.mark.slow
def test_a_rerun_makes_no_draws_and_several_trials_share_a_folder(
    ran: Callable[..., str], tmp_path: Path
) -> None:
    file = written(tmp_path)
    ran("trial", file, "--workers", 1)
    other = tmp_path / "other.yaml"
    other.write_text(file.read_text(encoding="utf-8").replace("name: own", "name: other"), encoding="utf-8")
    assert "0 draws to be made" in ran("trial", other, "--workers", 1)
    assert "0 draws to be made" in ran("trial", file, "--workers", 1)
    results = json.loads((tmp_path / "results" / "trials" / "manifest.json").read_text(encoding="utf-8"))[
        "results"
    ]
    assert sorted(one["name"] for one in results) == ["other", "own"]
    ran("report", "trials", "--results", "results/trials")
    page = (tmp_path / "reports" / "trials.html").read_text(encoding="utf-8")
    assert page.count("Own trial") >= 2
    assert "Not shown" not in page


def test_draws_and_methods_are_chosen_by_options(ran: Callable[..., str], tmp_path: Path) -> None:
    ran(
        "trial",
        written(tmp_path),
        "--workers",
        1,
        "--draws",
        4,
        "--only",
        "'means, scale=2.0'",
        "--out",
        "mine",
    )
    table = pd.read_parquet(tmp_path / "mine" / "tables" / "own.parquet")
    assert set(table["draws"]) == {4}
    assert set(table["method"]) == {"means, scale=2.0"}


@pytest.mark.slow
def test_an_interrupted_trial_ends_and_goes_on(tmp_path: Path) -> None:
    """Ctrl-C reaches the workers too; those that compute end with the command."""
    file = written(tmp_path, draws=4000)
    program = "from conjury.cli.main import main; main()"
    command = [sys.executable, "-c", program, "trial", str(file), "--workers", "2"]
    process = interruptible_process(command, cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE)
    draws = tmp_path / "results" / "trials" / "draws"
    until = time.monotonic() + 60
    while len(list(draws.rglob("*.parquet"))) < 5 and time.monotonic() < until:
        time.sleep(0.05)
    kept = len(list(draws.rglob("*.parquet")))
    assert kept >= 5
    os.killpg(process.pid, signal.SIGINT)
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command resumes the trial" in " ".join(printed.split())
    asked: list[int] = []
    trial = load_trial(file)
    run_trial(trial, tmp_path / "results" / "trials", draws=1000, started=lambda one: asked.append(one.draws))
    assert asked[0] < 2000


def processor_seconds() -> float:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


@pytest.mark.slow
def test_the_small_trial_takes_less_than_a_minute_of_two_processors(
    ran: Callable[..., str], tmp_path: Path
) -> None:
    begun = processor_seconds()
    ran("trial", "small", "--workers", 2, figures=("svg", "png", "pdf"))
    assert processor_seconds() - begun < 90  # the part that runs alone included
    table = pd.read_parquet(tmp_path / "results" / "trials" / "tables" / "small.parquet")
    coverage = table[table["measure"] == "coverage"].set_index(["quantity", "clusters", "method"])["estimate"]
    assert coverage["group=b", 5, "Rows as independent"] < 0.7
    assert coverage["tone=rude", 10, "CR2"] > 0.9


CODE = """
from pathlib import Path

Path("ran").touch()


def slow(data):
    return None
"""


@pytest.mark.parametrize("where", ["methods", "performance"])
def test_a_trial_file_that_runs_code_says_so_before_it_does(
    where: str, refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from conjury.cli.commands import trial as command

    (tmp_path / "beside.py").write_text(CODE, encoding="utf-8")
    own = {"methods": [{"name": "slow", "method": "beside:slow"}], "performance": ["bias", "beside:slow"]}
    file = written(tmp_path, **{where: own[where]})
    said: list[tuple[str, bool]] = []

    class Stop(InputError):
        pass

    def print_(line: str) -> None:
        said.append((line, (tmp_path / "ran").exists()))
        raise Stop("Stopped.")

    monkeypatch.setattr(command.console, "print", print_)
    assert "Stopped." in refused("trial", file, "--workers", 1)
    [(line, begun)] = said
    assert line.startswith(f"{file} is a program: it runs own_methods:two_groups, ")
    assert "beside:slow" in line
    assert not begun


@pytest.mark.parametrize("method", ["statsmodels", "amce"])
def test_a_formula_of_a_trial_file_runs_no_code(
    method: str, here: Callable[..., object], tmp_path: Path
) -> None:
    formula = "y ~ I(__import__('pathlib').Path('ran').touch() or group)"
    own = {"name": "own", "method": method, "options": {"formula": formula}}
    here("trial", written(tmp_path, methods=[own]), "--workers", 1)
    assert not (tmp_path / "ran").exists()


@pytest.mark.long
def test_the_passport_is_one_table_and_a_rerun_makes_no_draws(
    ran: Callable[..., str], refused: Callable[..., str], tmp_path: Path
) -> None:
    asked = ("trial", "passport", "--only", "dimensions", "--draws", 4, "--workers", 1, "--out", "measured")
    printed = ran(*asked)
    assert "dimensions: 8 draws" in printed
    table = pd.read_csv(tmp_path / "measured" / "passport.csv")
    assert table["situation"].tolist() == ["10 items", "100 items, best rating of 5%"]
    assert table["draws"].eq(4).all()
    blocks = {file: file.stat().st_mtime_ns for file in (tmp_path / "measured" / "draws").rglob("*.parquet")}
    ran(*asked)
    assert blocks == {file: file.stat().st_mtime_ns for file in blocks}
    assert "did you mean 'labels'" in refused("trial", "passport", "--only", "label")
