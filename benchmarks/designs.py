"""Errors that fit the design, multiplicity and mixed models next to the packages that offer them elsewhere.

Prints a table and writes it to results/DESIGNS.md; `--quick` for a short look on few data. All
contenders get the same choices of one judge in one run; before anything is timed, numbers that must agree do.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from measure import (
    FEATURES,
    FORMULA,
    HERE,
    ID,
    OUTCOME,
    best_of,
    listed,
    load_choices,
    machine,
    page,
    publish,
    seconds,
    table,
    versions,
)

from conjury.analysis.conjoint import adjust, amce, cj, mixed, wild

CROSSED = ["text", "user"]
RANDOM = ["text", "user", "text:slur"]
TOLERANCE = 1e-6
R_LIMIT = 60
LME4_TOLERANCE = 1e-3  # its optimiser stops that early by default
AGREED = "standard errors agree with ours to"


@dataclass(frozen=True)
class Line:
    """One row of the page: what is computed, by whom, how long it takes, and what was checked."""

    task: str
    contender: str
    seconds: float
    ratio: float
    check: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few simulated data, no DESIGNS.md")
    quick = parser.parse_args().quick
    described = machine()
    choices = load_choices(1500 if quick else None)
    data = choices.table
    lines = [
        *crossed(data),
        *bias_reduced(data),
        *few_clusters(data),
        *random_stimuli(data),
        *many_tests(data, quick),
    ]
    publish("DESIGNS", markdown(lines, choices.source, described), written=not quick)


def crossed(data: pd.DataFrame) -> list[Line]:
    """Clusters by text and user; R's time includes that of ``lm``, which it needs."""
    task = "AMCEs with errors clustered by text and user"
    ours = lambda: amce(data, FORMULA, id=CROSSED, vcov="CR1")  # noqa: E731
    contenders: dict[str, Callable[[], Any]] = {"conjury": ours}
    checks = {}
    if find_spec("pyfixest"):
        import pyfixest

        contenders["pyfixest"] = lambda: pyfixest.feols(FORMULA, data, vcov={"CRV1": "text+user"}).se()
        checks["pyfixest"] = "another small-sample factor"
    found = best_of(contenders, 5)
    lines = [
        Line(task, name, taken, taken / found["conjury"], checks.get(name, ""))
        for name, taken in found.items()
    ]
    return lines + in_r(data, task, "sandwich", found["conjury"], errors_of(ours()))


def bias_reduced(data: pd.DataFrame) -> list[Line]:
    task = "AMCEs with CR2 errors by text, Satterthwaite degrees of freedom"
    ours = lambda: amce(data, FORMULA, id="text", vcov="CR2")  # noqa: E731
    own = best_of({"conjury": ours}, 5)["conjury"]
    return [Line(task, "conjury", own, 1.0, ""), *in_r(data, task, "clubSandwich", own, errors_of(ours()))]


def few_clusters(data: pd.DataFrame, draws: int = 999) -> list[Line]:
    """Restricted wild bootstrap by text, p values of all effects."""
    task = f"wild cluster bootstrap by text, {draws:,} draws, p values of all effects"
    fit = amce(data, FORMULA, id="text")
    own = best_of({"conjury": lambda: wild(fit, draws=draws, seed=1)}, 3)["conjury"]
    lines = [Line(task, "conjury (with intervals)", own, 1.0, "")]
    if not find_spec("wildboottest"):
        return lines
    import statsmodels.api as sm
    from wildboottest.wildboottest import wildboottest

    design = pd.get_dummies(data[list(FEATURES)], drop_first=True, dtype=float)
    design.insert(0, "Intercept", 1.0)
    model = sm.OLS(data[OUTCOME].astype(float), design)
    codes = pd.Series(pd.factorize(data["text"])[0], index=data.index)
    effect = design.columns[1]
    call = lambda: wildboottest(  # noqa: E731
        model, param=effect, B=draws, cluster=codes, weights_type="rademacher", seed=1, show=False
    )
    p = float(np.asarray(pd.DataFrame(call())["p-value"], dtype=float)[0])
    ours = wild(fit, draws=draws, weights="rademacher", seed=1).frame.dropna(subset="p")["p"]
    effects = len(ours)
    taken = seconds(call) * effects
    check = f"one effect, times {effects}; its p differs by {abs(p - ours.iloc[0]):.3f} (other draws)"
    return [*lines, Line(task, "wildboottest (without intervals)", taken, taken / own, check)]


