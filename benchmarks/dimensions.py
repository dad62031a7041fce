"""The model of dimensions at the size of a real study, from judgments to tables: results/DIMENSIONS.md.

    .venv/bin/python benchmarks/dimensions.py [--draws N] [--tune N] [--chains N] [--topics N]

Without sizes the model's defaults are taken, and all topics of the study.
"""  # fmt: skip

from __future__ import annotations

import argparse
import inspect
import time

import pandas as pd
from measure import machine, peak_memory, publish, table

from conjury.analysis.raters import ModelFit, dimension_model
from conjury.analysis.raters.models.dimensions.checks import default_priors
from conjury.analysis.raters.models.dimensions.data import dimension_data
from conjury.analysis.raters.models.dimensions.sampler import sample_group
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

STUDY, SEED, TIMED = "oogiri", 1, 20
SIZES = ("draws", "tune", "chains")
HEAD = [
    *("group", "ratings", "items", "sweeps per chain", "ms per sweep"),
    *("numbers", "R-hat", "ESS bulk", "ESS tail"),
]


def sweep_seconds(judgments: pd.DataFrame) -> dict[str, float]:
    """Processor time of one sweep over each group's unknowns, compiled before."""
    found = {}
    for group in dimension_data(judgments).groups:
        for _ in range(2):
            start = time.process_time()
            drawn = sample_group(group, default_priors(), draws=TIMED, tune=1, chains=1, seed=(SEED,))
            found[group.group] = (time.process_time() - start) / (drawn.thin * (TIMED + 1))
    return found


def convergence(fit: ModelFit, judgments: pd.DataFrame) -> pd.DataFrame:
    """Worst R-hat and least effective sample sizes of what is reported, by group."""
    differences = fit.extra["differences"]
    differences = differences.assign(group=differences["group"] + " less " + differences["other_group"])
    reported = pd.concat([fit.frame, differences])
    table = reported.groupby("group", sort=False).agg(
        ratings=("n_ratings", "first"),
        items=("n_items", "first"),
        numbers=("rhat", "size"),
        rhat=("rhat", "max"),
        ess_bulk=("ess_bulk", "min"),
        ess_tail=("ess_tail", "min"),
    )
    sweeps = pd.Series(fit.settings["thin"]) * (fit.settings["draws"] + fit.settings["tune"])
    table.insert(2, "sweeps", sweeps)
    table.insert(3, "sweep_ms", pd.Series(sweep_seconds(judgments)) * 1000)
    return table


def report(fit: ModelFit, groups: pd.DataFrame, told: dict[str, str]) -> str:
    rows = [
        [
            str(row.Index),
            *(f"{number:,.0f}" for number in (row.ratings, row.items, row.sweeps)),
            f"{row.sweep_ms:.1f}",
            str(row.numbers),
            f"{row.rhat:.4f}",
            *(f"{number:,.0f}" for number in (row.ess_bulk, row.ess_tail)),
        ]
        for row in groups.itertuples()
    ]
    lines = [
        "# Benchmark of the model of dimensions",
        "",
        f"Written by `python benchmarks/dimensions.py`: the simulated {STUDY} study, seed {SEED}.",
        "",
        *(f"- {name}: {text}" for name, text in told.items()),
        "",
        table(HEAD, rows),
        "",
        "A rating is one judge's view of one item on all dimensions. Milliseconds are of one processor. "
        "R-hat is the greatest and ESS (effective sample size) the least of all numbers that are reported of "
        "a group, or of the differences between two.",
        "",
        *fit.verdict,
    ]
    return "\n".join(lines).replace("nan", "") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in (*SIZES, "topics"):
        parser.add_argument(f"--{name}", type=int)
    asked = vars(parser.parse_args())
    defaults = inspect.signature(dimension_model).parameters
    sizes = {name: asked[name] or defaults[name].default for name in SIZES}
    judgments = simulate_ratings(load_any_study(STUDY), SEED, topics=asked["topics"]).judgments
    told = {"Machine": machine()}
    wall, processor = time.perf_counter(), time.process_time()
    fit = dimension_model(judgments, seed=SEED, **sizes)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    told |= {
        "Size": f"{len(judgments):,} numbers on {judgments['dimension'].nunique()} dimensions",
        "Chains": f"{sizes['chains']} of {sizes['draws']:,} draws after {sizes['tune']:,} to adapt",
        "From judgments to tables": f"{wall:,.0f} s, {processor:,.0f} s of processor time, "
        f"at most {peak_memory():,.0f} MB",
    }
    written = report(fit, convergence(fit, judgments), told)
    publish("DIMENSIONS", written)


if __name__ == "__main__":
    main()
