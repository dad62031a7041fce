"""A judge next to people, and differences between two runs: estimates by part, and who is called what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...frames.vocabulary import SYSTEM_SOURCES
from ...numerics.metrics.agreement_measures import ALPHA, KAPPA, measure_of
from ..benchmark.confusion_figures import Confusions
from ..figure_layout import Drawable
from ..figure_registry import FigureStyle, figure
from ..gain_labels import NEUTRAL_PLACE
from ..interval_dots import LevelPanels, levels, table_of
from ..labels import level_of, source_in_words

PANELS = {
    "agreement": "Agreement with people",
    "base rates": "Base rates",
    "errors by class": "Errors by class",
    "subgroups": "Subgroups",
    "replacement": "Replacement test",
}
JUDGE, PEOPLE = "Judge", "People"
AMONG_PEOPLE = "people"  # the part with agreement among people
DARKEST = 0.1  # least share of the darkest cell


@figure("judging")
def judging(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Agreement of the judge and among people, base rates, errors by class, and subgroups."""
    frame = result.frame[result.frame["part"].isin([*PANELS, AMONG_PEOPLE])]
    frame = frame[frame["lower"].notna() & ~frame["measure"].str.endswith("_difference")]
    frame = frame[~frame["measure"].isin(["answered", "judge_mean", "people_mean"])].reset_index(drop=True)
    people = frame["measure"].str.startswith("people_").to_numpy(dtype=bool)
    measure = frame["measure"].str.removeprefix("people_").str.removeprefix("judge_")
    part = frame["part"].where(frame["part"] != AMONG_PEOPLE, "agreement")
    table = table_of(
        frame,
        [PANELS[name] for name in part],
        [_row(name, row, style) for name, (_, row) in zip(measure, frame.iterrows(), strict=True)],
        np.where(people, PEOPLE, JUDGE).tolist(),
    )
    ratings = "bias" in set(frame["measure"])
    return levels(
        _order_categories(table),
        xlabel=f"Estimate (lines: {level_of(result.settings)} intervals)",
        what="Estimates of a judge next to people",
        places=[1, 0] if people.any() else [1],  # people are blue in every figure
        baseline=0.0 if ratings else None,
    )


def _row(measure: str, row: pd.Series[Any], style: FigureStyle) -> str:
    """What a row is about: a class, a subgroup, or the measure itself."""
    text = measure_of(measure).in_figures or measure_of(measure).label
    of = f"{row['class']}: " if row["class"] else ""
    where = f"{style.names.of(row['by'], row['level'])}: " if row["by"] else ""
    text = text if where or of or text in (KAPPA, ALPHA) else text[:1].upper() + text[1:]
    return f"{where}{of}{text}"


def _order_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Panels, and series with the judge first, as categories."""
    panels = [name for name in PANELS.values() if (table["panel"] == name).any()]
    series = [name for name in (JUDGE, PEOPLE) if (table["series"] == name).any()]
    return table.assign(
        panel=pd.Categorical(table["panel"], categories=panels),
        series=pd.Categorical(table["series"], categories=series),
    )


@figure("run_comparison")
def run_comparison(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Differences between two runs by part, the second minus the first."""
    frame = result.frame[result.frame["part"].isin([*PANELS])]
    frame = frame[frame["measure"].str.endswith("_difference")].reset_index(drop=True)
    first, second = result.settings["names"]
    measure = frame["measure"].str.removesuffix("_difference")
    table = table_of(
        frame,
        [PANELS[name] for name in frame["part"]],
        [_row(name, row, style) for name, (_, row) in zip(measure, frame.iterrows(), strict=True)],
    )
    margin = float(result.settings["margin"])
    return levels(
        _order_categories(table.assign(series=JUDGE)),
        xlabel=f"Difference, {second} minus {first} (lines: {level_of(result.settings)} intervals)",
        what=f"Differences between two runs, {second} minus {first}; those within {margin:g} do not matter",
        hold=(-margin, margin),
        places=[NEUTRAL_PLACE],
    )


