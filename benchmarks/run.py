"""Measure the package against its peers, side by side in one run; `--quick` for a short look on few data.

Prints a table, writes it to RESULTS.md beside this file, and the numbers to results/benchmarks.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import best_of, import_seconds, machine, run_python, versions
from peers import disagreement, native, python_peers, r_peers, without_r
from tables import Found, Run, markdown, targets

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap
from data import BY, FORMULA, FORMULA_WITHOUT_BY, ID, load_choices

HERE = Path(__file__).resolve().parent
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Effort:
    """How much to do: pairs to simulate (None: the full data), rounds, draws, draws of R, fresh processes."""

    pairs: int | None
    rounds: int
    draws: int
    r_draws: int
    processes: int


FULL = Effort(pairs=None, rounds=15, draws=1000, r_draws=5, processes=5)
QUICK = Effort(pairs=1000, rounds=1, draws=100, r_draws=1, processes=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few simulated data, one round, no RESULTS.md")
    parser.add_argument("--without-r", action="store_true", help="leave cregg and survey out")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results", help="folder of benchmarks.json")
    arguments = parser.parse_args()
    found = measure(QUICK if arguments.quick else FULL, with_r=not arguments.without_r)
    table = markdown(found)
    print(table)
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(found) | {"targets": [asdict(target) for target in targets(found)]}, indent=2)
    (arguments.out / "benchmarks.json").write_text(text + "\n", encoding="utf-8")
    if not arguments.quick:
        (HERE / "RESULTS.md").write_text(table, encoding="utf-8")


def measure(effort: Effort, with_r: bool = True) -> Run:
    """Check that all agree, then time everything."""
    described = machine()
    choices = load_choices(effort.pairs)
    data = choices.table
    peers, absent = python_peers(data)
    ours = native(data)
    differences = {name: disagreement(ours, peer.run(), peer.factor) for name, peer in peers.items()}
    in_r = without_r("left out")
    if with_r:
        in_r = r_peers(data, repeats=max(1, effort.rounds // 3), draws=effort.r_draws)
    differences |= {name: disagreement(ours, table, 1.0) for name, table in in_r.estimates.items()}
    for name, difference in differences.items():
        assert difference < TOLERANCE, f"{name} differs from native by {difference:.1e}"

    contenders = {"native": lambda: native(data)} | {name: peer.run for name, peer in peers.items()}
    amce_seconds = best_of(contenders, effort.rounds)
    bootstraps = best_of(
        {
            "amce": lambda: bootstrap(amce, data, FORMULA, unit=ID, draws=effort.draws, seed=1),
            "differences": lambda: bootstrap(
                amce_diffs, data, FORMULA_WITHOUT_BY, by=BY, unit=ID, draws=effort.draws, seed=1
            ),
        },
        max(1, effort.rounds // 3),
    )
    with TemporaryDirectory() as name:
        path = Path(name) / "choices.parquet"
        data.to_parquet(path)
        memory = float(run_python([str(HERE / "workload.py"), str(path), str(effort.draws)]))
    modules = ("conjury.analysis", "conjury.analysis.conjoint")
    calls = {"native": "amce(choices, formula, id=...)"} | {name: peer.call for name, peer in peers.items()}
    return Run(
        machine=described,
        versions=versions() | in_r.versions,
        data=choices.source,
        full=effort == FULL,
        amce=[
            Found(name, calls.get(name, "in R"), taken, differences.get(name, 0.0))
            for name, taken in (amce_seconds | in_r.amce_seconds()).items()
        ],
        absent=absent | in_r.absent,
        bootstrap_draws=effort.draws,
        bootstrap=bootstraps,
        rows_around_cregg=in_r.seconds_of(effort.draws),
        rows_rounds=in_r.rounds,
        peak_memory_mb=memory,
        import_seconds={module: import_seconds(module, effort.processes) for module in modules},
    )


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
