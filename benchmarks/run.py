"""Measure the package against its peers, side by side in one run; `--quick` for a short look on few data.

Prints a table, writes it to results/RESULTS.md, and the numbers to results/benchmarks.json. `--size` times
fits of ten million profiles by 100,000 respondents from Parquet; they are simulated once, into build/bench.
"""

from __future__ import annotations

import argparse
import json
import resource
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from measure import (
    BY,
    FEATURES,
    FORMULA,
    FORMULA_WITHOUT_BY,
    HERE,
    ID,
    OUTCOME,
    SCRATCH,
    STIMULI,
    Target,
    best_of,
    import_seconds,
    in_a_process,
    load_choices,
    machine,
    peak_memory,
    publish,
    run_python,
    seconds,
    table,
    target_rows,
    versions,
)
from peers import disagreement, native, python_peers, r_peers, without_r

from conjury.analysis.conjoint import amce, amce_diffs, bootstrap

TOLERANCE = 1e-8


@dataclass(frozen=True)
class Found:
    """Best seconds of one contender, and its largest difference from the package's numbers."""

    name: str
    call: str
    seconds: float
    difference: float


@dataclass(frozen=True)
class Run:
    """All that one run measured; seconds unless the name says otherwise."""

    machine: str
    versions: dict[str, str]
    data: str
    full: bool
    amce: list[Found]
    absent: dict[str, str]
    bootstrap_draws: int
    bootstrap: dict[str, float]
    rows_around_cregg: dict[str, float]
    rows_rounds: int
    peak_memory_mb: float
    import_seconds: dict[str, float]

    def seconds(self, name: str) -> float | None:
        """Seconds of one contender for the AMCEs; None if it is absent."""
        return next((found.seconds for found in self.amce if found.name == name), None)


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
    parser.add_argument("--workload", nargs=2, metavar=("FILE", "DRAWS"), help=argparse.SUPPRESS)
    parser.add_argument("--size", action="store_true", help="fits of ten million profiles, printed only")
    parser.add_argument("--fit", choices=CLUSTERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        fit_large(arguments.fit)
        return
    if arguments.size:
        size()
        return
    if arguments.workload:
        workload(arguments.workload[0], int(arguments.workload[1]))
        return
    found = measure(QUICK if arguments.quick else FULL, with_r=not arguments.without_r)
    publish("RESULTS", markdown(found), written=not arguments.quick)
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(found) | {"targets": [asdict(target) for target in targets(found)]}, indent=2)
    (arguments.out / "benchmarks.json").write_text(text + "\n", encoding="utf-8")


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
        memory = float(run_python([__file__, "--workload", str(path), str(effort.draws)]))
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


def workload(path: str, draws: int) -> None:
    """All of the package's own work once; prints the peak memory in MB."""
    choices = pd.read_parquet(path)
    amce(choices, FORMULA, id=ID)
    bootstrap(amce, choices, FORMULA, unit=ID, draws=draws, seed=1)
    bootstrap(amce_diffs, choices, FORMULA_WITHOUT_BY, by=BY, unit=ID, draws=draws, seed=1)
    print(peak_memory())


RESPONDENTS, TASKS, CHUNK = 100_000, 50, 5_000
LARGE = SCRATCH / "size.parquet"
CLUSTERS = {"one-way": ["judge_id"], "three-way": ["judge_id", "text", "user"]}


def size() -> None:
    """Fit ten million profiles, each time in a process of its own, so that its peak memory is its own."""
    if not LARGE.is_file():
        print(f"simulating {RESPONDENTS:,} respondents with {TASKS} tasks each")
        write_choices(LARGE)
    for name in CLUSTERS:
        print(name, in_a_process([__file__, "--fit", name]))


def fit_large(name: str) -> None:
    """Fit once in this process, reading the file included."""
    kept = []
    taken = seconds(lambda: kept.append(amce(LARGE, FORMULA, id=CLUSTERS[name])))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    rows = kept[0].provenance.n_rows
    print(json.dumps({"rows": rows, "seconds": round(taken, 2), "peak_gb": round(peak, 2)}))


