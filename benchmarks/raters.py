"""Models of raters at the size of a real study: ordinal beside a plain `pm.sample`, and of dimensions.

    .venv/bin/python benchmarks/raters.py ordinal [--items 3192] [--plain-draws 100]
    .venv/bin/python benchmarks/raters.py dimensions [--draws N] [--tune N] [--chains N] [--topics N]

The model of dimensions takes its defaults and all topics where no sizes are given, and writes
results/DIMENSIONS.md. Our ordinal model runs from the judgments to the summary in a fresh process, with
numba's cache of our kernel removed. The textbook model samples every item's quality; it is given the same
data, likelihood and priors, and its effective draws are counted for the same quantities. Seconds are wall
clock and of the processor.
"""  # fmt: skip

from __future__ import annotations

import argparse
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from measure import HERE, in_a_process, machine, page, peak_memory, publish, table

from conjury.analysis.raters import ModelFit, dimension_model
from conjury.analysis.raters.models.dimensions.dimension_checks import default_priors
from conjury.analysis.raters.models.dimensions.dimension_data import dimension_data
from conjury.analysis.raters.models.dimensions.sampler import sample_group
from conjury.inference.simulation import simulate_ratings
from conjury.inference.study import load_any_study

PEOPLE, PER_ITEM, TYPES, SD = 100, 4, 8, np.pi / np.sqrt(3)
CUT = np.array([-1.3, -0.3, 0.5, 1.5])
MODELS = {"gpt_4_1": 0.9, "gemini_2_5_pro": 0.6, "claude_sonnet_4": 0.4}
REPORTED = (
    "panel_discrimination",
    "model_discrimination",
    "cut",
    "severity_sd_human",
    "discrimination_sd_human",
    "severity",
    "discrimination",
    "quality_response_type",
    "bias_response_type",
)


def judgments(n_items: int, seed: int = 0) -> pd.DataFrame:
    """Ratings 0-4 of ``n_items`` responses of 8 types by 4 of 100 people and 3 models."""
    rng = np.random.default_rng(seed)
    severity, slope = rng.normal(0, 0.4, PEOPLE), 0.85 * np.exp(rng.normal(0, 0.25, PEOPLE))
    kind = np.arange(n_items) % TYPES
    quality = np.linspace(-1, 1, TYPES)[kind] + rng.normal(size=n_items)
    tilt = {"gpt_4_1": np.linspace(-0.4, 0.4, TYPES)}
    parts = []
    for item in range(n_items):
        for person in rng.choice(PEOPLE, PER_ITEM, replace=False):
            latent = slope[person] * quality[item] - severity[person]
            parts.append((f"person_{person:03d}", "human", item, latent))
        for name, strength in MODELS.items():
            latent = strength * quality[item] + tilt.get(name, np.zeros(TYPES))[kind[item]]
            parts.append((name, "model", item, latent))
    table = pd.DataFrame(parts, columns=["judge_id", "judge_kind", "item_id", "latent"])
    noisy = table.pop("latent").to_numpy() + rng.logistic(size=len(table)) / SD
    return table.assign(
        value=(noisy[:, None] > CUT).sum(axis=1),
        response_type=[f"type_{kind[item]}" for item in table["item_id"]],
    )


