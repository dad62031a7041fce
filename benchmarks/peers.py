"""The peers: each does the package's analysis as its users would write it, with its own defaults.

Estimates are the same for all. Standard errors differ by a known factor, since each peer has a small-sample
correction of its own; ``Peer.factor`` brings them to G / (G - 1), the correction of the package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from measure import BY, FEATURES, FORMULA, HERE, ID, OUTCOME, cores

from conjury.analysis.conjoint import amce, amce_diffs


@dataclass(frozen=True)
class Peer:
    """One way to AMCEs with clustered standard errors.

    Attributes
    ----------
    call : str
        What its user writes.
    run : callable
        What is timed; it ends with estimates and standard errors.
    factor : float
        Standard errors times this have the correction G / (G - 1).
    """

    call: str
    run: Callable[[], tuple[pd.Series, pd.Series]]
    factor: float


@dataclass(frozen=True)
class RPeers:
    """What R measured: best seconds by routine, estimates by routine, versions; why something is absent.

    For bootstraps the seconds are those of one draw on every core, the best of ``rounds``.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    estimates: dict[str, tuple[pd.Series, pd.Series]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    absent: dict[str, str] = field(default_factory=dict)

    def amce_seconds(self) -> dict[str, float]:
        """Seconds of the routines that estimate AMCEs."""
        return {name: self.seconds[name] for name in self.estimates}

    def seconds_of(self, draws: int) -> dict[str, float]:
        """Seconds that bootstrap draws of rows would take, by what is estimated; empty without cregg."""
        rows = {"amce": "cregg rows amce", "differences": "cregg rows differences"}
        return {
            name: self.seconds[routine] * draws / cores()
            for name, routine in rows.items()
            if routine in self.seconds
        }


def native(choices: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    return by_name(amce(choices, FORMULA, id=ID).frame)


def by_name(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Estimates and standard errors of a tidy table, named ``feature[T.level]``, without reference levels."""
    told = table.dropna(subset=["std_error"])
    names = [f"{f}[T.{level}]" for f, level in zip(told["feature"], told["level"], strict=True)]
    return told["estimate"].set_axis(names), told["std_error"].set_axis(names)


def python_peers(choices: pd.DataFrame) -> tuple[dict[str, Peer], dict[str, str]]:
    """Peers that can be imported, and why the others cannot be measured."""
    made = {"statsmodels": _statsmodels, "linearmodels": _linearmodels, "pyfixest": _pyfixest}
    here = {name: make(choices) for name, make in made.items() if find_spec(name) is not None}
    return here, {name: f"{name} is not installed" for name in made if name not in here}


def _statsmodels(choices: pd.DataFrame) -> Peer:
    import statsmodels.formula.api as smf

    def run() -> tuple[pd.Series, pd.Series]:
        fit = smf.ols(FORMULA, choices).fit(cov_type="cluster", cov_kwds={"groups": choices[ID]})
        return fit.params, fit.bse

    return Peer('smf.ols(formula).fit(cov_type="cluster")', run, _without_residual_correction(choices))


def _linearmodels(choices: pd.DataFrame) -> Peer:
    from linearmodels import PooledOLS

    panel = choices.assign(position=choices.groupby(ID).cumcount()).set_index([ID, "position"])
    formula = FORMULA.replace("~", "~ 1 +")

    def run() -> tuple[pd.Series, pd.Series]:
        fit = PooledOLS.from_formula(formula, panel).fit(cov_type="clustered", cluster_entity=True)
        return fit.params, fit.std_errors

    n, g = len(choices), choices[ID].nunique()
    factor = float(np.sqrt(g / (g - 1) * (n - _coefficients(choices)) / n))
    return Peer("PooledOLS.from_formula(...).fit(cluster_entity=True)", run, factor)


def _pyfixest(choices: pd.DataFrame) -> Peer:
    import pyfixest

    def run() -> tuple[pd.Series, pd.Series]:
        fit = pyfixest.feols(FORMULA, choices, vcov={"CRV1": ID})
        return fit.coef(), fit.se()

    return Peer('feols(formula, vcov={"CRV1": ...})', run, _without_residual_correction(choices))


def _without_residual_correction(choices: pd.DataFrame) -> float:
    """Undo (n - 1) / (n - k), which stands beside G / (G - 1)."""
    n = len(choices)
    return float(np.sqrt((n - _coefficients(choices)) / (n - 1)))


def _coefficients(choices: pd.DataFrame) -> int:
    return 1 + sum(len(choices[name].cat.categories) - 1 for name in FEATURES)


def disagreement(
    ours: tuple[pd.Series, pd.Series], theirs: tuple[pd.Series, pd.Series], factor: float
) -> float:
    """Largest difference of estimates (absolute) and standard errors (relative)."""
    estimate, std_error = (found.reindex(ours[0].index) for found in theirs)
    return float(
        max(
            (estimate - ours[0]).abs().max(skipna=False),
            (std_error * factor / ours[1] - 1).abs().max(skipna=False),
        )
    )


def without_r(reason: str) -> RPeers:
    """Nothing measured in R."""
    return RPeers(absent={"survey svyglm": reason, "cregg cj": reason})


def r_peers(choices: pd.DataFrame, repeats: int, draws: int) -> RPeers:
    """Run `peers.R`: AMCEs by survey and cregg, and bootstrap draws of rows around cregg on all cores."""
    if shutil.which("Rscript") is None:
        return without_r("R is not installed")
    n_cores = cores()
    rounds = -(-draws // n_cores)
    with TemporaryDirectory() as name:
        folder = Path(name)
        choices.to_csv(folder / "data.csv", index=False)
        levels = [(name, level) for name in FEATURES for level in choices[name].cat.categories]
        pd.DataFrame(levels, columns=["feature", "level"]).to_csv(folder / "levels.csv", index=False)
        script = HERE / "r" / "peers.R"
        arguments = [folder, OUTCOME, ID, BY, repeats, rounds, n_cores]
        found = subprocess.run(
            ["Rscript", "--vanilla", str(script), *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={"LANG": "C.UTF-8", **os.environ},
        )
        if found.returncode:
            raise RuntimeError(f"peers.R failed:\n{found.stderr}")
        return _read_r(folder, choices, rounds)


def _read_r(folder: Path, choices: pd.DataFrame, rounds: int) -> RPeers:
    versions = _pairs(pd.read_csv(folder / "versions.csv", dtype=str).set_index("package")["version"])
    absent = {
        routine: f"R's package {package} is not installed"
        for routine, package in (("survey svyglm", "survey"), ("cregg cj", "cregg"))
        if package not in versions
    }
    if not (folder / "timings.csv").exists():
        return RPeers(versions=versions, absent=absent)
    timings = _pairs(pd.read_csv(folder / "timings.csv").groupby("routine")["seconds"].min())
    tables = pd.read_csv(folder / "estimates.csv").groupby("routine")
    estimates = {str(routine): by_name(table) for routine, table in tables}
    if "cregg" in versions:
        _check_draw(folder, choices)
    return RPeers(timings, estimates, versions, rounds, absent)


def _pairs(column: pd.Series) -> dict[str, Any]:
    return {str(name): value for name, value in column.items()}


def _check_draw(folder: Path, choices: pd.DataFrame) -> None:
    """Reweight the rows that R drew: the same estimates must come out."""
    rows = pd.read_csv(folder / "rows.csv")["row"].to_numpy() - 1
    drawn = choices.assign(times=np.bincount(rows, minlength=len(choices)))
    ours: dict[str, Any] = {
        "draw_amce": amce(drawn, FORMULA, weights="times").frame,
        "draw_differences": amce_diffs(drawn, FORMULA, BY, weights="times").frame,
    }
    for name, table in ours.items():
        theirs = pd.read_csv(folder / f"{name}.csv").rename(columns={"BY": "by"})
        keys = [key for key in ("by", "feature", "level") if key in table]
        both = table.astype(dict.fromkeys(keys, str)).merge(theirs, on=keys, validate="1:1")
        assert len(both) == len(theirs) == len(table), f"{name}: rows do not match cregg's"
        np.testing.assert_allclose(both["estimate_x"], both["estimate_y"], rtol=0, atol=1e-8, err_msg=name)
