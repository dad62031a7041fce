"""Truth tables of simulated power: the judge's rows, an effect of the asked size, what repeats found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

if TYPE_CHECKING:
    from conjury.inference.simulation.conjoint.judges import RaterModel
    from conjury.inference.study.models import Study

KEYS = ["statistic", "feature", "level"]
WIDEST = 12.0


def rows_of(study: Study, judge: str, prompt: str | None, source: Path | pd.DataFrame) -> pd.DataFrame:
    """The truth table's rows of one judge under one prompt."""
    from conjury.inference.simulation.conjoint.judges import COLUMNS, read_truth_table, select_raters
    from conjury.inference.simulation.truth_table import read_truth_file

    raters = select_raters(read_truth_table(source, study), [judge], None if prompt is None else [prompt])
    table, _ = read_truth_file(source, COLUMNS)
    table = table[COLUMNS].fillna("").astype(str)
    found = table[(table["judge"] == judge) & (table["prompt_id"] == raters[0].prompt)]
    return found.reset_index(drop=True)


def scaled_table(study: Study, table: pd.DataFrame, feature: str, level: str, effect: float) -> pd.DataFrame:
    """The truth table with the part-worth of one level for which its AMCE is ``effect``."""
    from scipy.optimize import brentq

    from conjury.inference.simulation.conjoint.judges import read_truth_table

    attributes = [attribute.id for attribute in study.attributes]
    if feature not in attributes or level not in study.levels(feature)[1:]:
        raise InputError(
            f"'{level}' of '{feature}' cannot be scaled; name a level other than the first of one of "
            f"{', '.join(attributes)}."
        )
    own = (table["parameter"] == "part_worth") & (table["feature"] == feature) & (table["level"] == level)
    first = table.iloc[[0]].assign(parameter="part_worth", feature=feature, level=level)
    rest = pd.concat([table[~own], first], ignore_index=True)

    def with_worth(worth: float) -> pd.DataFrame:
        scaled = rest.copy()
        scaled.loc[len(scaled) - 1, "value"] = repr(float(worth))
        return scaled

    def excess(worth: float) -> float:
        rater = read_truth_table(with_worth(worth), study)[0]
        return _effects(study, rater)["amce", feature, level] - effect

    at, direction = 0.0, -float(np.sign(excess(0.0)))
    if direction == 0:
        return with_worth(at)
    step = min(8 * abs(effect) + 0.1, WIDEST)
    while excess(at + direction * step) * direction < 0:
        at, step = at + direction * step, 2 * step
        if abs(at) + step > 2 * WIDEST:
            raise InputError(
                f"No part-worth gives {level} of {feature} an AMCE of {effect:g} here; ask for a smaller one."
            )
    return with_worth(float(brentq(excess, at, at + direction * step, xtol=1e-8)))


def _effects(study: Study, rater: RaterModel) -> dict[tuple[str, str, str], float]:
    """True AMCEs and marginal means of all attributes in the observed choices."""
    from conjury.inference.design.profiles import attribute_cells
    from conjury.inference.simulation.conjoint.probabilities import cell_choice
    from conjury.inference.simulation.conjoint.truth import level_effects, level_means

    cells = attribute_cells(study)
    names = [attribute.id for attribute in study.attributes]
    choice = cell_choice(study, cells, rater)
    return {
        (statistic, name, str(level)): float(value)
        for statistic, measure in (("amce", level_effects), ("mm", level_means))
        for name, values in measure(cells, choice, names).items()
        for level, value in zip(cells[name].cat.categories, values, strict=True)
    }


def true_effects(study: Study, rater: RaterModel, draws: pd.DataFrame) -> pd.Series[float]:
    """True value of everything that was estimated, by statistic, feature and level; else missing."""
    known = _effects(study, rater)
    keys = draws[KEYS].drop_duplicates()
    values = [known.get(tuple(key), np.nan) for key in keys.itertuples(index=False, name=None)]
    return pd.Series(values, index=pd.MultiIndex.from_frame(keys), dtype=float)


def summarise(draws: pd.DataFrame, true: pd.Series[float], alpha: float) -> pd.DataFrame:
    """Operating characteristics by level, with their Monte Carlo errors."""
    rows = []
    for key, effect in true.items():
        name = dict(zip(KEYS, key, strict=True))  # type: ignore[call-overload]
        mine = draws[(draws[KEYS] == pd.Series(name)).all(axis=1)]
        estimate, n = mine["estimate"].to_numpy(), len(mine)
        significant = mine["p"].to_numpy() < alpha
        inside = (
            ((mine["lower"] <= effect) & (mine["upper"] >= effect)).mean() if effect == effect else np.nan
        )
        power, sd = float(significant.mean()), float(estimate.std(ddof=1)) if n > 1 else np.nan
        called = estimate[significant]
        real = bool(len(called)) and effect == effect and abs(effect) > 1e-9
        rows.append(
            {
                **name,
                "effect": effect,
                "n_sims": n,
                "power": power,
                "power_mc": np.sqrt(power * (1 - power) / n),
                "bias": estimate.mean() - effect,
                "bias_mc": sd / np.sqrt(n),
                "sd": sd,
                "std_error": mine["std_error"].mean(),
                "coverage": inside,
                "coverage_mc": np.sqrt(inside * (1 - inside) / n),
                "type_s": (np.sign(called) != np.sign(effect)).mean() if real else np.nan,
                "type_m": np.abs(called).mean() / abs(effect) if real else np.nan,
            }
        )
    return pd.DataFrame(rows)
