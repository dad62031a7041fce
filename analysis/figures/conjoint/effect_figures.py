"""Effects, marginal means and interactions of conjoints with intervals, attributes in panels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.schema import CHOICE_OUTCOMES, PROBABILITY

from ...frames.reported_intervals import interval_kinds
from ...frames.sentences import agreeing_with_part, capitalised, out_of
from ..dot_marks import PERCENT, POINTS, unit_of
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..gain_labels import NEUTRAL_PLACE
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import LabelKey, LevelLabels, display_order, level_of, refuse_repeats, series_labels

Interval = Literal["normal", "bootstrap"]
Order = Literal["effect", "study"]
AXIS_LABELS = {
    "amce": "Average marginal component effect",
    "amce_difference": "Difference in average marginal component effects",
    "amce_minus_people": "Average marginal component effect, model minus people",
    "mm": "Marginal mean",
    "mm_minus_people": "Marginal mean, model minus people",
    "mm_difference": "Difference in marginal means",
    "mm_contrast": "Difference between marginal means",
    "pamce": "Population average marginal component effect",
    "pamce_difference": "Change in the effect with the distribution of attributes",
    "pmm": "Population marginal mean",
    "acie": "Average component interaction effect",
    "amie": "Average marginal interaction effect",
}
MEANS = {"mm", "pmm"}
COUNTED = re.compile(r"\D{0,3}\d")  # labels of levels that are numbers: 2 years, $ 5,000
DIFFERENCES = {name for name in AXIS_LABELS if re.search("difference|minus|contrast", name)}
SERIES = "series_in_words"
MINUS = " minus "
HALF = 0.5
WHO = {"human": "people", "model": "models"}
DETECTABLE = {
    "effect_design": "Detectable by the plan",
    "effect_found": "Detectable with the standard errors found",
    "estimate": "Estimate (without sign)",
}


def plot_levels(
    frame: pd.DataFrame,
    style: FigureStyle,
    *,
    group: str | None = None,
    interval: Interval = "normal",
    bounds: str = "",
    label: str | None = None,
    what: str | None = None,
    words: LevelLabels | None = None,
    columns: tuple[str, str] = ("feature", "level"),
    share_x: bool = True,
    order: Order = "effect",
    **options: Any,
) -> LevelPanels:
    """Lay tidy estimates out: ``columns`` name those that spread them over panels and rows."""
    # Rows of levels without an order of their own stand by the estimates of people, or of the first series.
    panel, row = columns
    ends = ["boot_lower", "boot_upper"] if interval == "bootstrap" else ["lower", "upper"]
    missing = next(
        (name for name in ("feature", "level", panel, row, "estimate", *ends) if name not in frame), None
    )
    if missing is not None:
        raise InputError(f"A figure needs the column {missing!r}, which the table of estimates lacks.")
    if frame.empty:
        raise InputError("There is nothing to draw: the table of estimates has no rows.")
    words = words or style.words
    keys, series = frame[[panel, row]].astype("string"), series_labels(frame, group, style.series_label)
    refuse_repeats(pd.concat([keys, series.rename("series")], axis=1))
    label = label if label is not None else axis_label(frame)

    def named(column: str, owner: str, value: str) -> str:
        return words.feature(value) if column == "feature" else words.level(owner, value)

    table = table_of(
        frame,
        [named(panel, panel, a) for a in keys[panel]],
        [named(row, a, b) for a, b in zip(keys[panel], keys[row], strict=True)],
        series,
        ["estimate", *ends],
    ).assign(reference=is_reference(frame))
    judges, is_shaded = frame.get("judge", series), group in (None, "prompt") and "prompt" in frame
    if is_shaded and judges.nunique() < series.nunique() and "judge" in frame:
        places, names = style.names.places_of_prompts(frame, series), list(dict.fromkeys(series))
    else:
        places, names = style.names.series_by_place(frame, series)
    rows = {
        named(panel, panel, a): [named(row, a, b) for b in display_order(frame.loc[keys[panel] == a, row])]
        for a in display_order(frame[panel])
    }
    if order == "effect":
        ordered = {named(panel, panel, a) for a in keys[panel].unique() if ("order", a) in style.labels}
        alike = {name: [name] if panel == "feature" else same_rows(rows, name) for name in rows}
        rows = {
            name: texts
            if name in ordered
            else by_effect(table[table["panel"].isin(alike[name])], texts, names[0])
            for name, texts in rows.items()
        }
    is_difference = "statistic" in frame and set(frame["statistic"].dropna().astype(str)) <= DIFFERENCES
    is_neutral = is_difference and series.nunique() == 1
    return levels(
        table,
        xlabel=add_bounds_to_label(label, bounds),
        what=what or label,
        rows=rows,
        series=names,
        places=[NEUTRAL_PLACE] if is_neutral else places,
        share_x=share_x,
        unit=unit_of(label),
        is_shaded=is_shaded,
        **options,
    )


def same_rows(rows: Mapping[str, list[str]], panel: str) -> list[str]:
    """The panels with the rows of one, which stand in one order to be compared across."""
    return [name for name, texts in rows.items() if set(texts) == set(rows[panel])]


def by_effect(estimates: pd.DataFrame, rows: list[str], first: str) -> list[str]:
    """Rows of a panel, or of panels alike, by a series' estimates from the largest, below references."""
    # Where the labels of all levels are numbers, as of years, these are their order.
    if all(map(COUNTED.match, rows)) or estimates["estimate"].isna().all():
        return rows
    by_row = estimates.groupby("row", sort=False)["estimate"]
    of_first = estimates[estimates["series"] == first].groupby("row", sort=False)["estimate"].mean()
    sizes = of_first.combine_first(by_row.mean())
    references = estimates.groupby("row")["reference"].all()
    return sorted(rows, key=lambda row: (not references[row], -sizes.fillna(-np.inf)[row]))