def random_stimuli(data: pd.DataFrame) -> list[Line]:
    task = "mixed model with text, user and text by insult as random factors"
    ours = lambda: mixed(data, FORMULA, random=RANDOM)  # noqa: E731
    own = best_of({"conjury": ours}, 3)["conjury"]
    return [
        Line(task, "conjury", own, 1.0, ""),
        *in_r(data, task, "lme4", own, errors_of(ours()), LME4_TOLERANCE),
    ]


def many_tests(data: pd.DataFrame, quick: bool) -> list[Line]:
    """Romano-Wolf over 14 judges on shared pairs: copies of the data with other noise."""
    random, judges = np.random.default_rng(1), 2 if quick else 14
    copies = []
    for number in range(judges):
        flipped = np.repeat(random.random(data[ID].nunique()) < 0.03 * number, 2)
        copies.append(data.assign(judge=f"judge {number:02d}", **{OUTCOME: data[OUTCOME] ^ flipped}))
    stacked = pd.concat(copies, ignore_index=True).astype({"judge": "category"})
    task = f"Romano-Wolf over {judges} judges with 18 effects each, 2,000 draws, fit included"
    taken = min(
        seconds(lambda: adjust(cj(stacked, FORMULA, id=ID, by="judge"), "romano_wolf", draws=2000, seed=1))
        for _ in range(2)
    )
    return [Line(task, "conjury", taken, 1.0, "")]


def errors_of(fit: Any) -> pd.Series:
    frame = fit.frame.dropna(subset="std_error")
    return frame["std_error"].set_axis(frame["feature"].astype(str) + frame["level"].astype(str))


def in_r(
    data: pd.DataFrame, task: str, package: str, own: float, errors: pd.Series, tolerance: float = TOLERANCE
) -> list[Line]:
    """Time a package of R on the same data, and check its standard errors."""
    if shutil.which("Rscript") is None:
        return [Line(task, f"R's {package}", np.nan, np.nan, "not measured: there is no R")]
    with TemporaryDirectory() as name:
        folder = Path(name)
        data[[OUTCOME, *FEATURES, *CROSSED]].to_csv(folder / "data.csv", index=False)
        levels = [(f, level) for f in FEATURES for level in data[f].cat.categories]
        pd.DataFrame(levels, columns=["feature", "level"]).to_csv(folder / "levels.csv", index=False)
        command = ["Rscript", str(HERE / "r" / "designs.R"), name, package]
        try:
            made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=R_LIMIT)
        except subprocess.TimeoutExpired:
            return [
                Line(task, f"R's {package}", R_LIMIT, R_LIMIT / own, "stopped at that time, not finished")
            ]
        if made.returncode:
            return [
                Line(task, f"R's {package}", np.nan, np.nan, f"not measured: {made.stderr.strip()[-80:]}")
            ]
        found = pd.read_csv(folder / "found.csv").set_index("name")
    taken = float(found["seconds"].iloc[0])
    difference = float((found["std_error"].reindex(errors.index) / errors - 1).abs().max())
    assert difference < tolerance, f"{package}: standard errors differ by {difference:.1e}"
    return [Line(task, f"R's {package}", taken, taken / own, f"{AGREED} {difference:.0e}")]


def markdown(lines: list[Line], source: str, described: str) -> str:
    first_of_task = [True, *(one.task != two.task for one, two in pairwise(lines))]
    rows = [
        [
            line.task if first else "",
            line.contender,
            "" if np.isnan(line.seconds) else f"{line.seconds:,.3f}",
            "" if np.isnan(line.ratio) else f"{line.ratio:,.1f}",
            line.check,
        ]
        for line, first in zip(lines, first_of_task, strict=True)
    ]
    head = ["what", "by", "seconds", "times ours", "check"]
    facts = {"Data": source, "Machine": described, "Versions": listed(versions())}
    return page("Benchmarks of standard errors and tests", facts, table(head, rows))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
