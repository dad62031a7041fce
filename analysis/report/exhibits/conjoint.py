"""Sections of a report about estimates: which there are follows from the analyses of the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ...figures import coefficient_alt, coefficient_plot
from ...figures.conjoint.choose import SERIES
from ...figures.conjoint.interactions import quantity
from ...figures.labels import Labels, one_prompt, series_labels
from ..data import figure_kind
from ..markdown import captioned, picture, slug, table_blocks, table_references
from ..methods import bounds_name, code, drawn_units, excluded, plain
from ..tables import number, whole

if TYPE_CHECKING:
    from ..data import ReportData
    from ..report import Results

SIMULATED = (
    "**The choices {but}are simulated:** they show what the software does and say nothing about the people "
    "and models that they are named after."
)
PROBABLE = (
    "**The outcome is the probability of being chosen**, as the log-probabilities of the answers give it; "
    "judges without them are left out."
)
HALF = 0.5
UNEVEN = 4  # times as many profiles as another judge
SIDED = 0.25  # how far the share of position A may be from one half without a word


def opened(made: Mapping[str, Any], study: Mapping[str, Any]) -> str:
    """Say which study results are from, how much data they rest on, and when and by what they were made."""
    title = plain(study.get("title") or study.get("study") or "untitled study")
    rows = sum(int(item.get("rows") or 0) for item in made.get("data") or [] if not item.get("variant"))
    counted = f" from {whole(rows)} rows of data" if rows else ""
    when = f", computed {plain(str(made['created'])[:10])}" if made.get("created") else ""
    version = f" with conjury {plain(made['conjury'])}" if made.get("conjury") else ""
    return f"Study: **{title}**. Results{counted}{when}{version}."


def simulated(report: ReportData, made: Mapping[str, Any]) -> str:
    """Say that choices are simulated, and whose are not; empty where none are."""
    if not made.get("simulated", report.simulated):
        return ""
    real = [plain(report.label("judges", name)) for name in made.get("real_judges") or []]
    return SIMULATED.format(but=f"of all judges but {' and '.join(real)} " if real else "")


def effects(report: Results) -> str:
    """Show the effects of every attribute: intervals in words, figure, table."""
    name = report.main
    tables = report.great_tables(name)
    title = plain(report.title(report.analysis(name)))
    caption = f"{title}: average marginal component effects on {report.outcome}."
    return "\n\n".join(
        [
            f"@fig-{slug(name)} shows the AMCE of every level for every judge, under one prompt for each "
            f"model, and {table_references(name, len(tables))} the numbers. Each attribute has its own axis.",
            interval_note(report.analysis(name), report.estimates(name), Labels(report.labels)),
            uneven_note(report, report.analysis(name)),
            _figure(report, name, f"{caption} {_drawn(report, name)}"),
            table_blocks(name, tables, caption),
        ]
    )


def uneven_note(report: ReportData, analysis: Mapping[str, Any]) -> str:
    """Say where a judge answered far fewer pairs than others, or mostly by the side of a profile."""
    told = []
    sizes = {
        report.label("judges", group["judge"]): int(group["n_used"])
        for group in analysis.get("groups") or []
        if group.get("n_used")
    }
    least, most = min(sizes, key=sizes.__getitem__, default=""), max(sizes.values(), default=0)
    if least and most >= UNEVEN * sizes[least]:
        told.append(
            f"Intervals of {plain(least)} rest on {whole(sizes[least])} profiles and are wider than those of "
            f"judges with up to {whole(most)}."
        )
    if report.has("check_position_share"):
        shares = one_prompt(report.table("check_position_share"))
        strong = report.named(shares[(shares["estimate"] - HALF).abs() > SIDED])
        told += [
            f"{plain(row['judge'])} chose position A in {number(100 * row['estimate'], 1)}% of pairs: where "
            "the side decides most choices, little is left for attributes, and effects are near zero."
            for row in strong.to_dict("records")
        ]
    return " ".join(told)


def further_effects(report: Results, analysis: Mapping[str, Any]) -> str:
    """Show the effects of another analysis, in a figure."""
    name, title = str(analysis["name"]), plain(report.title(analysis))
    rules = [excluded(feature, levels) for feature, levels in (analysis.get("exclude") or {}).items()]
    without = f", without the profiles whose {' or '.join(rules)}" if rules else ""
    formula = f": {code(analysis['formula'])}{without}" if analysis.get("formula") else without
    return f"@fig-{slug(name)} is about the analysis *{title}*{formula}.\n" + _figure(
        report, name, f"{title}: average marginal component effects. {_drawn(report, name)}"
    )


def differences(report: Results, analysis: Mapping[str, Any]) -> str:
    """Show differences between groups with their reading, in a figure and a table."""
    name, title = str(analysis["name"]), plain(report.title(analysis))
    found, labels, tables = report.interaction(name), Labels(report.labels), report.great_tables(name)
    what = quantity(found.frame)
    feature = plain(labels.feature(found.feature))
    groups = plain("group" if found.by == SERIES else labels.feature(found.by))
    caption = f"{title}: differences in {what} of {feature} by {groups}."
    told = (
        f"@fig-{slug(name)} shows how far {what} of each level of *{feature}* differs between levels of "
        f"*{groups}*; the name of a difference in {table_references(name, len(tables))} is that of the level "
        f"compared{_base(found.frame, found.by, labels)}."
    )
    if what == "the effect":
        told += _reading(report, name, found.feature, groups)
    return "\n\n".join(
        [
            told,
            _figure(report, name, f"{caption} {_drawn(report, name)}"),
            table_blocks(name, tables, caption),
        ]
    )


def _base(frame: pd.DataFrame, by: str, labels: Labels) -> str:
    """Name the level that all differences are taken from, where it is one."""
    if by == SERIES or "by" not in frame:
        return ""
    pairs = zip(frame["by"].astype(str), frame[by].astype(str), strict=True)
    bases = {pair.removeprefix(f"{level} - ") for pair, level in pairs}
    return f" with *{plain(labels.level(by, bases.pop()))}*" if len(bases) == 1 else ""


def _reading(report: Results, name: str, feature: str, groups: str) -> str:
    """Say how to read a difference in effects, which have a reference level on both sides."""
    base = plain(report.reference(name, feature) or "the reference level")
    by = set(report.by(name))
    means = [item for item in report.analyses("marginal_means") if by <= set(report.by(str(item["name"])))]
    where = f"@fig-{slug(str(means[0]['name']))} shows them" if means else "these results hold none"
    return (
        f" Left of zero, the step from *{base}* to that level weighs less at that level of *{groups}* than "
        "at the one it is compared with: it adds less to the chance of being chosen, or takes more from it. "
        f"The sign does not say why: if the judge treats *{base}* more harshly there, less is left to add, "
        f"and the sign is the same. Marginal means by *{groups}* have no reference level and tell the two "
        f"apart; {where}."
    )


def means(report: Results, analysis: Mapping[str, Any]) -> str:
    """Show marginal means, in a figure."""
    name, title = str(analysis["name"]), plain(report.title(analysis))
    line = HALF if analysis.get("h0") is None else float(analysis["h0"])
    indifferent = ", indifference" if line == HALF else ""
    same = "the same choices" if report.outcome == "the choice" else "means of the same probabilities"
    return f"@fig-{slug(name)} shows {same} without a reference level.\n" + _figure(
        report, name, f"{title}. The vertical line stands at {line:g}{indifferent}. {_drawn(report, name)}"
    )


def frequencies(report: Results, analysis: Mapping[str, Any]) -> str:
    """Show how often levels were shown, in a figure and a table."""
    name, title = str(analysis["name"]), plain(report.title(analysis))
    tables = report.great_tables(name)
    shown = (
        f"{title}: shares of the profiles that showed each level. The vertical line is the share that all "
        "levels would have if they were shown equally often."
    )
    return (
        f"@fig-{slug(name)} shows how evenly the levels of each attribute were shown, and "
        f"{table_references(name, len(tables))} the counts.\n"
        + _figure(report, name, shown)
        + table_blocks(name, tables, f"{title}: profiles that showed each level.")
    )


def prompts(report: Results, frame: pd.DataFrame, judge: str, position: int) -> str:
    """Show the effects on one judge under each prompt, in a figure."""
    shown = frame[frame["judge"] == judge]
    figure = coefficient_plot(shown, labels=report.labels, group="prompt", bounds=report.lines(report.main))
    alt = coefficient_alt(shown, labels=report.labels, group="prompt")
    caption = f"Effects on {report.outcome} under each prompt: {plain(judge)}."
    return captioned(f"fig-prompts-{position}", picture(f"prompts-{position}", figure, alt), caption)


def _figure(report: Results, name: str, caption: str) -> str:
    drawn = picture(name, report.build_figure(name), report.alt(name))
    return captioned(f"fig-{slug(name)}", drawn, caption)


def _drawn(report: Results, name: str) -> str:
    lines = plain(report.lines(name) or "intervals")
    has_references = figure_kind(report.analysis(name)) == "coefficients"
    hollow = "; hollow points are reference levels" if has_references else ""
    return f"Points are estimates, lines their {lines}{hollow}."


def interval_note(analysis: Mapping[str, Any], frame: pd.DataFrame, labels: Labels) -> str:
    """Say which intervals are shown, and how far the two kinds of limits lie apart at most."""
    name = bounds_name(analysis)
    if not name:
        return "The manifest does not say which intervals these are."
    by = " or ".join(map(code, str(analysis["id"]).split(" or "))) if analysis.get("id") else ""
    errors = f"standard errors clustered by {by}" if by else "standard errors of independent rows"
    width = f"{ndtri(1 - float(analysis['alpha']) / 2):.2f}"
    told = f"Lines in the figure are {name}s: estimates plus and minus {width} {errors}."
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