def stack_tables(tables: Mapping[str, pd.DataFrame], column: str) -> pd.DataFrame:
    """Stack estimates of the same levels, with the name of each table in a column, in the order of levels."""
    stack = pd.concat([table.assign(**{column: name}) for name, table in tables.items()], ignore_index=True)
    for name in ("feature", "level"):
        dtypes = [table[name].dtype for table in tables.values()]
        if isinstance(dtypes[0], pd.CategoricalDtype):
            categories = dict.fromkeys(
                value for dtype in dtypes for value in getattr(dtype, "categories", [])
            )
            stack[name] = pd.Categorical(stack[name], categories=list(categories))
    return stack


def axis_label(frame: pd.DataFrame) -> str:
    """Name the quantity on the x axis from the ``statistic`` column, with its unit where it is of choices."""
    statistics = (
        [str(value) for value in frame["statistic"].dropna().unique()] if "statistic" in frame else []
    )
    label = AXIS_LABELS.get(statistics[0], statistics[0]) if len(statistics) == 1 else "Estimate"
    label += add_probability(frame, "of" if "mean" in label.lower() else "on")
    return add_unit(label, frame, is_mean=bool(MEANS & set(statistics)))


def add_unit(label: str, frame: pd.DataFrame, *, is_mean: bool = False) -> str:
    """Add to the name of a mean or a change that it is in percent, where ``outcome`` is a choice."""
    outcomes = set(frame["outcome"].dropna().astype(str)) if "outcome" in frame else set()
    if not outcomes or not outcomes <= CHOICE_OUTCOMES:
        return label
    return f"{label}, {PERCENT if is_mean else POINTS}"


def add_probability(frame: pd.DataFrame, preposition: str) -> str:
    """Add to a quantity that it is about the probability of a choice, where ``outcome`` is that."""
    outcomes = set(frame["outcome"].dropna().astype(str)) if "outcome" in frame else set()
    return f" {preposition} the probability of being chosen" if outcomes == {PROBABILITY} else ""


def add_bounds_to_label(label: str, bounds: str) -> str:
    """Add to an axis label what the lines are."""
    return f"{label} (lines: {bounds})" if bounds else label


def interval_words(settings: Mapping[str, Any], frame: pd.DataFrame | None = None) -> str:
    """What the lines of a figure are: ``95% percentile bootstrap intervals``."""
    # `frame` contains the estimates, with the limits that are `reported`.
    if "interval" not in settings:
        return ""
    if frame is not None and "boot_lower" in frame:  # the bootstrap is beside the limits of standard errors
        return name_intervals(settings, interval_kinds(settings, frame))
    name = str(settings["interval"])
    kind = name if name in ("normal", "t", "posterior") else f"{name} bootstrap"
    return f"{level_of(settings)} {kind} intervals"


def name_intervals(settings: Mapping[str, Any], kinds: Mapping[str, str]) -> str:
    """Intervals by their level and kind, in the plural; with the kind of judges if kinds differ."""
    if len(kinds) == 1:
        return f"{level_of(settings)} {next(iter(kinds.values()))} intervals"
    parts = [f"{kind} for {WHO[judges]}" for judges, kind in kinds.items()]
    return f"{level_of(settings)} intervals, {' and '.join(parts)}"


