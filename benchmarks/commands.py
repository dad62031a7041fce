"""Computing and memory of every command that takes a table, at three sizes, and how they grow.

Each command runs once at each size in a process of its own, smallest first. Prints a table and writes it to
results/COMMANDS.md; `--quick` for three small sizes. The exponent is that of the computing above the start
(what a table of 1,000 rows takes), from the second to the third size: 1 where time grows as rows do.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
from measure import SCRATCH, in_a_process, listed, machine, page, publish, table, versions

SMALLEST, SIZES, QUICK = 1_000, (40_000, 160_000, 640_000), (2_000, 4_000, 8_000)
LABELS = ["yes", "no", "perhaps"]
RUN = """import atexit, json, os, re, sys
from pathlib import Path
def report():
    memory = int(re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[0]) / 1000
    print(json.dumps({"seconds": sum(os.times()[:4]), "megabytes": memory}))
atexit.register(report)
sys.argv = ["conjury", *sys.argv[1:]]
from conjury.cli.main import main
try:
    main()
except SystemExit as end:
    if end.code not in (None, 0, 1):  # 1: a check that alarms
        raise"""
FIXED = """import json, time, numpy as np, pandas as pd
random = np.random.default_rng(1)
table = pd.DataFrame({"a": random.integers(0, 1000, 1_000_000).astype(str), "b": random.random(1_000_000)})
start = time.process_time()
for _ in range(3):
    table.groupby("a")["b"].sum()
    table.sort_values("b")
print(json.dumps({"seconds": time.process_time() - start}))"""


@dataclass(frozen=True)
class Command:
    """A command, and what writes its table of so many rows."""

    text: str
    write: Callable[[Path, int], None]


def labels(folder: Path, n: int) -> None:
    """A table with a verdict, a label by a person and a score for each item, as CSV."""
    random = np.random.default_rng(1)
    human = random.choice(LABELS, n)
    for name in ("t.csv", "other.csv"):
        right, score = random.random(n) < 0.8, random.random(n)
        columns = {"item": np.arange(n), "judge": np.where(right, human, random.choice(LABELS, n))}
        frame = pd.DataFrame({**columns, "human": human, "score": score.round(2)})
        frame.to_csv(folder / name, index=False)


def ratings(folder: Path, n: int) -> None:
    """A rating per row: ten people and a model rate all items, as CSV."""
    random = np.random.default_rng(1)
    judges = [*(f"r{number}" for number in range(10)), "model"]
    items = -(-n // len(judges))
    truth = np.repeat(random.integers(1, 6, items), len(judges))
    frame = pd.DataFrame(
        {
            "judge_id": np.tile(judges, items),
            "judge_kind": np.tile(["human"] * 10 + ["model"], items),
            "item_id": np.repeat([f"i{number}" for number in range(items)], len(judges)),
            "dimension": "wit",
            "value": np.clip(truth + random.integers(-1, 2, len(truth)), 1, 5),
        }
    )
    frame.to_csv(folder / "t.csv", index=False)


def pairs(folder: Path, n: int) -> None:
    """A verdict on a pair of ten systems per row, as CSV."""
    random = np.random.default_rng(1)
    first = random.integers(0, 10, n)
    second = (first + random.integers(1, 10, n)) % 10
    columns = {"prompt": np.arange(n) // 5, "model_a": first, "model_b": second}
    frame = pd.DataFrame({**columns, "winner": random.choice(["model_a", "model_b", "tie"], n)})
    frame["model_a"], frame["model_b"] = ("s" + frame[name].astype(str) for name in ("model_a", "model_b"))
    frame.to_csv(folder / "t.csv", index=False)


def choices(folder: Path, n: int) -> None:
    """Choices of one judge of the moderation study, two rows per pair, as Parquet."""
    from conjury.inference.simulation import simulate
    from conjury.inference.study import load_study

    study = load_study("moderation")
    drawn = simulate(study, seed=1, pairs=n // 2, judges=["gpt4o"], prompts=["baseline"])
    drawn.choices.to_parquet(folder / "t.parquet")


RATED = "--item item_id --judge judge_id --judge-kind judge_kind --dimension dimension --value value"
COMMANDS = (
    Command("judge t.csv --judge judge --human human", labels),
    Command("compare-runs t.csv other.csv --judge judge --human human", labels),
    Command("read t.csv", labels),
    Command(f"import t.csv --format csv {RATED} --out j.parquet", ratings),
    Command("agreement t.csv --figures none", ratings),
    Command("alt-test t.csv --figures none", ratings),
    Command("compare-pairs t.csv", pairs),
    Command("convert t.parquet --out c.csv", choices),
    Command("check t.parquet --study moderation", choices),
    Command("fit moderation --data t.parquet --figures none", choices),
)


def main() -> None:
    """Measure, print, and keep the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, no COMMANDS.md")
    quick = parser.parse_args().quick
    described, sizes, start = machine(), QUICK if quick else SIZES, time.perf_counter()
    folder = SCRATCH / "commands"
    rows = []
    for command in COMMANDS:
        rows.append(measured(command, folder, sizes))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    fixed = in_a_process(["-c", FIXED])["seconds"]
    shutil.rmtree(folder)
    head = ["command", "start, s", *(f"{size:,} rows, s" for size in sizes), "exponent", "MB at start"]
    head += ["MB per million rows"]
    facts = {
        "Machine": described,
        "Versions": listed(versions(("conjury", "numpy", "pandas", "pyarrow"))),
        "Beside": f"three sums by group and sorts of a million rows in pandas: {fixed:.2f} s",
    }
    text = (
        f"Seconds are of processors, user and system. The run took {time.perf_counter() - start:,.0f} s. "
        "The exponent is that of the seconds above the start, from the second to the third size."
    )
    publish(
        "COMMANDS",
        page("Commands on files", facts, text, table(head, rows), by="benchmarks/commands.py"),
        written=not quick,
    )


def measured(command: Command, folder: Path, sizes: Sequence[int]) -> list[str]:
    """A row of the table: seconds and memory of a command at each size."""
    seconds, megabytes = [], []
    for size in (SMALLEST, *sizes):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command.write(folder, size)
        taken = _run(command.text.split(), folder)
        seconds.append(taken["seconds"])
        megabytes.append(taken["megabytes"])
    middle, most = (max(value - seconds[0], 0.01) for value in seconds[-2:])
    exponent = log(most / middle) / log(sizes[-1] / sizes[-2])
    per_million = (megabytes[-1] - megabytes[0]) / sizes[-1] * 1e6
    numbers = [f"{value:.1f}" for value in seconds]
    memory = [f"{megabytes[0]:,.0f}", f"{max(per_million, 0):,.0f}"]
    return [f"`{command.text.split(' --')[0]}`", *numbers, f"{exponent:.2f}", *memory]


def _run(arguments: Sequence[str], folder: Path) -> dict[str, float]:
    """Seconds and megabytes of a command in a folder."""
    start = f"import os\nos.chdir({json.dumps(str(folder))})\n"
    return in_a_process(["-c", start + RUN, *arguments])


if __name__ == "__main__":
    main()
