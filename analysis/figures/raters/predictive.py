"""Observed shares of ratings or labels beside those that a model makes, fitted or from its priors alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from conjury.inference.errors import InputError

from ..drawable import Drawable
from ..labels import LabelKey
from .forest import Forest, draw_forest
from .naming import Names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEYS = ["dimension", "group", "category"]
NUMBERS = ["observed", "expected", "lower", "upper", "prior_expected", "prior_lower", "prior_upper"]
OBSERVED, FITTED, PRIOR = "Observed", "Made by the fitted model", "Made by the priors alone"


def predicted_shares(result: Drawable) -> pd.DataFrame:
    """Observed and replicated shares of a model of raters, dimensions, labels or choices, in one layout."""
    found = result.extra.get("frequencies", result.extra.get("check"))
    if found is None or found.empty:
        return pd.DataFrame(columns=[*KEYS, *NUMBERS])
    told = _shares(found)
    prior = result.extra.get("prior_frequencies", result.extra.get("prior_check"))
    if prior is None:
        return told.assign(**dict.fromkeys(NUMBERS[-3:], float("nan")))
    ends = {name: f"prior_{name}" for name in ("expected", "lower", "upper")}
    alone = _shares(prior).drop(columns="observed").rename(columns=ends)
    return told.merge(alone, on=KEYS, how="left")


def draw(
    result: Drawable,
    *,
    theme: str = "light",
    labels: Mapping[LabelKey, str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the predictive check of a model: a panel a group (and dimension), a row a rating or label."""
    names, shares = Names(labels), predicted_shares(result)
    if shares.empty:
        raise InputError(f"This result of {result.kind} has no check of shares; fit a model of raters first.")
    shares = shares.assign(
        panel=panel_names(shares, names), row=category_names(shares["category"], result, names)
    )
    made = [
        shares.assign(series=PRIOR, estimate=shares["prior_expected"], lower=shares["prior_lower"],
                      upper=shares["prior_upper"]),
        shares.assign(series=FITTED, estimate=shares["expected"]),
        shares.assign(series=OBSERVED, estimate=shares["observed"], lower=float("nan"), upper=float("nan")),
    ]  # fmt: skip
    known = [OBSERVED, FITTED, PRIOR] if shares["prior_lower"].notna().any() else [OBSERVED, FITTED]
    panels = list(dict.fromkeys(shares["panel"]))
    across = shares["dimension"].nunique()
    forest = Forest(
        pd.concat(made), panels, list(dict.fromkeys(shares["row"])), known, list(range(len(known))),
        "Share", across=across if across > 1 else 4,
    )  # fmt: skip
    return draw_forest(forest, theme=theme, title=title)


def alt(result: Drawable, labels: Mapping[LabelKey, str] | None = None) -> str:
    """Describe the check in words: how many shares lie outside what the model makes, and which."""
    names, shares = Names(labels), predicted_shares(result)
    off = shares[outside(shares)]
    told = [
        f"{panel + ', ' if panel else ''}{row}: {value:.2f}"
        for panel, row, value in zip(
            panel_names(off, names),
            category_names(off["category"], result, names),
            off["observed"],
            strict=True,
        )
    ]
    where = f" ({'; '.join(told[:6])}{' and more' if len(told) > 6 else ''})" if told else ""
    return (
        f"Observed shares with intervals of replicated data. {len(off)} of {len(shares)} observed shares lie "
        f"outside the interval of the fitted model{where}."
    )


def outside(shares: pd.DataFrame, prefix: str = "") -> pd.Series[bool]:
    """Which observed shares lie outside the interval of the fitted model, or with "prior_" of the priors."""
    low, high = shares[f"{prefix}lower"], shares[f"{prefix}upper"]
    return (shares["observed"] < low) | (shares["observed"] > high)


def panel_names(shares: pd.DataFrame, names: Names) -> list[str]:
    """Group, with the dimension where there are several."""
    several = shares["dimension"].nunique() > 1
    return [
        f"{names.of('judge', group)}, {names.of('dimension', dimension)}" if several
        else names.of("judge", group)
        for group, dimension in zip(shares["group"], shares["dimension"], strict=True)
    ]  # fmt: skip


def category_names(category: pd.Series[Any], result: Drawable, names: Names) -> list[str]:
    """Labels and levels in words; ratings as numbers."""
    if result.kind == "label_model":
        return [names.of("label", name) for name in category]
    if result.kind == "choice_model":
        told = [str(name).split("=", 1) for name in category]
        return [f"{names.column(feature)}: {names.of(feature, level)}" for feature, level in told]
    return [f"Rating {name}" for name in category]


def _shares(table: pd.DataFrame) -> pd.DataFrame:
    """Shares in the one layout: dimension, group, category, and the numbers that the table has."""
    kept = table[table["statistic"] == "share"] if "statistic" in table else table
    if "feature" in kept:
        levels = kept["feature"].astype(str) + "=" + kept["level"].astype(str)
        kept = kept.assign(group="", category=levels)
    group = kept["group"] if "group" in kept else kept["judge"]
    value = next(kept[name] for name in ("category", "label", "value") if name in kept)
    keys = pd.DataFrame(
        {
            "dimension": kept["dimension"].astype(str) if "dimension" in kept else "",
            "group": group.astype(str),
            "category": [f"{one:g}" if isinstance(one, float) else str(one) for one in value],
        },
        index=kept.index,
    )
    return pd.concat([keys, kept[["observed", "expected", "lower", "upper"]]], axis=1).reset_index(drop=True)
