"""Parts of a report that depend on what the results hold: intervals, true values, printed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from .display import number, raw_block, whole
from .figures import save_variants
from .figures.labels import Labels, series_labels
from .methods import code, drawn_units, plain

if TYPE_CHECKING:
    from great_tables import GT
    from matplotlib.figure import Figure

    from .report import Results

FIGURE_FOLDER = "conjury-figures"
PUBLISHED_INTRO = """\
The published analysis of this study joined each picture to the row before the one that made it; for
one picture in a hundred the attributes changed. @fig-published puts the printed estimates beside the
estimates made with the right join and, where the results hold them, with the published join. Points in
the right panel say how far ours lie from print. @tbl-published lists every judge that both hold."""
PUBLISHED_CAPTION = (
    "Printed estimates beside ours (left), and ours minus printed in percentage points (right), for one "
    "judge that both hold."
)


def picture(name: str, figure: Figure, alt: str) -> str:
    """Write both colour variants of a figure and return the Markdown that shows the fitting one."""
    described = alt.replace("\\", "").replace('"', "'")
    paths = {
        theme: f'![]({path.as_posix()}){{width="100%" fig-alt="{described}"}}'
        for theme, path in save_variants(figure, Path(FIGURE_FOLDER) / name.replace("_", "-")).items()
    }
    return (
        f'\n::: {{.content-visible when-format="html"}}\n\n::: {{.light-content}}\n{paths["light"]}\n:::\n\n'
        f"::: {{.dark-content}}\n{paths['dark']}\n:::\n\n:::\n\n"
        f'::: {{.content-visible unless-format="html"}}\n{paths["light"]}\n:::\n'
    )


def captioned(label: str, content: str, caption: str) -> str:
    """Put a figure or a table into a block with a label and a caption."""
    return f"\n::: {{#{label}}}\n\n{content}\n\n{caption}\n\n:::\n"


def raw_blocks(tables: list[GT]) -> str:
    """Write tables under each other as raw HTML blocks."""
    return "\n".join(map(raw_block, tables))


def bounds_name(analysis: Mapping[str, Any], kind: str = "normal") -> str:
    """Name an interval of an analysis in the manifest: ``95% normal interval``.

    Examples
    --------
    >>> made = {"alpha": 0.05, "interval": "percentile", "draws": 500}
    >>> bounds_name(made), bounds_name(made, "bootstrap")
    ('95% normal interval', '95% percentile bootstrap interval')
    """
    if analysis.get("alpha") is None:
        return ""
    resampling = str(analysis.get("interval") or "")
    told = f"{resampling} bootstrap".strip() if kind == "bootstrap" else "normal"
    return f"{100 * (1 - float(analysis['alpha'])):g}% {told} interval"


def interval_note(analysis: Mapping[str, Any], frame: pd.DataFrame, labels: Labels) -> str:
    """Say which intervals are shown, and how far the two kinds of limits lie apart at most."""
    name = bounds_name(analysis)
    if not name:
        return "The manifest does not say which intervals these are."
    by = " or ".join(map(code, str(analysis["id"]).split(" or "))) if analysis.get("id") else ""
    errors = f"standard errors clustered by {by}" if by else "standard errors of independent rows"
    width = f"{ndtri(1 - float(analysis['alpha']) / 2):.2f}"
    told = f"Lines and brackets are {name}s: estimates plus and minus {width} {errors}."
    if "boot_lower" not in frame:
        return told
    apart = np.fmax(
        (frame["boot_lower"] - frame["lower"]).abs().to_numpy(float),
        (frame["boot_upper"] - frame["upper"]).abs().to_numpy(float),
    )
    if np.isnan(apart).all():
        return told
    worst = int(np.nanargmax(apart))
    series = series_labels(frame)
    who = f"{plain(series.iloc[worst])}, " if series.nunique() > 1 else ""
    what = plain(labels.both(frame["feature"].iloc[worst], frame["level"].iloc[worst]))
    resampling = bounds_name(analysis, "bootstrap").split(" ", 1)[1].removesuffix(" interval")
    return (
        f"{told} The limits of the {resampling}{drawn_units(analysis)} differ from these by at most "
        f"{number(apart[worst], 4)} ({who}{what})."
    )


def truth_section(report: Results) -> str:
    """Compare estimates of simulated choices with their true values; say so where choices are real."""
    if not report.simulated:
        return "The choices are real: nobody knows their true effects, and this section has nothing to show."
    if not report.has("recovery"):
        return (
            "The choices are simulated, but the true values did not lie beside them when they were "
            "analysed, so this section has nothing to show."
        )
    found = report.table("recovery")
    drawn = picture("recovery", report.build_figure("recovery"), report.alt("recovery"))
    return (
        "The choices were drawn from known part-worths, so the true value of every estimate is known. "
        f"{recovered(found, report.bounds('amce'))} @fig-truth shows the errors of the estimates in "
        "@fig-amce: where a line crosses zero, the interval holds the true value. @tbl-recovery counts this "
        "for every analysis, judge and prompt.\n"
        + captioned("fig-truth", drawn, "Estimates minus true values, with intervals, for the attributes.")
        + captioned(
            "tbl-recovery",
            raw_blocks(report.great_tables("recovery")),
            "Shares of true values inside the intervals, and absolute errors of the estimates.",
        )
    )


def recovered(found: pd.DataFrame, bounds: str) -> str:
    """Say over all analyses how many intervals hold the true value."""
    weight = found["n_levels"].astype(float)
    inside = (found["in_normal"] * weight).sum() / weight.sum()
    told = (
        f"Of {whole(weight.sum())} estimates with a standard error, {number(100 * inside, 1)}% have their "
        f"true value inside the {bounds or 'normal interval'}"
    )
    booted = found["in_bootstrap"].notna()
    if booted.any():
        share = (found["in_bootstrap"] * weight)[booted].sum() / weight[booted].sum()
        told += f" and {number(100 * share, 1)}% inside the bootstrap interval"
    return f"{told}; the largest error is {number(found['max_abs_error'].max())}."


def published_section(report: Results) -> str:
    """Set printed numbers beside ours where both are about the same judges."""
    if report.simulated:
        return (
            "The judges of these results are simulated: they only bear the names of people and models, "
            "and they are not compared with print."
        )
    if not report.has("published"):
        return "There are no printed numbers to compare these results with."
    drawn = picture("published", report.build_figure("published"), report.alt("published"))
    return (
        PUBLISHED_INTRO
        + "\n"
        + captioned("fig-published", drawn, PUBLISHED_CAPTION)
        + captioned(
            "tbl-published", raw_blocks(report.great_tables("published")), "Printed estimates beside ours."
        )
    )