def is_reference(frame: pd.DataFrame) -> pd.Series[bool]:
    """Mark reference levels: an estimate of exactly zero without a standard error or interval."""
    errors = [name for name in ("std_error", "lower", "upper") if name in frame]
    return (frame["estimate"] == 0) & frame[errors].isna().all(axis=1)


def series_in_words(frame: pd.DataFrame, groups: Sequence[str], labels: LevelLabels) -> list[str]:
    """Name the group of each row; the name of a difference also says from which group it is taken."""
    texts = []
    for row in frame[[*(["by"] if "by" in frame else []), *groups]].astype(str).to_dict("records"):
        text = ", ".join(labels.level(name, row[name]) for name in groups)
        group_id = "***".join(row[name] for name in groups)
        reference_id = row.get("by", group_id).removeprefix(group_id).removeprefix(" - ")
        if reference_id:
            text += f"{MINUS}{labels.level_inside(groups[0], reference_id)}"
        texts.append(text)
    return texts


def plot_by_reference(frame: pd.DataFrame, style: FigureStyle, bounds: str, share_x: bool) -> LevelPanels:
    """The attribute whose reference changes: a panel for each reference."""
    words = style.words
    turned = frame["level"].astype("string") == frame["reference"].astype("string")
    reference_rows = frame[turned & is_reference(frame)]
    feature = str(
        reference_rows.groupby(reference_rows["feature"].astype("string"))["reference"].nunique().idxmax()
    )
    feature_rows = frame[frame["feature"].astype("string") == feature]
    panels = [f"Reference: {words.level(feature, value)}" for value in feature_rows["reference"]]
    labels: dict[LabelKey, str] = {
        (panel, value): words.level(feature, value)
        for panel in dict.fromkeys(panels)
        for value in display_order(feature_rows["level"])
    }
    label = f"{axis_label(frame)}: {words.feature(feature).lower()}"
    return plot_levels(
        feature_rows.assign(reference=panels),
        style,
        bounds=bounds,
        label=label,
        words=LevelLabels(labels),
        columns=("reference", "level"),
        share_x=share_x,
    )


def interaction(
    frame: pd.DataFrame,
    style: FigureStyle,
    feature: str,
    by: str,
    panels: str,
    group: str | None,
    interval: Interval,
    bounds: str,
    order: Order = "effect",
) -> LevelPanels:
    """Differences in the effects of ``feature`` between the levels of ``by``."""
    for name in ("feature", by):
        if name not in frame.columns:
            raise InputError(f"The table of differences has no column {name!r}.")
    rows = frame[(frame["feature"].astype("string") == feature) & frame["estimate"].notna()]
    if rows.empty:
        raise InputError(f"The table of differences has no estimate for {feature!r}.")
    words, labels = style.words, dict(style.labels)
    columns = ("level", by) if panels == "feature" else (by, "level")
    panel_ids, row_ids = (rows[column].dropna().astype(str).unique() for column in columns)
    panel_owner, row_owner = (feature, by) if panels == "feature" else (by, feature)
    labels |= {(columns[0], panel): words.level(panel_owner, panel) for panel in panel_ids}
    labels |= {(panel, row): words.level(row_owner, row) for panel in panel_ids for row in row_ids}
    feature_label, by_label = words.feature(feature).lower(), words.feature(by).lower()
    if "statistic" in rows and set(rows["statistic"].astype(str)) == {"amie"}:
        label = f"Interaction of {feature_label} and {by_label}, beyond both effects"
    else:
        label = f"Difference in {quantity(rows)} of {feature_label}{add_probability(rows, 'on')}"
    label = add_unit(label, rows)
    return plot_levels(
        rows,
        style,
        group=group,
        interval=interval,
        bounds=bounds,
        label=label,
        what=f"Differences in {quantity(rows)} of {feature_label} by {by_label}",
        words=LevelLabels(labels),
        columns=columns,
        order=order,
    )


def quantity(frame: pd.DataFrame) -> str:
    """Name what differs between the groups: effects, or marginal means."""
    is_mean = "statistic" in frame and set(frame["statistic"].astype(str)) == {"mm_difference"}
    return "the marginal mean" if is_mean else "the effect"


