"""Ceilings of memory, and of processor time beside work that a slow machine slows as well, with half more.

They say nothing on a machine that does other work, so they are a lane of their own (``make test-ceilings``).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from conjury.analysis.frames.cells import refuse_shared_numbers
from conjury.analysis.numerics.intervals.weighted_items import distinct_rows
from conjury.analysis.numerics.rating_panel import panel_from
from conjury.analysis.raters.agreement.icc import reml_variances
from conjury.analysis.raters.agreement.pair_kappas import mean_kappa
from conjury.analysis.raters.scale_hints import scale_hints
from conjury.inference.tables import validate
from conjury.inference.tables.columns import rows_of
from conjury.inference.tables.files import count_formulas
from conjury.inference.tables.reading import read

pytestmark = pytest.mark.ceiling
ROWS = 100_000
LABELS = ["yes", "no", "perhaps"]
RATED = "--format csv --item item --judge human --value rating --again sample"


def processor_time(work: Callable[[], object], runs: int = 7) -> float:
    """The least time of several runs."""
    seconds = []
    for _ in range(runs):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def cost_of_process(code: str, folder: Path) -> tuple[float, float]:
    """The least processor time of a process, of several, and the most megabytes in its memory."""
    memory = "open('/proc/self/status').read().split('VmHWM:')[1].split()[0]"
    script = f"import atexit, time; atexit.register(lambda: print(time.process_time(), {memory}))\n{code}"
    command = [sys.executable, "-c", script]
    runs = [subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True) for _ in range(5)]
    costs = [tuple(map(float, run.stdout.splitlines()[-1].split())) for run in runs]
    return min(seconds for seconds, _ in costs), max(kilobytes for _, kilobytes in costs) / 1000


def command_of(text: str) -> str:
    return f"import sys; sys.argv = ['conjury', *{text.split()!r}]; from conjury.cli.main import main; main()"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels of 100,000 items, and of 10,000 by two versions of a judge."""
    random, folder = np.random.default_rng(1), tmp_path_factory.mktemp("ceilings")
    table = pd.DataFrame(
        {
            "item": [f"i{number}" for number in range(ROWS)],
            "judge": random.choice(LABELS, ROWS),
            "human": random.choice(LABELS, ROWS),
            "score": (random.random(ROWS) * 10).round(2),
            "rating": random.integers(1, 6, ROWS),
        }
    )
    table.to_csv(folder / "labels.csv", index=False)
    for name in ("a", "b"):
        small = table.head(10_000).assign(judge=random.choice(LABELS, 10_000))
        small.to_csv(folder / f"{name}.csv", index=False)
    run = "collect moderation --judge gpt4o --backend simulated --prompt baseline --pairs 200 --out run"
    subprocess.run([sys.executable, "-c", command_of(run)], cwd=folder, check=True)
    return folder


def test_a_csv_is_read_in_few_times_the_time_of_pandas(place: Path) -> None:
    table = place / "labels.csv"
    read(table)
    ratio = processor_time(lambda: read(table)) / processor_time(lambda: pd.read_csv(table))
    assert ratio < 2.8  # measured 1.73 to 1.83


@pytest.mark.parametrize(
    ("code", "seconds", "megabytes"),
    [
        ("import conjury.analysis", 0.2, 0),
        ("from conjury import amce", 1.9, 20),  # measured 1.3, 11
        ("judge a.csv --judge judge --human human", 4.2, 90),  # measured 2.8, 71
        ("compare-runs a.csv b.csv --judge judge --human human", 3.8, 95),  # measured 2.5, 78
        ("view run --study moderation --html t.html", 13.2, 160),  # measured 7.6, 139: 206 transcripts
        ("collect moderation --judge gpt4o --backend simulated --pairs 51 --out small", 10, 215),  # 6.5, 189
        (f"import labels.csv {RATED} --out r.parquet", 4, 75),  # measured 2.4, 70
    ],
)
def test_little_is_taken_beside_pandas(place: Path, code: str, seconds: float, megabytes: float) -> None:
    code = command_of(code) if " --" in code else code
    ours, pandas = (cost_of_process(each, place) for each in (code, "import pandas"))
    assert ours[0] / pandas[0] < seconds
    assert ours[1] - pandas[1] < megabytes


