"""Small processes, methods and measures as users write them, in a module of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from conjury.analysis.numerics.performance import Draws, Measured, mean
from conjury.analysis.results import Result
from conjury.analysis.trial import Drawn, Trial, run_trial, true_values
from conjury.inference.errors import MissingDependency

OWN = "own_methods"  # this module, as a user has it beside the trial file
CONTENT: dict[str, Any] = {
    "name": "own",
    "title": "Own trial",
    "draws": 6,
    "processes": [{"name": "two", "process": f"{OWN}:two_groups", "expand": {"rows": [10, 40]}}],
    "methods": [{"name": "means", "method": f"{OWN}:means", "expand": {"scale": [1.0, 2.0]}}],
}


def written(folder: Path, **changes: object) -> Path:
    (folder / f"{OWN}.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    file = folder / "own.yaml"
    file.write_text(yaml.safe_dump({**CONTENT, **changes}, sort_keys=False), encoding="utf-8")
    return file


@dataclass(frozen=True)
class Groups:
    sizes: tuple[int, int] = (1, 1)


def two_groups(rng: np.random.Generator, *, rows: int = 40, effect: float = 0.5) -> Drawn:
    group = np.arange(rows) % sum(Groups().sizes)
    y = effect * group + rng.normal(size=rows)
    own = float(y[group == 1].mean() - y[group == 0].mean())
    return Drawn(
        pd.DataFrame({"group": group, "y": y}),
        true_values(population={"difference": effect}, sample={"difference": own}),
    )


def means(data: pd.DataFrame, *, scale: float = 1.0, alpha: float = 0.05) -> pd.DataFrame:
    groups = [data.loc[data["group"] == one, "y"].to_numpy() for one in (0, 1)]
    estimate = groups[1].mean() - groups[0].mean()
    error = scale * np.sqrt(sum(one.var(ddof=1) / len(one) for one in groups))
    limit = {0.05: 1.96, 0.1: 1.645}[alpha] * error
    return pd.DataFrame(
        {
            "quantity": ["difference"],
            "estimate": estimate,
            "std_error": error,
            "lower": estimate - limit,
            "upper": estimate + limit,
        }
    )


def noisy(data: pd.DataFrame, rng: np.random.Generator, *, of: str = "difference") -> pd.DataFrame:
    return pd.DataFrame({"quantity": [of], "estimate": [rng.normal()]})


def failing(data: pd.DataFrame) -> pd.DataFrame:
    if data["y"].iloc[0] > 0:
        raise ValueError("The first row is above 0.")
    return means(data)


def absent(data: pd.DataFrame) -> pd.DataFrame:
    raise MissingDependency("somewhere is not installed; pip install somewhere.")


def wordless(data: pd.DataFrame) -> float:
    return 0.0


def untrue(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame({"y": rng.normal(size=2)})


def mean_absolute_error(draws: Draws) -> Measured:
    return mean(np.abs(draws.errors))


def passport() -> Result:
    """Coverage of two methods in two situations, one of which covers too rarely."""
    rows = [
        (method, quantity, situation, effective, coverage)
        for method, quantity, own in (
            ("scores", "accuracy", (0.95, 0.9)),
            ("scores", "mcc", (0.94, 0.4)),
            ("amce, vcov=CR1", "tone=rude", (0.96, 0.7)),
        )
        for (situation, effective), coverage in zip((("many", 30.0), ("few", 3.0)), own, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["method", "quantity", "situation", "effective", "coverage"])
    limits = {"coverage_lower": frame["coverage"] - 0.02, "coverage_upper": frame["coverage"] + 0.02}
    return Result(frame.assign(**limits), "passport", (), {"alpha": 0.05})


def result(draws: int = 40) -> Result:
    """The result of a trial with two parameters and two estimands."""
    process = {"name": "two", "process": f"{__name__}:two_groups"}
    grid = {"rows": [10, 40], "effect": [0.0, 0.5]}
    labels = {"rows": "Rows", "effect": "Effect"}
    estimands = {"population": "In the population", "sample": "In the sample"}
    methods = [{**CONTENT["methods"][0], "method": f"{__name__}:means"}]
    trial = {
        **CONTENT,
        "methods": methods,
        "processes": [{**process, "expand": grid}],
        "labels": labels,
        "estimands": estimands,
    }
    return run_trial(Trial.model_validate(trial), draws=draws)