def timed(run: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, processor = time.perf_counter(), sum(os.times()[:4])  # with processes that were started and ended
    made = run()
    return made, {
        "wall_seconds": time.perf_counter() - wall,
        "processor_seconds": sum(os.times()[:4]) - processor,
    }


def ours(n_items: int) -> dict[str, Any]:
    """From judgments to summary."""
    table = judgments(n_items)

    def run() -> Any:
        from conjury.analysis.raters import rater_model

        return rater_model(table, covariates=["response_type"], seed=1)

    fit, spent = timed(run)
    convergence = fit.extra["convergence"]
    return spent | {
        "sampling_seconds": float(fit.settings["seconds"]),
        "quantities": len(convergence),
        "rhat": float(convergence["rhat"].max()),
        "ess_bulk": float(convergence["ess_bulk"].min()),
        "ess_tail": float(convergence["ess_tail"].min()),
        "ess_sampled": effective(fit.data),
    }


def plain(n_items: int, draws: int) -> dict[str, Any]:
    """`pm.sample`, as it comes, of the model with a variable for each item."""
    import pymc as pm
    import pytensor.tensor as pt

    from conjury.analysis.raters import read_ratings
    from conjury.analysis.raters.models.ordinal.ordinal_data import ordinal_data

    data = ordinal_data(read_ratings(judgments(n_items)), ["response_type"])

    def run() -> Any:
        n_people, n_groups = len(data.people), len(data.groups)
        people = data.people
        with pm.Model(coords={"judge": data.judges, "group": data.groups}) as model:
            strong = pm.LogNormal("panel_discrimination", 0, 0.75, shape=1)
            of_models = pm.Normal("model_discrimination", 0.75, 1, shape=n_groups - 1)
            severity_sd = pm.HalfNormal("severity_sd_human", 0.6)
            slope_sd = pm.HalfNormal("discrimination_sd_human", 0.3)
            severity = pm.Normal("raw_severity", 0, 1, shape=n_people) * severity_sd
            spread = pm.Normal("raw_discrimination", 0, 1, shape=n_people) * slope_sd
            severities = pm.Deterministic(
                "severity", pt.set_subtensor(pt.zeros(len(data.judges))[people], severity)
            )
            spreads = pt.set_subtensor(pt.zeros(len(data.judges))[people], spread)
            slope = pm.Deterministic(
                "discrimination", pt.concatenate([strong, of_models])[data.group] * pt.exp(spreads)
            )
            level = pm.ZeroSumNormal("quality_response_type", 1.0, shape=TYPES)
            tilt = pm.ZeroSumNormal("bias_response_type", 0.6, shape=(n_groups - 1, TYPES))
            quality = level[data.stratum] + pm.Normal("item", 0, 1, shape=len(data.items))
            cut = pm.Normal("cut", 0, 2, shape=(n_groups, data.n_categories - 1),
                            transform=pm.distributions.transforms.ordered,
                            initval=np.tile(CUT, (n_groups, 1)))  # fmt: skip
            group = data.group[data.judge]
            bias = pt.concatenate([pt.zeros((1, TYPES)), tilt])[group, data.stratum[data.item]]
            latent = slope[data.judge] * quality[data.item] - severities[data.judge] + bias
            pm.OrderedLogistic(
                "rating", SD * latent, SD * cut[group], observed=data.category, compute_p=False
            )
            return pm.sample(draws, tune=draws, chains=2, cores=2, random_seed=1, progressbar=False,
                             compute_convergence_checks=False, model=model)  # fmt: skip

    tree, spent = timed(run)
    return spent | {"draws": draws, "ess_sampled": effective(tree)}


def effective(tree: Any) -> float:
    """Least bulk effective sample size of what both models sample."""
    from conjury.analysis.raters.models.model_checks import diagnostics

    return float(diagnostics(tree, REPORTED)["ess_bulk"].min())


def fresh(call: str) -> dict[str, Any]:
    """Run one of the two in a process of its own."""
    start = f"import sys, json; sys.path.insert(0, {str(HERE)!r}); import raters; "
    return in_a_process(["-c", f"{start}print(json.dumps(raters.{call}))"])


def forget_kernel() -> None:
    for cached in (HERE.parent / "analysis/raters/models/ordinal/__pycache__").glob("kernel.*.nb*"):
        cached.unlink()


def ordinal(items: int, plain_draws: int) -> None:
    print(machine(), flush=True)
    forget_kernel()
    first = fresh(f"ours({items})")
    print("rater_model", json.dumps(first), flush=True)
    second = fresh(f"plain({items}, {plain_draws})")
    print("pm.sample", json.dumps(second), flush=True)
    for unit in ("wall_seconds", "processor_seconds"):
        ratio = first["ess_sampled"] / first[unit] / (second["ess_sampled"] / second[unit])
        named = unit.replace("_seconds", " second")
        print(f"effective draws per {named}: {ratio:.1f} times those of pm.sample")


STUDY, SEED, TIMED = "oogiri", 1, 20
SIZES = ("draws", "tune", "chains")
DIMENSIONS_HEAD = [
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
    note = (
        "A rating is one judge's view of one item on all dimensions. Milliseconds are of one processor. "
        "R-hat is the greatest and ESS (effective sample size) the least of all numbers that are reported of "
        "a group, or of the differences between two."
    )
    parts = (table(DIMENSIONS_HEAD, rows), note, "\n".join(fit.verdict))
    facts = {"Data": f"the simulated {STUDY} study, seed {SEED}", **told}
    by = "python benchmarks/raters.py dimensions"
    return page("Benchmark of the model of dimensions", facts, *parts, by=by).replace("nan", "")


def dimensions(asked: Mapping[str, Any]) -> None:
    """The model of dimensions at the size of a real study, from judgments to tables."""
    defaults = inspect.signature(dimension_model).parameters
    sizes = {name: asked[name] or defaults[name].default for name in SIZES}
    judgments = simulate_ratings(load_any_study(STUDY), SEED, topics=asked["topics"]).judgments
    told = {"Machine": machine()}
    fit, spent = timed(lambda: dimension_model(judgments, seed=SEED, **sizes))
    told |= {
        "Size": f"{len(judgments):,} numbers on {judgments['dimension'].nunique()} dimensions",
        "Chains": f"{sizes['chains']} of {sizes['draws']:,} draws after {sizes['tune']:,} to adapt",
        "From judgments to tables": f"{spent['wall_seconds']:,.0f} s, "
        f"{spent['processor_seconds']:,.0f} s of processor time, at most {peak_memory():,.0f} MB",
    }
    publish("DIMENSIONS", report(fit, convergence(fit, judgments), told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=("ordinal", "dimensions"))
    parser.add_argument("--items", type=int, default=3192)
    parser.add_argument("--plain-draws", type=int, default=100, help="draws and tuning of the textbook model")
    for name in (*SIZES, "topics"):
        parser.add_argument(f"--{name}", type=int)
    asked = vars(parser.parse_args())
    if asked["model"] == "ordinal":
        ordinal(asked["items"], asked["plain_draws"])
    else:
        dimensions(asked)


if __name__ == "__main__":
    main()
