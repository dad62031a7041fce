"""Estimators of conjoint effects as methods of trials; quantities are named ``feature=level``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...conjoint import amce, amce_diffs, bootstrap, bounds, wild
from ...conjoint.estimates import Estimates
from ...conjoint.standard_errors.resample import Method
from ...results import tidy
from ..trial_registry import method

FORMULA = "chosen ~ tone + topic + author"
NUMBERS = ["estimate", "std_error", "lower", "upper", "p"]


def quantities(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of a table of effects that have an estimate, reference levels excluded, by quantity."""
    rows = frame[frame["std_error"].notna()]
    names = rows["feature"].astype(str) + "=" + rows["level"].astype(str)
    return rows.assign(quantity=names)[["quantity", *[name for name in NUMBERS if name in rows]]]


def _fitted(data: pd.DataFrame, formula: str, alpha: float, options: dict[str, Any]) -> Estimates:
    return amce(data, formula, alpha=alpha, **options)


@method("amce")
def average_effects(
    data: pd.DataFrame, *, formula: str = FORMULA, alpha: float = 0.05, **options: Any
) -> pd.DataFrame:
    """AMCEs with any option of `amce`: clusters, standard errors, engine, correction."""
    return quantities(_fitted(data, formula, alpha, options).frame)


@method("amce_of_judges")
def effects_of_judges(
    data: pd.DataFrame, *, kind: str, formula: str = FORMULA, alpha: float = 0.05, **options: Any
) -> pd.DataFrame:
    """AMCEs among the people alone, or the models alone, of a table of both."""
    return quantities(_fitted(data[data["judge_kind"] == kind], formula, alpha, options).frame)


@method("wild_bootstrap")
def wild_bootstrap(
    data: pd.DataFrame,
    rng: np.random.Generator,
    *,
    id: str,
    formula: str = FORMULA,
    draws: int = 999,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """AMCEs with intervals and tests by the restricted wild cluster bootstrap."""
    fit = amce(data, formula, id=id, vcov="CR1", alpha=alpha)
    return quantities(wild(fit, draws=draws, seed=int(rng.integers(2**31))).frame)


@method("bootstrap")
def unit_bootstrap(
    data: pd.DataFrame,
    rng: np.random.Generator,
    *,
    unit: str = "pair",
    interval: Method = "percentile",
    formula: str = FORMULA,
    draws: int = 999,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """AMCEs with intervals by the bootstrap, which draws whole units: pairs, respondents or any column."""
    seed = int(rng.integers(2**31))
    result = bootstrap(amce, data, formula, unit=unit, draws=draws, seed=seed, method=interval, alpha=alpha)
    return quantities(result.frame)


@method("amce_bounds")
def missing_bounds(
    data: pd.DataFrame, *, formula: str = FORMULA, alpha: float = 0.05, **options: Any
) -> pd.DataFrame:
    """AMCEs of the answers given, with the interval that covers the effects among all tasks asked."""
    table = bounds(amce, data, formula, alpha=alpha, **options).frame
    wide = table.drop(columns=["lower", "upper", "p"], errors="ignore")
    return quantities(wide.rename(columns={"ci_lower": "lower", "ci_upper": "upper"}))


@method("difference_of_prompts")
def difference_of_prompts(
    data: pd.DataFrame, *, shared: bool = True, formula: str = FORMULA, alpha: float = 0.05
) -> pd.DataFrame:
    """Effects under the second prompt minus those under the first, with or without their covariance."""
    two = data[data["prompt_id"].isin(["prompt_1", "prompt_2"])]
    if shared:
        two = two.assign(prompt_id=pd.Categorical(two["prompt_id"], ["prompt_1", "prompt_2"]))
        return quantities(amce_diffs(two, formula, by="prompt_id", id="pair_id", alpha=alpha).frame)
    first, second = (
        amce(part, formula, id="pair_id", alpha=alpha).frame.dropna(subset=["std_error"])
        for _, part in two.groupby("prompt_id", sort=True)
    )
    error = np.hypot(first["std_error"].to_numpy(float), second["std_error"].to_numpy(float))
    estimate = second["estimate"].to_numpy(float) - first["estimate"].to_numpy(float)
    return quantities(tidy(first[["feature", "level"]], estimate, error, alpha))


@method("reported_prompt")
def reported_prompt(
    data: pd.DataFrame,
    *,
    rule: str = "first",
    feature: str = "tone",
    formula: str = FORMULA,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Effects under one of the prompts that were tried: the first, or the one with the smallest p value."""
    # `rule` is "first", "smallest_p" or "bonferroni": the smallest p value times the number of prompts, with
    # intervals at the level that goes with it.
    prompts = sorted(data["prompt_id"].unique())
    level = alpha / len(prompts) if rule == "bonferroni" else alpha
    tried = prompts[:1] if rule == "first" else prompts
    tables = [
        quantities(amce(data[data["prompt_id"] == prompt], formula, id="pair_id", alpha=level).frame)
        for prompt in tried
    ]
    smallest = [table.loc[table["quantity"].str.startswith(f"{feature}="), "p"].min() for table in tables]
    report = tables[int(np.argmin(smallest))]
    return report.assign(p=np.minimum(report["p"] * (len(prompts) if rule == "bonferroni" else 1), 1.0))


@method("sequential_look")
def sequential_look(
    data: pd.DataFrame,
    *,
    rule: str = "end",
    looks: Sequence[int] = (100, 200, 300, 400, 500, 600, 700, 800, 900, 1000),
    formula: str = FORMULA,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """The effect of a tone when the data are looked at again and again, as pairs come in."""
    # `rule` is "end" (one look at all pairs), "first_significant" (the first look at which p is below alpha,
    # else the last) or "confidence_sequence" (the same, by a confidence sequence).
    from ...conjoint.standard_errors.effect_sequences import sequential

    first = formula.partition("~")[2].split("+")[0].strip()
    if rule == "confidence_sequence":
        path = sequential(amce, data, formula, id="pair_id", looks=looks, alpha=alpha).frame
        path = path[path["feature"] == first]
    else:
        sizes = [max(looks)] if rule == "end" else list(looks)
        order = pd.factorize(data["pair_id"])[0]
        tables = [amce(data[order < size], formula, id="pair_id", alpha=alpha).frame for size in sizes]
        path = pd.concat([table[table["feature"] == first] for table in tables], ignore_index=True)
    path = path[path["std_error"].notna()].reset_index(drop=True)
    stopped = path.index[path["p"] < alpha]
    return quantities(path.loc[[stopped[0] if len(stopped) else len(path) - 1]])
