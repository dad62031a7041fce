"""Estimates compared: with published ones, between engines, and between repeated answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ..dot_marks import POINTS, draw_dots, handles_of, in_unit, set_signed, stripe, tidy
from ..figure_layout import LONGEST_LABEL, Drawable, add_legend, lines_high, room_above, wrap
from ..figure_registry import FigureStyle, figure
from ..interval_dots import table_of
from ..labels import words
from ..theme import Theme, new_figure, page_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRINTED = "printed"
SOURCE_NAMES = {PRINTED: "Published", "": "Ours, corrected join", "as_published": "Ours, published join"}


def source_names(sources: Iterable[str]) -> dict[str, str]:
    """Labels of the sources of estimates; the join is named where there are estimates under both."""
    unique_sources = set(sources)
    labels = {name: SOURCE_NAMES.get(name, words(name)) for name in unique_sources}
    return labels if "as_published" in unique_sources else labels | {"": "Ours"}


def _published_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the largest difference of our estimates from the published ones."""
    estimates = result.frame
    names, texts = source_names(estimates["source"]), []
    for source in (name for name in dict.fromkeys(estimates["source"]) if name != PRINTED):
        row = estimates.loc[estimates.loc[estimates["source"] == source, "difference"].abs().idxmax()]
        texts.append(
            f"{names[source]}: at most {abs(100 * row['difference']):.2f} percentage points from the "
            f"published estimate, at {style.words.both(row['feature'], row['level'])}"
        )
    n_levels = len(estimates[["feature", "level"]].drop_duplicates())
    return f"Published estimates and ours for {n_levels} levels. {'; '.join(texts)}."


@figure("published", alt=_published_alt)
def published(result: Drawable, style: FigureStyle, *, judge: str | None = None) -> Figure:
    """Published estimates and ours on the left, ours minus published on the right."""
    # By default the judge with most variants, else the first.
    estimates = result.frame
    judge = judge or str(estimates.groupby("judge", sort=False)["source"].nunique().idxmax())
    judge_rows = estimates[estimates["judge"] == judge]
    if judge_rows.empty:
        raise InputError(f"The published table and the estimates share no level of judge {judge!r}.")
    look = style.look
    rows = list(dict.fromkeys(zip(judge_rows["feature"], judge_rows["level"], strict=True)))
    sources = [name for name in SOURCE_NAMES if name in set(judge_rows["source"])]
    sources += [name for name in dict.fromkeys(judge_rows["source"]) if name not in SOURCE_NAMES]
    texts = [wrap(style.words.both(f, v), LONGEST_LABEL) for f, v in rows]
    names = source_names(sources)
    legend = [names[source] for source in sources]
    title, above, columns = room_above(style.title, page_width(), legend)
    high = max(0.34, 0.06 + max(map(lines_high, texts)))
    fig = new_figure(page_width(), 0.88 + high * len(rows) + above)
    left_axes, right_axes = fig.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
    for position, source in enumerate(sources):
        source_rows = judge_rows[judge_rows["source"] == source].set_index(["feature", "level"]).reindex(rows)
        y = np.arange(len(rows)) + (position - (len(sources) - 1) / 2) * 0.25
        draw_dots(left_axes, in_unit(source_rows, 100.0), y, look, position, size=4.2, line=1.2)
        if source != PRINTED:
            points = 100 * source_rows["difference"].to_numpy(float)
            bars = table_of(pd.DataFrame({"estimate": points, "lower": 0.0 * points, "upper": points}))
            draw_dots(right_axes, bars, y, look, position, size=4.2, line=1.6)
    left_axes.set_yticks(range(len(rows)), texts)
    left_axes.set_ylim(len(rows) - 0.5, -0.5)
    right_axes.tick_params(axis="y", labelleft=False)
    headings = (
        ("Estimates", f"Average marginal component effect, {POINTS}"),
        ("Ours minus published", POINTS.capitalize()),
    )
    for axes, (head, xlabel) in zip((left_axes, right_axes), headings, strict=True):
        axes.set_title(head, loc="left", fontweight="bold")
        axes.set_xlabel(xlabel)
        stripe(axes, rows, look)
        axes.axvline(0, color=look.muted, linewidth=0.9, zorder=1)
        axes.locator_params(axis="x", nbins=5)
        set_signed(axes.xaxis)
        tidy(axes)
    add_legend(fig, handles_of(range(len(sources)), look), legend, columns, title, look)
    return fig