def test_six_hundred_thousand_rows_are_checked_within_two_seconds() -> None:
    names, tasks = ["judge_id", "prompt_id", "pair_id", "position"], range(30_000)
    levels = [["m1", "m2"], list("abcde"), tasks, ["A", "B"]]
    rows = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    chosen = (rows["position"] == "A").astype("Int64")
    rows = rows.assign(judge_kind="model", status="ok", repeat=False, chosen=chosen, slur="racism")
    assert processor_time(lambda: validate(rows, "choices"), 2) < 2


def test_texts_of_many_rows_take_the_time_of_simple_work() -> None:
    rows = pd.DataFrame({"judge": pd.Series(LABELS * ROWS, dtype="string"), "kind": "human", "value": 1.0})
    texts = rows[["judge"]]
    cells, text = (processor_time(work, 3) for work in (lambda: list(rows["judge"]), texts.to_csv))
    assert processor_time(lambda: list(rows_of(texts)), 3) / cells < 0.5  # measured 0.12 to 0.25
    assert processor_time(lambda: count_formulas(texts), 3) / text < 0.2  # measured 0.04; row by row 2.3
    assert processor_time(lambda: scale_hints(rows), 3) / cells < 0.6  # measured 0.13; by all rows 8


def test_tasks_of_one_judge_are_told_apart_by_two_of_their_columns() -> None:
    named = {"judge_id": "gpt", "prompt_id": "plain", "position": ["A", "B"] * 30_000}
    rows = pd.DataFrame({"pair_id": np.repeat(np.arange(30_000), 2), **named}).astype("string")
    ours = processor_time(lambda: refuse_shared_numbers(rows, ["judge_id"]))
    assert ours / processor_time(lambda: rows.duplicated(list(rows))) < 0.95  # measured 0.55 to 0.68


@pytest.mark.parametrize(("share", "most"), [(0.0, 6.6), (0.2, 17.5)])
def test_the_mean_kappa_costs_few_times_its_main_product(share: float, most: float) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (500, 100)).astype(float)
    values[rng.random(values.shape) < share] = np.nan
    panel, draws = panel_from(values, range(4)), rng.gamma(1.0, size=(800, 500))
    product = rng.random((500, 4950))
    with threadpool_limits(1):
        ours = processor_time(lambda: mean_kappa(panel, np.eye(4), draws), 3)
        assert ours / processor_time(lambda: draws @ product, 3) < most  # measured 4.4 and 11.6


def test_a_refit_of_variances_of_a_sparse_panel_costs_few_inverses_of_its_raters() -> None:
    rng = np.random.default_rng(1)
    values = np.full((3_000, 100), np.nan)  # four raters of a hundred rate an item
    raters = rng.random(values.shape).argsort(axis=1)[:, :4]
    ratings = rng.normal(2, 1, (3_000, 1)) + rng.normal(0, 1, 100)[raters] + rng.normal(0, 1, (3_000, 4))
    np.put_along_axis(values, raters, ratings, axis=1)
    panel, draws = panel_from(values.round()), rng.multinomial(3_000, np.full(3_000, 1 / 3_000), 200)
    matrices = rng.random((200, 100, 100)) + 100 * np.eye(100)
    with threadpool_limits(1):
        ours = processor_time(lambda: reml_variances(panel, draws, crossed=True), 3)
        assert ours / processor_time(lambda: np.linalg.inv(matrices), 3) < 5.5  # measured 2.9 to 3.7


def test_rows_of_labels_are_told_apart_in_few_sorts_of_their_columns() -> None:
    rows = np.eye(3)[np.random.default_rng(1).integers(0, 3, (ROWS, 2))].reshape(ROWS, 6)
    ours = processor_time(lambda: distinct_rows(rows), 3)
    sort = processor_time(lambda: [np.argsort(column, kind="stable") for column in rows.T], 3)
    assert ours / sort < 1.4  # measured .6 to 1; np.unique of each column: 6
