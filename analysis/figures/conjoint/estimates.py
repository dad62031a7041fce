"""The figure of estimates of a conjoint, by what their table contains."""

from __future__ import annotations

from typing import Literal

from conjury.inference.errors import InputError

from ..dots import Levels
from ..fitting import Drawable
from ..registry import Picture, Style, figure
from .contrasts import equivalence
from .effects import (
    HALF,
    SERIES,
    Interval,
    by_reference,
    interaction,
    interval_words,
    of_levels,
    series_in_words,
)

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
    *("pamce", "pmm", "people", "coefficients", "marginal_means"),
)


@figure(*VERBS)
def effects(
    result: Drawable,
    style: Style,
    *,
    group: str | None = None,
    interval: Interval = "normal",
    share_x: bool | None = None,
    bounds: str | None = None,
    baseline: float | None = None,
    feature: str | None = None,
    by: str | None = None,
    panels: Literal["feature", "by"] = "feature",
) -> Levels | Picture:
    """Estimates of a conjoint: a panel for each attribute, a row for each level, series side by side.

    ``group`` is a column whose values stand side by side, by default every column that distinguishes judges,
    prompts, variants or engines; ``bounds`` describes the lines, such as "95% normal intervals". Marginal
    means stand around their null value, 0.5 where it was left at 0 and all means are shares. With ``feature``
    and ``by`` the effects of one attribute by another: a panel for each level of ``feature``, or with
    ``panels="by"`` of ``by``.
    """
    frame, words, settings = result.frame, style.words, result.settings
    if "estimate" not in frame or "feature" not in frame:
        raise InputError("A table without estimates of levels has no figure; print their table with .frame.")
    if "verdict" in frame:
        return equivalence(result, style, group=group, share_x=bool(share_x))
    bounds = interval_words(settings) if bounds is None else bounds
    if feature is not None and by is not None:
        return interaction(frame, style, feature, by, panels, group, interval, bounds)
    if "reference" in frame:
        return by_reference(frame, style, bounds, share_x)
    groups = [name for name in settings.get("by") or () if name in frame]
    if groups and group is None:
        frame, group = frame.assign(**{SERIES: series_in_words(frame, groups, words)}), SERIES
    kinds = set(frame["statistic"].astype(str)) if "statistic" in frame else {"amce"}
    is_mean = kinds <= {"mm", "pmm"} and result.kind != "people"
    line: float | None = 0.0
    if is_mean:
        null = float(settings.get("null") or settings.get("h0") or 0.0)
        is_share = frame["estimate"].dropna().between(0, 1).all()
        line = baseline if baseline is not None else null or (HALF if is_share else None)
    share_x = result.kind == "people" if share_x is None else share_x
    return of_levels(
        frame, style, group=group, interval=interval, bounds=bounds, baseline=line, share_x=share_x
    )