@figure("system_comparison")
def system_comparison(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Levels and differences of systems: corrected, by people's labels alone, and by the judge alone."""
    panels = {"differences": "Difference", "levels": "System"}
    frame = result.frame[result.frame["part"].isin(panels)].reset_index(drop=True)
    names = frame["system"].astype(str)
    pairs = names + " minus " + frame["baseline"].astype(str)
    words = {text: source_in_words(text, result.settings) for text in SYSTEM_SOURCES}
    words = {text: f"{label[:1].upper()}{label[1:]}" for text, label in words.items()}
    source = frame["source"].map(words)
    table = table_of(
        frame, frame["part"].map(panels), pairs.where(frame["part"] == "differences", names), source
    )
    series = [words[text] for text in SYSTEM_SOURCES if (frame["source"] == text).any()]
    present = [name for name in panels.values() if (table["panel"] == name).any()]
    ordered = table.assign(
        panel=pd.Categorical(table["panel"], categories=present),
        series=pd.Categorical(table["series"], categories=series),
    )
    positive = result.settings["positive"]
    what = "mean rating" if positive is None else f"share of {positive!r}"
    return levels(
        ordered,
        xlabel=f"{what[:1].upper()}{what[1:]} (lines: {level_of(result.settings)} intervals)",
        what=f"Systems and their differences in {what}",
        baseline={panels["differences"]: 0.0},
    )


def _has_judges(result: Drawable) -> bool:
    return "judges" in result.extra and not result.extra["judges"].empty


@figure("system_comparison", part="judges", when=_has_judges)
def errors_of_judges(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Correlations of the errors of several judges."""
    frame = result.frame[result.frame["measure"] == "error_correlation"].reset_index(drop=True)
    return levels(
        table_of(frame, "", frame["class"].astype(str), ""),
        xlabel=f"Correlation of errors (lines: {level_of(result.settings)} intervals)",
        what="Correlations of the errors of several judges",
        hold=(0.0, 1.0),
    )


@figure("combined_judges")
def combined_judges(result: Drawable, style: FigureStyle) -> LevelPanels:
    """The level by all judges, by each and alone, and correlations of their errors."""
    panels = {"error_correlation": "Correlation of errors"}
    frame = result.frame[~result.frame["measure"].isin(["effective_judges", "gain_over_best"])]
    frame = frame.reset_index(drop=True)
    source = frame["measure"].str.extract(r"^(corrected|people_only|judge_only)")[0]
    names = {"corrected": "Corrected", "people_only": "People alone", "judge_only": "Judge alone"}
    series = source.map(names).fillna("Errors")
    whose = frame["class"].astype(str)
    whose = whose.mask(whose == "", source.map({"corrected": "all judges", "people_only": "people"}))
    table = table_of(frame, frame["measure"].map(panels).fillna("Among people"), whose, series)
    present = [name for name in (*names.values(), "Errors") if (series == name).any()]
    places = [name for name in ("Among people", *panels.values()) if (table["panel"] == name).any()]
    return levels(
        table.assign(
            panel=pd.Categorical(table["panel"], categories=places),
            series=pd.Categorical(table["series"], categories=present),
        ),
        xlabel=f"Estimate (lines: {level_of(result.settings)} intervals)",
        what="Several judges of the same answers",
        baseline={name: 0.0 for name in panels.values() if name in places},
    )


@figure("automation")
def automation(result: Drawable, style: FigureStyle) -> LevelPanels:
    """Share of the verdicts that may stand alone, by the error that is allowed and what the judge says."""
    shares = result.frame[result.frame["measure"] == "automated_share"].reset_index(drop=True)
    names = shares["class"].astype(str)
    series = [names_of_class for names_of_class in dict.fromkeys(names) if names_of_class]
    table = table_of(shares, "", "error of " + shares["level"].astype(str), names.where(names != "", "all"))
    ordered = table.assign(series=pd.Categorical(table["series"], categories=["all", *series]))
    return levels(
        ordered,
        xlabel="Share of the judged rows",
        what="Share of the verdicts that may stand alone",
        baseline=None,
        hold=(0.0, 1.0),
    )


@figure("judging", part="confusion", when=lambda result: "confusion" in result.extra)
def confusion(result: Drawable, style: FigureStyle) -> Confusions:
    """Shares of the judge's answers to the items of each label by people."""
    table = result.extra["confusion"]
    classes = [str(name) for name in dict.fromkeys(table["people"])]
    size = (len(classes), len(classes))
    shares = table["share"].to_numpy(dtype=float).reshape(size)
    return Confusions(
        {"Judge": np.nan_to_num(shares)},
        classes,
        classes,
        {k: k for k in range(len(classes))},
        ("Label by people", "Answer of the judge (percent of the row)"),
        "Share of each label by people that the judge gives, too",
        most=max(DARKEST, float(np.ceil(10 * np.nanmax(np.append(shares, 0.0))) / 10)),
        counts={"Judge": table["n"].to_numpy(dtype=float).reshape(size)},
    )