FLOOR = 1e-17  # on a logarithmic axis a difference of 0 is drawn here


TOLERANCE = 1e-8


MEASURES = {
    "max_abs_difference_estimate": "Estimates (absolute)",
    "max_rel_difference_std_error": "Standard errors (relative)",
}


def _engines_alt(result: Drawable, style: FigureStyle) -> str:
    """Describe the comparison of engines in words."""
    summary = result.frame
    reference_engine = _reference_engine(result, None)
    texts = [
        f"{row.engine}: estimates {row.max_abs_difference_estimate:.1e}, "
        f"standard errors {row.max_rel_difference_std_error:.1e}"
        if row.available
        else f"{row.engine}: not available"
        for row in compared_engines(summary, reference_engine).itertuples()
    ]
    return (
        f"Largest differences from the {reference_engine} engine. "
        f"{'; '.join(texts) or 'No other engine was run'}."
    )


@figure("engines", alt=_engines_alt)
def engines(
    result: Drawable, style: FigureStyle, *, reference_engine: str | None = None, tolerance: float = TOLERANCE
) -> Figure:
    """Draw the largest disagreement of each engine with the reference engine."""
    from matplotlib.transforms import blended_transform_factory

    summary, look = result.frame, style.look
    reference_engine = _reference_engine(result, reference_engine)
    engine_rows = compared_engines(summary, reference_engine)
    title, above, _ = room_above(style.title, page_width(), ["", ""])
    fig = new_figure(page_width(), 0.93 + 0.36 * len(engine_rows) + above)
    axes = fig.add_subplot()
    for position, (measure, label) in enumerate(MEASURES.items()):
        values = engine_rows[measure].to_numpy(float)
        is_finite = np.isfinite(values) & engine_rows["available"].to_numpy(bool)
        y = np.flatnonzero(is_finite) + (position - 0.5) * 0.24
        axes.plot(
            np.maximum(values[is_finite], FLOOR), y, look.marker(position), markersize=5.5, label=label,
            color=look.color(position), linestyle="none", zorder=3,
        )  # fmt: skip
    for place, available in enumerate(engine_rows["available"].to_numpy(bool)):
        if not available:
            axes.text(FLOOR * 2, place, "not available", va="center", style="italic", color=look.muted)
    largest = np.nanmax(np.append(engine_rows[list(MEASURES)].to_numpy(float), tolerance))
    axes.axvline(tolerance, color=look.muted, linestyle="--", linewidth=1)
    axes.text(
        tolerance, 1.0, f" tolerance {tolerance:.0e}", va="bottom", fontsize=8, color=look.muted,
        transform=blended_transform_factory(axes.transData, axes.transAxes),
    )  # fmt: skip
    axes.set_xlim(FLOOR / 3, largest * 30)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0e}")
    axes.set_yticks(range(len(engine_rows)), list(engine_rows["engine"].astype(str)))
    axes.set_ylim(max(len(engine_rows), 1) - 0.5, -0.5)
    axes.set_xlabel(f"Largest difference from the {reference_engine} engine")
    tidy(axes)
    handles, names = axes.get_legend_handles_labels()
    add_legend(fig, handles, names, 2, title, look)
    return fig


def _reference_engine(result: Drawable, engine: str | None) -> str:
    """The engine to compare with: the one asked for, that of the settings, else the first."""
    return engine or str(result.settings.get("reference_engine") or reference_engine_of(result.frame))


def reference_engine_of(summary: pd.DataFrame) -> str:
    """Return the engine that the others are compared with where nothing else names it: the first."""
    if summary.empty or "engine" not in summary:
        raise InputError("The summary of engines names no engine; run `conjury compare` again.")
    return str(summary["engine"].iloc[0])


def compared_engines(summary: pd.DataFrame, reference_engine: str) -> pd.DataFrame:
    """Every engine but the reference, in the order of the table."""
    for name in ("engine", "available", *MEASURES):
        if name not in summary.columns:
            raise InputError(f"The summary of engines has no column {name!r}.")
    return summary[summary["engine"].astype(str) != reference_engine].reset_index(drop=True)


SIDES = {"swapped": "positions swapped", "same": "as before", "either": "both kinds"}


SHARES = {"same_profile": "Same profile", "always_a": "Always A", "always_b": "Always B"}