def write_choices(file: Path) -> None:
    """Simulate the panel of the moderation study in parts, into one file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from conjury.inference.design.profiles import enumerate_profiles
    from conjury.inference.simulation import simulate
    from conjury.inference.study import load_study

    study = load_study("moderation")
    design = study.design.model_copy(update={"tasks": TASKS, "repeat_first": False})
    study = study.model_copy(update={"design": design})
    profiles = enumerate_profiles(study)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    draft, writer = file.with_suffix(".draft"), None
    columns = ["judge_id", ID, *STIMULI, OUTCOME, *FEATURES]
    for number in range(RESPONDENTS // CHUNK):
        made = simulate(
            study, number, respondents=CHUNK, judges=["human"], profiles=profiles, truth=False
        ).choices
        for name in ("judge_id", ID):
            made[name] = pd.Series(f"{number:02d}_", index=made.index).str.cat(made[name].astype("str"))
        table = pa.Table.from_pandas(made[columns], preserve_index=False)
        writer = writer or pq.ParquetWriter(draft, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()
    draft.replace(file)


def targets(run: Run) -> list[Target]:
    """Check every target."""
    native = run.seconds("native") or float("nan")
    found = []
    for peer, least in (("cregg cj", 40.0), ("statsmodels", 1.0), ("linearmodels", 1.0), ("pyfixest", 1.0)):
        seconds = run.seconds(peer)
        claim = (
            f"AMCEs at least {least:.0f} times as fast as {peer}"
            if least > 1
            else f"AMCEs faster than {peer}"
        )
        if seconds is None:
            found.append(Target(claim, f"not measured: {run.absent[peer]}", None))
        else:
            found.append(Target(claim, f"{seconds / native:.1f} times", seconds / native > least))
    both = sum(run.bootstrap.values())
    claim = f"{run.bootstrap_draws:,} draws of both bootstraps within 0.7 s"
    found.append(Target(claim, f"{both:.2f} s", both <= 0.7))
    claim = "both bootstraps at least 2,000 times as fast as rows around cregg"
    if run.rows_around_cregg:
        ratio = sum(run.rows_around_cregg.values()) / both
        found.append(Target(claim, f"{ratio:,.0f} times", ratio >= 2000))
    else:
        found.append(Target(claim, f"not measured: {run.absent['cregg cj']}", None))
    memory = run.peak_memory_mb
    found.append(Target("peak memory under 600 MB", f"{memory:.0f} MB", memory < 600))
    taken = run.import_seconds["conjury.analysis"]
    found.append(Target("import conjury.analysis under 0.5 s", f"{taken:.3f} s", taken < 0.5))
    return found


def markdown(run: Run) -> str:
    """Write the page."""
    return "\n\n".join([_head(run), _amce(run), _bootstrap(run), _size(run), _targets(run)]) + "\n"


def _head(run: Run) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    kind = "" if run.full else "\n\nA quick run on few data: the targets are meant for the full run."
    return (
        f"# Benchmarks\n\nWritten by `make bench`. Every time is the best of several in one run.{kind}\n\n"
        f"- Data: {run.data}\n- Machine: {run.machine}\n- Versions: {listed}"
    )


def _amce(run: Run) -> str:
    native = run.seconds("native") or float("nan")
    rows = [
        [
            found.name,
            f"`{found.call}`" if found.call != "in R" else "timed inside R",
            f"{found.seconds * 1e3:,.1f}",
            f"{found.seconds / native:,.1f}",
            f"{found.difference:.0e}" if found.name != "native" else "",
        ]
        for found in sorted(run.amce, key=lambda found: found.seconds)
    ]
    rows += [[name, reason, "", "", ""] for name, reason in run.absent.items()]
    head = ["contender", "call", "ms", "times native", "largest difference"]
    return f"## AMCEs with clustered standard errors\n\n{table(head, rows)}\n\n{AGREEMENT}"


AGREEMENT = (
    "Before anything is timed, estimates (absolutely) and standard errors (relatively, brought to the same "
    "small-sample correction) must agree with the native engine to 1e-8."
)


def _bootstrap(run: Run) -> str:
    ours = {**run.bootstrap, "both": sum(run.bootstrap.values())}
    theirs = {**run.rows_around_cregg, "both": sum(run.rows_around_cregg.values())}
    rows = [
        [
            name,
            f"{seconds:.2f}",
            f"{theirs[name]:,.0f}" if run.rows_around_cregg else "",
            f"{theirs[name] / seconds:,.0f}" if run.rows_around_cregg else "",
        ]
        for name, seconds in ours.items()
    ]
    head = ["estimates", "pairs, native, s", "rows, around cregg, s", "ratio"]
    scaled = (
        f"The time around cregg is that of a draw on every core, the best of {run.rows_rounds}, scaled. "
        "One draw of rows is checked to give the same estimates by weights."
    )
    scaled = scaled if run.rows_around_cregg else ""
    return f"## Bootstrap, {run.bootstrap_draws:,} draws\n\n{table(head, rows)}\n\n{scaled}".rstrip()


def _size(run: Run) -> str:
    rows = [
        ["peak memory of the AMCEs and both bootstraps in a fresh process", f"{run.peak_memory_mb:.0f} MB"]
    ]
    rows += [[f"`import {module}`", f"{taken:.3f} s"] for module, taken in run.import_seconds.items()]
    return f"## Size\n\n{table(['what', 'measured'], rows)}"


def _targets(run: Run) -> str:
    return f"## Targets\n\n{target_rows(targets(run))}"


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
