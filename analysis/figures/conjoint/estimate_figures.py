"""Estimates of a conjoint: effects, marginal means and interactions of one judge or of several."""

from __future__ import annotations

from typing import Literal

from conjury.inference.errors import InputError

from ...frames.reported_intervals import reported
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, Picture, figure
from ..interval_dots import LevelPanels
from ..labels import series_labels
from .effect_figures import (
    HALF,
    MINUS,
    SERIES,
    WHO,
    Interval,
    Order,
    axis_label,
    interaction,
    interval_words,
    plot_by_reference,
    plot_levels,
    series_in_words,
)
from .equivalence_figure import equivalence
from .level_columns import MOST_IN_ROWS, judge_columns, two_judges

VERBS = (
    *(
        "amce",
        "amce_by_reference",
        "amce_diffs",
        "cj_amce",
        "mm",
        "mm_diffs",
        "cj_mm",
        "mixed",
        "interaction",
    ),
    *(
        "pamce",
        "pmm",
        "people",
        "people_by",
        "prompt_diffs",
        "coefficients",
        "marginal_means",
        "target_sensitivity",
    ),
)


@figure(*VERBS)
def effects(
    result: Drawable,
    style: FigureStyle,
    *,
    group: str | None = None,
    interval: Interval | None = None,
    share_x: bool = True,
    bounds: str | None = None,
    baseline: float | None = None,
    feature: str | None = None,
    by: str | None = None,
    panels: Literal["feature", "by"] = "feature",
    order: Order = "effect",
) -> LevelPanels | Picture:
    """Estimates of a conjoint: effects, marginal means and interactions of one judge or of several."""
    # Two judges are joined, with their difference beside them where `extra["differences"]` has it; more than
    # three have a column each. Rows of an attribute stand by the effect, those of an ordered attribute and
    # with `order="study"` as in the study. One axis for all attributes, unless `share_x` is false. Marginal
    # means stand around their null value (0.5 where it was left at 0 and all means are shares); `feature` and
    # `by` draw one attribute by another.
    frame, words, settings = result.frame, style.words, result.settings
    if "estimate" not in frame or "feature" not in frame:
        raise InputError("A table without estimates of levels has no figure; print their table with .frame.")
    if "verdict" in frame:
        return equivalence(result, style, group=group, share_x=share_x)
    if interval is None:
        frame = reported(frame, settings)
    else:
        settings = {**settings, "intervals": dict.fromkeys(WHO, interval)}
    bounds = interval_words(settings, frame) if bounds is None else bounds
    interval = interval or "normal"
    if feature is not None and by is not None:
        return interaction(frame, style, feature, by, panels, group, interval, bounds, order)
    if "reference" in frame:
        return plot_by_reference(frame, style, bounds, share_x)
    groups = [name for name in settings.get("by") or () if name in frame]
    who = series_labels(frame, None, style.series_label)
    label = None
    if groups and {"by", "people", "model"} <= set(frame):
        contrasts = set(series_in_words(frame, groups, words))
        label = f"{axis_label(frame)}: model minus people"
        if len(contrasts) == 1:  # the judges are the series
            label, groups = f"{label}, {contrasts.pop()}", []
    if groups and group is None and feature is None and who.nunique() > 1:
        if "by" in frame and len(groups) == 1:  # of several judges or prompts: the first attribute by group
            feature = str(frame.loc[frame["estimate"].notna(), "feature"].iloc[0])
            return interaction(frame, style, feature, groups[0], panels, None, interval, bounds, order)
        joined = zip(who, series_in_words(frame, groups, words), strict=True)
        frame, group = frame.assign(**{SERIES: [", ".join(filter(None, names)) for names in joined]}), SERIES
    elif groups and group is None:
        frame, group = frame.assign(**{SERIES: series_in_words(frame, groups, words)}), SERIES
    series_names = set(frame[group].astype(str)) if group == SERIES else set()
    if len(series_names) == 1 and (MINUS in (only := series_names.pop()) or result.kind == "interaction"):
        label = f"{axis_label(frame)}: {only}"
    kinds = set(frame["statistic"].astype(str)) if "statistic" in frame else {"amce"}
    is_mean = kinds <= {"mm", "pmm"} and result.kind != "people"
    line: float | None = 0.0
    if is_mean:
        null = float(settings.get("null") or settings.get("h0") or 0.0)
        is_share = frame["estimate"].dropna().between(0, 1).all()
        line = baseline if baseline is not None else null or (HALF if is_share else None)
    plot = plot_levels(
        frame,
        style,
        group=group,
        interval=interval,
        bounds=bounds,
        baseline=line,
        share_x=share_x,
        label=label,
        order=order,
    )
    n_judges = frame["judge"].nunique() if "judge" in frame else 0
    if not share_x or group is not None or not 1 < n_judges == len(plot.series):
        return plot
    if n_judges == 2:
        alpha = float(result.settings.get("alpha", 0.05))
        return two_judges(plot, result.extra.get("differences"), alpha, style)
    return judge_columns(plot) if n_judges > MOST_IN_ROWS else plot