def _reliability_alt(result: Drawable, style: FigureStyle) -> str:
    """Give the agreement of each judge."""
    names = _row_names(result.frame, style)
    texts = [
        f"{name}, {SIDES[row['sides']]}: {row['agreement']:.1%} [{row['lower']:.1%}, "
        f"{row['upper']:.1%}] of {row['n_compared']:,} repeats."
        for name, row in zip(names, result.frame.to_dict("records"), strict=True)
    ]
    return " ".join(["Agreement of repeated answers.", *texts])


@figure("reliability", alt=_reliability_alt)
def reliability(result: Drawable, style: FigureStyle) -> Figure:
    """Agreement (left), and the decomposition of swapped repeats, ``extra["position"]`` (right)."""
    frame, position, look = result.frame, result.extra["position"], style.look
    if frame.empty:
        raise InputError("There is nothing to draw: the table of agreement has no rows.")
    rows = _row_names(position, style)
    frame = frame.assign(row=_row_names(frame, style))
    unanswered_counts = frame[frame["sides"] != "either"].groupby("row")["n_unanswered"].sum()
    labels = [
        wrap(row, 2.0)
        + (f"\n({n_unanswered} unanswered)" if (n_unanswered := int(unanswered_counts.get(row, 0))) else "")
        for row in rows
    ]
    high = max(0.42, 0.1 + max(map(lines_high, labels)))
    title, above, _ = room_above(style.title, page_width(), [])
    fig = new_figure(page_width(), 1.35 + high * len(rows) + above)
    left_axes, right_axes = fig.subplots(1, 2, sharey=True)
    _draw_agreement(left_axes, frame, rows, look)
    _draw_shares(right_axes, position, look)
    left_axes.set_yticks(range(len(rows)), labels)
    left_axes.set_ylim(len(rows) - 0.5, -0.5)
    for axes in (left_axes, right_axes):
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False, fontsize=7.5,
                    handlelength=0.9, handletextpad=0.4, columnspacing=0.8,
                    labelcolor=look.foreground)  # fmt: skip
    add_legend(fig, [], [], 1, title, look)
    return fig


def _row_names(table: pd.DataFrame, style: FigureStyle) -> list[str]:
    """The judge of each row, with the prompt where there are several."""
    numbers = ("sides", "n_repeats", "n_swapped", "agreement", "same_profile")
    first = min(list(table.columns).index(name) for name in numbers if name in table)
    keys = [str(name) for name in table.columns[:first]]
    key_columns = [name for name in keys if name != "prompt" or table[name].nunique() > 1]
    return [
        ", ".join(style.series_label(name, str(row[name])) for name in key_columns if str(row[name]))
        for row in table[keys].to_dict("records")
    ]


def _draw_agreement(axes: Axes, frame: pd.DataFrame, rows: list[str], look: Theme) -> None:
    kinds = [name for name in SIDES if name in set(frame["sides"])]
    for number, sides in enumerate(kinds):
        side_rows = frame[(frame["sides"] == sides) & frame["agreement"].notna()]
        y = side_rows["row"].map(rows.index).to_numpy(float) + (number - (len(kinds) - 1) / 2) * 0.24
        color = look.color(number)
        axes.hlines(
            y, 100 * side_rows["lower"], 100 * side_rows["upper"], color=color, linewidth=1.3, zorder=3
        )
        axes.plot(100 * side_rows["agreement"], y, look.marker(number), color=color, markersize=4.6, zorder=4,
                  linestyle="none", label=SIDES[sides].capitalize())  # fmt: skip
    axes.axvline(50, color=look.muted, linewidth=0.9, zorder=1)
    axes.annotate("chance", (50, 0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
                  fontsize=7.5, style="italic", color=look.muted)  # fmt: skip
    lowest = float(np.nanmin([45.0, *(100 * frame["lower"] - 3)]))
    axes.set_xlim(max(lowest, -2.0), 102)
    axes.grid(axis="x", zorder=0)
    axes.set_xlabel("Repeats with the same profile chosen (%)")


def _draw_shares(axes: Axes, position: pd.DataFrame, look: Theme) -> None:
    start = np.zeros(len(position))
    for (name, label), color in zip(SHARES.items(), (0, 1, 4), strict=True):
        width = 100 * position[name].fillna(0).to_numpy(float)
        axes.barh(np.arange(len(position)), width, 0.55, left=start, color=look.color(color), label=label,
                  edgecolor=look.background, linewidth=0.8)  # fmt: skip
        start += width
    axes.set_xlim(0, 100)
    axes.set_xlabel("Repeats with swapped positions (%)")
