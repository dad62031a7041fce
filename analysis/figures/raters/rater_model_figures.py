"""What models of raters, labels and choices estimate, and whether they reproduce the observed shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import stripe, tidy
from ..figure_layout import (
    LONGEST_LABEL,
    Drawable,
    add_legend,
    inches,
    lines_high,
    require_estimates,
    room_above,
    wrap,
)
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import OF_RATERS, ColumnNames, LevelLabels, display_order, level_of
from ..theme import PAGE_HEIGHT, Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PEOPLE = 30
OF_JUDGES = {name: OF_RATERS[name] for name in ("severity_points", "discrimination")}
OF_GROUPS = {
    name: OF_RATERS[name]
    for name in (
        "latent_correlation",
        "latent_correlation_rating",
        "correlation",
        "better_than_human",
        "closer_than_human",
    )
}
HALF = ("better_than_human", "closer_than_human")
KEYS = ["dimension", "group", "category"]
NUMBERS = ["observed", "expected", "lower", "upper", "prior_expected", "prior_lower", "prior_upper"]
OBSERVED, FITTED, PRIOR = "Observed", "Predicted by the fitted model", "Predicted by the priors alone"
POPULATION, RATERS = "Population, with its interval", "Single raters (estimates)"
CERTAIN = 0.95


@figure("rater_model")
def rater_model(result: Drawable, style: FigureStyle) -> Forest:
    """Agreement of each group with the consensus of people, from the model of raters."""
    names, frame = style.names, result.frame
    rows = frame[frame["quantity"].isin(OF_GROUPS)]
    return forest(
        rows,
        panel=rows["quantity"].map(OF_GROUPS),
        row=names.all("group", rows["group"]),
        panels=[text for name, text in OF_GROUPS.items() if name in set(rows["quantity"])],
        xlabel=_posterior_label(result),
        what="Agreement with the consensus of people",
        baseline={OF_GROUPS[name]: 0.5 for name in HALF},
        across=2,
    )


@figure("rater_model", part="judges", when=lambda result: "judges" in result.extra)
def rater_judges(result: Drawable, style: FigureStyle) -> Forest:
    """Severity and discrimination of each rater; of many people, evenly spaced ones by severity."""
    names, judge_table = style.names, result.extra["judges"]
    models = set(result.frame.loc[result.frame["judge_kind"] == "model", "group"])
    points = judge_table[judge_table["quantity"] == "severity_points"].sort_values("estimate")
    people = points.loc[~points["group"].isin(models), "judge"].tolist()
    if len(people) > MOST_PEOPLE:
        people = [people[round(k * (len(people) - 1) / (MOST_PEOPLE - 1))] for k in range(MOST_PEOPLE)]
    rater_ids = [*points.loc[points["group"].isin(models), "judge"], *people]
    rows = judge_table[judge_table["quantity"].isin(OF_JUDGES) & judge_table["judge"].isin(rater_ids)]
    kind = rows["group"].isin(models).map({True: "Model", False: "Person"})
    series = [name for name in ("Person", "Model") if name in set(kind)]
    return forest(
        rows,
        panel=rows["quantity"].map(OF_JUDGES),
        row=names.all("judge", rows["judge"]),
        series=kind,
        panels=list(OF_JUDGES.values()),
        rows=names.all("judge", rater_ids),
        order=series,
        places=[("Person", "Model").index(name) for name in series],
        xlabel=_posterior_label(result),
        what="Severity (points of the scale below the average of people) and discrimination of raters",
        baseline={OF_JUDGES["severity_points"]: 0.0},
        share_x=False,
        across=2,
    )


def _posterior_label(result: Drawable) -> str:
    level = level_of(result.settings)
    return f"Posterior mean and {level} posterior interval"


def predicted_shares(result: Drawable) -> pd.DataFrame:
    """Observed and replicated shares of a model of raters, dimensions, labels or choices, in one layout."""
    frequencies = result.extra.get("frequencies", result.extra.get("check"))
    if frequencies is None or frequencies.empty:
        return pd.DataFrame(columns=[*KEYS, *NUMBERS])
    shares = _shares(frequencies)
    prior = result.extra.get("prior_frequencies", result.extra.get("prior_check"))
    if prior is None:
        return shares.assign(**dict.fromkeys(NUMBERS[-3:], float("nan")))
    ends = {name: f"prior_{name}" for name in ("expected", "lower", "upper")}
    prior_shares = _shares(prior).drop(columns="observed").rename(columns=ends)
    return shares.merge(prior_shares, on=KEYS, how="left")


def _check_alt(result: Drawable, style: FigureStyle) -> str:
    """Count the shares that lie outside what the model predicts, and name some."""
    names, shares = style.names, predicted_shares(result)
    off = shares[is_outside_interval(shares)]
    texts = zip(
        panel_names(off, names), category_names(off["category"], result, names), off["observed"], strict=True
    )
    examples = [f"{panel + ', ' if panel else ''}{row}: {value:.2f}" for panel, row, value in texts]
    where = f" ({'; '.join(examples[:6])}{' and more' if len(examples) > 6 else ''})" if examples else ""
    return (
        f"Observed shares with intervals of replicated data. {len(off)} of {len(shares)} observed shares are "
        f"outside the interval of the fitted model{where}."
    )


@figure(
    "rater_model",
    "dimension_model",
    "label_model",
    "choice_model",
    part="check",
    alt=_check_alt,
    when=lambda result: not predicted_shares(result).empty,
)
def check(result: Drawable, style: FigureStyle) -> Figure:
    """The predictive check: a panel per group (and dimension), a row per rating or label."""
    names, shares = style.names, predicted_shares(result)
    if shares.empty:
        raise InputError(f"This result of {result.kind} has no check of shares; fit a model of raters first.")
    shares = shares.assign(
        panel=panel_names(shares, names), row=category_names(shares["category"], result, names)
    )
    nothing = float("nan")
    all_shares = pd.concat(
        [
            shares.assign(
                series=PRIOR,
                estimate=shares["prior_expected"],
                lower=shares["prior_lower"],
                upper=shares["prior_upper"],
            ),
            shares.assign(series=FITTED, estimate=shares["expected"]),
            shares.assign(series=OBSERVED, estimate=shares["observed"], lower=nothing, upper=nothing),
        ]
    )
    series_names = [OBSERVED, FITTED, PRIOR] if shares["prior_lower"].notna().any() else [OBSERVED, FITTED]
    across = shares["dimension"].nunique()
    plot = forest(
        all_shares,
        panel=all_shares["panel"],
        row=all_shares["row"],
        series=all_shares["series"],
        order=series_names,
        xlabel="Share",
        what="Observed and predicted shares",
        across=across if across > 1 else 4,
    )
    return plot.draw(style)


def is_outside_interval(shares: pd.DataFrame, prefix: str = "") -> pd.Series[bool]:
    """Which observed shares lie outside the interval of the fitted model, or with "prior_" of the priors."""
    low, high = shares[f"{prefix}lower"], shares[f"{prefix}upper"]
    return (shares["observed"] < low) | (shares["observed"] > high)


def panel_names(shares: pd.DataFrame, names: ColumnNames) -> list[str]:
    """Group, with the dimension where there are several."""
    groups = names.all("judge", shares["group"])
    if shares["dimension"].nunique() < 2:
        return groups
    pairs = zip(groups, names.all("dimension", shares["dimension"]), strict=True)
    return [", ".join(pair) for pair in pairs]


def category_names(category: pd.Series[Any], result: Drawable, names: ColumnNames) -> list[str]:
    """Labels and levels in words; ratings as numbers."""
    if result.kind == "label_model":
        return names.all("label", category)
    if result.kind == "choice_model":
        pairs = [str(name).split("=", 1) for name in category]
        return [f"{names.column(feature)}: {names.of(feature, level)}" for feature, level in pairs]
    return [f"Rating {name}" for name in category]


def _shares(table: pd.DataFrame) -> pd.DataFrame:
    """Shares in the one layout: dimension, group, category, and the numbers that the table has."""
    rows = table[table["statistic"] == "share"] if "statistic" in table else table
    if "feature" in rows:
        cells = rows["feature"].astype(str) + "=" + rows["level"].astype(str)
        rows = rows.assign(group="", category=cells)
    group = rows["group"] if "group" in rows else rows["judge"]
    value = next(rows[name] for name in ("category", "label", "value") if name in rows)
    keys = pd.DataFrame(
        {
            "dimension": rows["dimension"].astype(str) if "dimension" in rows else "",
            "group": group.astype(str),
            "category": [
                f"{category:g}" if isinstance(category, float) else str(category) for category in value
            ],
        },
        index=rows.index,
    )
    return pd.concat([keys, rows[["observed", "expected", "lower", "upper"]]], axis=1).reset_index(drop=True)


def _part_worths_alt(result: Drawable, style: FigureStyle) -> str:
    """Name the largest and the smallest part-worth, and where raters differ most."""
    frame, words = result.frame, style.words
    worth = frame[frame["quantity"] == "part-worth"].reset_index(drop=True)
    texts, value = _worth_names(worth, words), worth["estimate"].astype(float)
    text = f"Part-worths. Largest: {texts[int(value.argmax())]} ({value.max():.2f}). "
    text += f"Smallest: {texts[int(value.argmin())]} ({value.min():.2f})."
    spread = frame[frame["quantity"] == "SD between raters"].reset_index(drop=True)
    if len(spread):
        most = int(spread["estimate"].astype(float).argmax())
        where = _worth_names(spread, words)[most]
        text += f" Raters differ most in {where} (SD {spread['estimate'].iloc[most]:.2f})."
    return text


@figure("choice_model", alt=_part_worths_alt)
def part_worths(result: Drawable, style: FigureStyle) -> Figure:
    """Part-worths of the population with intervals, and of single raters as a cloud in each row."""
    look = style.look
    frame = result.frame[result.frame["quantity"] == "part-worth"].reset_index(drop=True)
    require_estimates(frame)
    raters = result.extra.get("raters")
    texts = [wrap(text, LONGEST_LABEL) for text in _worth_names(frame, style.words)]
    rows = np.array([max(0.26, 0.08 + lines_high(text)) for text in texts])
    width = page_width() if max(map(inches, texts)) > 1.6 else 5.8
    legend = [POPULATION] + ([RATERS] if raters is not None else [])
    title, above, columns = room_above(style.title, width, legend)
    fig = new_figure(width, min(rows.sum() + 0.6 + above, PAGE_HEIGHT))
    axes = fig.subplots()
    handles = _draw_worths(axes, frame, raters, look)
    axes.set_yticks(range(len(frame)), texts)
    axes.set_ylim(len(frame) - 0.5, -0.5)
    axes.axvline(0, color=look.muted, linewidth=0.9, zorder=1)
    tidy(axes)
    axes.set_xlabel("Part-worth relative to the reference level (logit scale)")
    add_legend(fig, handles, legend, columns, title, look)
    return fig


def _worth_names(frame: pd.DataFrame, words: LevelLabels) -> list[str]:
    texts = []
    for row in frame[["feature", "level"]].astype(str).to_dict("records"):
        parts = zip(row["feature"].split(":"), row["level"].split(":"), strict=True)
        if row["feature"] == "position":
            texts.append("Shown in position A")
        else:
            texts.append(" and ".join(words.both(feature, level) for feature, level in parts))
    return texts


def _draw_worths(axes: Axes, frame: pd.DataFrame, raters: pd.DataFrame | None, look: Theme) -> list[object]:
    from matplotlib.lines import Line2D

    stripe(axes, range(len(frame)), look)
    handles: list[object] = []
    if raters is not None:
        place = {key: k for k, key in enumerate(zip(frame["feature"], frame["level"], strict=True))}
        keys = zip(raters["feature"], raters["level"], strict=True)
        y = np.array([place[key] for key in keys], dtype=float)
        faint = float(np.clip(12 * max(len(frame), 1) / len(raters), 0.08, 0.6))
        spread = np.random.default_rng(1).uniform(-0.26, 0.26, len(y))
        axes.scatter(
            raters["estimate"],
            y + spread,
            s=7,
            color=look.color(1),
            alpha=faint,
            linewidths=0,
            zorder=2,
            rasterized=True,
        )
        handles.append(Line2D([], [], linestyle="none", marker="o", markersize=3.4, color=look.color(1)))
    bars = axes.errorbar(
        frame["estimate"], np.arange(len(frame)),
        xerr=[frame["estimate"] - frame["lower"], frame["upper"] - frame["estimate"]],
        fmt="o", color=look.color(0), markersize=4.6, linewidth=1.6, markeredgecolor=look.background,
        markeredgewidth=0.6, zorder=4,
    )  # fmt: skip
    return [bars, *handles]


def most_probable(result: Drawable) -> pd.DataFrame:
    """The most probable class of each item, once: ``item_id, label, probability``."""
    items = result.extra["items"]
    return items[items["most_probable"]].drop_duplicates("item_id")[["item_id", "label", "probability"]]


def _certainty_alt(result: Drawable, style: FigureStyle) -> str:
    """Count the items whose class is all but certain."""
    best = most_probable(result)
    certain = int((best["probability"] > CERTAIN).sum())
    return (
        f"Items by the probability of their most probable class: {certain:,} of {len(best):,} items have one "
        f"above {CERTAIN:.0%}."
    )


@figure("label_certainty", alt=_certainty_alt)
@figure("label_model", part="certainty", alt=_certainty_alt, when=lambda result: "items" in result.extra)
def certainty(result: Drawable, style: FigureStyle) -> Figure:
    """How certain the true class of each item is: a histogram, coloured by the most probable class."""
    bins, width, hatches = 20, 5.4, ("", "////", "....")  # hatches distinguish classes after the last colour
    look, best = style.look, most_probable(result)
    classes = display_order(best["label"])
    legend = style.names.all("label", classes)
    title, above, columns = room_above(style.title, width, legend)
    start = 1 / max(len(result.extra["items"]["label"].unique()), 2)
    edges = np.linspace(np.floor(start * bins) / bins, 1.0, bins + 1)
    fig = new_figure(width, 2.6 + above)
    axes = fig.subplots()
    heights, handles = np.zeros(bins), []
    for place, name in enumerate(classes):
        counts = np.histogram(
            best.loc[best["label"].astype(str) == name, "probability"].to_numpy(float), edges
        )[0]
        handles.append(
            axes.bar(
                edges[:-1], counts, np.diff(edges), bottom=heights, align="edge", color=look.color(place),
                hatch=hatches[(place // len(look.palette)) % len(hatches)], edgecolor=look.background,
                linewidth=0.7,
            )
        )  # fmt: skip
        heights += counts
    tidy(axes, "y")
    axes.set_xlabel("Probability of the most probable class")
    axes.set_ylabel("Items")
    axes.set_xlim(edges[0], 1.0)
    add_legend(fig, handles, legend, columns, title, look)
    return fig
