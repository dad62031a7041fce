"""Variance components, decision studies, flips, drift and preferences beyond quality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from conjury.inference.errors import counted

from ..dot_marks import PERCENT, POINTS, unit_of
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..forest import Forest, forest
from ..labels import level_of
from .order_figures import facet_in_words, level_in_words, level_label

MOST_PLANS = 12
QUANTITIES = {
    "flips": "Decisions that differ",
    "repetition": "Repeats that differ",
    "net": "Net of repeats",
}
CHANGES = {"total": "Change of the mean", "judge": "Of the judge (anchors)", "items": "Of the items"}
COMPARISONS = {
    "unadjusted": "Judge, unadjusted",
    "people": "People, same rows",
    "beyond people": "Judge minus people",
    "matched": "Judge, at equal quality",
    "adjusted": "Judge, quality as covariate",
}
COUNTS = {
    "prompt_id": ("prompt", "prompts"),
    "option_order": ("order", "orders"),
    "option_labels": ("set of labels", "sets of labels"),
    "scale_direction": ("direction", "directions"),
    "parser": ("parsing rule", "parsing rules"),
    "occasion": ("occasion", "occasions"),
    "sample": ("sample", "samples"),
    "judge_id": ("judge", "judges"),
    "repeats": ("repeat", "repeats"),
}


def component_in_words(style: FigureStyle, component: object) -> str:
    """Name of a variance component, such as *Object x prompt*."""
    if component == "residual":
        return "Residual"
    first, *further_facets = (facet_in_words(style, name) for name in str(component).split(":"))
    return " \N{MULTIPLICATION SIGN} ".join(
        [first, *(name[:1].lower() + name[1:] for name in further_facets)]
    )


def plan_in_words(style: FigureStyle, plan: Mapping[str, Any]) -> str:
    """Numbers of levels in words, such as *3 prompts, 2 orders, 4 repeats*."""
    parts = []
    for name, count in plan.items():
        singular, plural = COUNTS.get(name, (f"level of {facet_in_words(style, name)}",) * 2)
        parts.append(counted(int(count), singular, plural))
    return ", ".join(parts)


@figure("variance_components")
def variance_components(result: Drawable, style: FigureStyle) -> Forest:
    """Share of each component in the sum of all variances; a series for each judge."""
    frame = result.frame
    judges = list(dict.fromkeys(frame["judge"]))
    return forest(
        frame,
        row=[component_in_words(style, name) for name in frame["component"]],
        series=style.names.all("judge", frame["judge"]),
        order=style.names.all("judge", judges),
        places=style.names.places_of(judges),
        numbers=("share", "share_lower", "share_upper"),
        xlabel=f"Variance of single answers, {PERCENT} (lines: {level_of(result.settings)} intervals)",
        unit=100.0,
        what="Variance components",
    )


@figure("decision_study")
def decision_study(result: Drawable, style: FigureStyle) -> Forest:
    """Phi of plans: a row for each set of levels, a series for each number of repeats, a panel per judge."""
    facets = [name for name in result.settings["facets"] if name in result.frame]
    frame = result.frame[~result.frame["cheapest"].to_numpy(dtype=bool)].reset_index(drop=True)
    plans = frame[facets].drop_duplicates()
    if len(plans) > MOST_PLANS:
        plans = plans.iloc[[round(k * (len(plans) - 1) / (MOST_PLANS - 1)) for k in range(MOST_PLANS)]]
        frame = frame.merge(plans, on=facets)
    rows = [plan_in_words(style, dict(zip(facets, plan, strict=True))) for plan in frame[facets].to_numpy()]
    frame = frame.rename(columns={"phi": "estimate"})
    return forest(
        frame,
        panel=style.names.all("judge", frame["judge"]),
        row=rows or "One condition",
        series=[plan_in_words(style, {"repeats": count}) for count in frame["repeats"]],
        xlabel=f"\N{GREEK CAPITAL LETTER PHI} of the mean over conditions "
        f"(lines: {level_of(result.settings)} intervals)",
        what="Dependability of means over so many conditions",
    )


@figure("flips")
def flips(result: Drawable, style: FigureStyle) -> Forest:
    """Shares of decisions that differ between levels, of repeats, and net of them."""
    frame = result.frame
    judges = list(dict.fromkeys(frame["judge"]))
    rows = [
        f"{facet_in_words(style, record['facet'])}: any"
        if record["first"] == "any"
        else f"{level_in_words(style, record['facet'], record['first'])} or "
        + level_label(style, record["facet"], record["second"])
        for record in frame.to_dict("records")
    ]
    quantity_names = [name for name in QUANTITIES if (frame["quantity"] == name).any()]
    return forest(
        frame,
        panel=[QUANTITIES[name] for name in frame["quantity"]],
        panels=[QUANTITIES[name] for name in quantity_names],
        row=rows,
        series=style.names.all("judge", frame["judge"]),
        order=style.names.all("judge", judges),
        places=style.names.places_of(judges),
        xlabel=f"Decisions, {PERCENT} (lines: {level_of(result.settings)} intervals)",
        unit=100.0,
        what="Decisions that flip between levels",
        baseline={QUANTITIES["net"]: 0.0} if "net" in quantity_names else None,
    )


@figure("drift")
def drift(result: Drawable, style: FigureStyle) -> Forest:
    """Changes since the first occasion; a panel for each judge."""
    frame = result.frame
    labels = style.names.all("label", frame["label"])
    several = frame["occasion"].nunique() > 1
    rows = [
        ", ".join(filter(None, [CHANGES[quantity], style.names.of("occasion", when) if several else ""]))
        for quantity, when in zip(frame["quantity"], frame["occasion"], strict=True)
    ]
    what = {"choice": f"share of the first position, {POINTS}", "label": f"share of each label, {POINTS}"}
    of = what.get(str(result.settings.get("kind")), "mean rating")
    return forest(
        frame,
        panel=style.names.all("judge", frame["judge"]),
        row=rows,
        series=labels if any(labels) else "",
        xlabel=f"Change of the {of} (lines: {level_of(result.settings)} intervals)",
        unit=unit_of(of),
        what=f"Change since {style.names.of('occasion', result.settings['first'])}",
        baseline=0.0,
    )


@figure("beyond_quality")
def beyond_quality(result: Drawable, style: FigureStyle) -> Forest:
    """Slopes on an attribute, of judges, of people and of judges beyond people."""
    frame: pd.DataFrame = result.frame[result.frame["estimate"].notna()]
    judges = list(dict.fromkeys(frame["judge"]))
    return forest(
        frame,
        row=[COMPARISONS[name] for name in frame["comparison"]],
        series=style.names.all("judge", frame["judge"]),
        order=style.names.all("judge", judges),
        places=style.names.places_of(judges),
        xlabel=f"{_effect(result, style)} (lines: {level_of(result.settings)} intervals)",
        unit=unit_of(_effect(result, style)),
        what=_effect(result, style),
        baseline=0.0,
    )


def _effect(result: Drawable, style: FigureStyle) -> str:
    """What a slope is an effect of."""
    name, settings = str(result.settings["attribute"]), result.settings
    of_choices = settings["kind"] == "choice"
    outcome, unit = ("a choice", f", {POINTS}") if of_choices else ("the rating", "")
    if name == "own":
        return f"Effect of own origin on {outcome}{unit}"
    if name == "position":
        return f"Preference for the first position{unit}"
    return (
        f"Effect of {'log ' if settings['log'] else ''}{style.words.feature(name).lower()} on {outcome}{unit}"
    )