@figure("target")
def target(result: Drawable, style: FigureStyle, *, bounds: str | None = None, **options: Any) -> LevelPanels:
    """Effects under a target distribution of attributes, and those of the design (``extra["design"]``)."""
    tables = {"Target": result.frame, "Design": result.extra["design"]}
    estimates = stack_tables(tables, "distribution")
    means = set(estimates["statistic"].astype(str)) <= {"mm", "pmm"}
    return plot_levels(
        estimates,
        style,
        group="distribution",
        label=add_unit(AXIS_LABELS["mm" if means else "amce"], estimates, is_mean=means),
        bounds=interval_words(result.settings) if bounds is None else bounds,
        **options,
    )


def _truth_alt(result: Drawable, style: FigureStyle) -> str:
    """Count the intervals that contain the true value, and give the largest error."""
    frame = result.frame
    error = (frame["estimate"] - frame["true"]).to_numpy(float)
    inside = int((frame["lower"].le(frame["true"]) & frame["upper"].ge(frame["true"])).sum())
    n_intervals = int(frame[["lower", "upper", "true"]].notna().all(axis=1).sum())
    opening = "Dot plot of estimates minus true values."
    if not np.isfinite(error).any():
        return f"{opening} No estimate has a true value."
    position = int(np.nanargmax(np.abs(error)))
    series = series_labels(frame)
    who = f"{series.iloc[position]}, " if series.nunique() > 1 else ""
    what = style.words.both(frame["feature"].iloc[position], frame["level"].iloc[position])
    return (
        f"{opening} {capitalised(out_of(inside, n_intervals, 'interval'))} "
        f"{agreeing_with_part(inside, n_intervals, 'contains', 'contain')} the true value. "
        f"Largest error: {error[position]:.3f} ({who}{what})."
    )


@figure("truth", alt=_truth_alt)
def truth(result: Drawable, style: FigureStyle, *, bounds: str | None = None, **options: Any) -> Any:
    """Estimates minus true values (column ``true``): an interval that contains 0 contains the truth."""
    frame = result.frame
    if "true" not in frame:
        raise InputError("A figure of errors needs the column 'true', which the table of estimates lacks.")
    errors = {
        name: frame[name].astype(float) - frame["true"].astype(float)
        for name in ("estimate", "lower", "upper", "boot_lower", "boot_upper")
        if name in frame
    }
    bounds = interval_words(result.settings) if bounds is None else bounds
    plot = plot_levels(
        frame.assign(**errors), style, label=add_unit("Estimate minus true value", frame), bounds=bounds,
        **options,
    )  # fmt: skip
    return plot.draw(style)


def _detectable_alt(result: Drawable, style: FigureStyle) -> str:
    """Count the estimates that are smaller than the minimum detectable effect."""
    frame, words = result.frame, style.words
    rows = frame[frame["estimate"].abs() < frame["effect_found"]]
    which = ", ".join(words.both(f, v) for f, v in zip(rows["feature"], rows["level"], strict=True))
    total = int(frame[["estimate", "effect_found"]].notna().all(axis=1).sum())
    verb = agreeing_with_part(len(rows), total, "is", "are")
    part = capitalised(out_of(len(rows), total, "estimate"))
    levels_text = f" ({which})" if which else ""
    return f"Dot plot. {part} {verb} smaller than the minimum detectable effect{levels_text}."


@figure("detectable", alt=_detectable_alt)
def detectable(result: Drawable, style: FigureStyle) -> Any:
    """The size of each effect, and the minimum detectable one by design and with these standard errors."""
    frame, words = result.frame, style.words
    if frame.empty:
        raise InputError("There is nothing to draw: the table of detectable effects has no rows.")
    refuse_repeats(frame[["feature", "level"]].astype("string"), "draw one judge and prompt at a time")
    panel = [words.feature(name) for name in frame["feature"]]
    parts = [
        table_of(
            pd.DataFrame({"estimate": frame[column].astype(float).abs()}), panel, words.levels(frame), series
        )
        for column, series in DETECTABLE.items()
    ]
    rows = {
        words.feature(name): [
            words.level(name, level) for level in display_order(frame.loc[frame["feature"] == name, "level"])
        ]
        for name in display_order(frame["feature"])
    }
    table = pd.concat(parts, ignore_index=True)
    label = add_unit("Effect without its sign", frame)
    what = "Effects and minimum detectable effects"
    plot = levels(table, xlabel=label, what=what, rows=rows, unit=unit_of(label))
    return plot.draw(style)
