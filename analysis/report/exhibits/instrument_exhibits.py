"""Exhibits of judges as instruments: order, variance components, flips, specification curves, drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...figures.figure_registry import FigureStyle
from ...figures.instrument.instrument_figures import CHANGES, COMPARISONS, component_in_words, plan_in_words
from ...figures.instrument.instrument_figures import QUANTITIES as FLIPPED
from ...figures.instrument.order_figures import QUANTITIES as FOLLOWED
from ...figures.instrument.order_figures import facet_in_words, level_in_words
from ...figures.theme import LIGHT
from ...frames.rounding import percentage
from ...results import Result
from ..method_sentences import plain
from ..report_data import ReportData
from ..sentences.instrument_sentences import (
    changing_in_words,
    count_changes,
    find_largest_flip,
    flipping_in_words,
    positions,
    positions_in_words,
)
from ..table_format import interval, number, p_value, styled_table, whole
from .exhibit_registry import Drawn, Exhibit, Laid, captioned, exhibit, level

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

MOST_PLANS = 24


def _style(report: ReportData) -> FigureStyle:
    return FigureStyle(LIGHT, dict(report.labels))


def _percent(value: float) -> str:
    return percentage(value)


def _tested(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Columns of estimates with intervals, p values and counts."""
    return {
        "Estimate": [number(value) for value in frame["estimate"]],
        "Interval": _cells(frame),
        "p": [p_value(value) for value in frame["p"]],
        "n": [whole(value) for value in frame["n"]],
    }


def _cells(frame: pd.DataFrame, lower: str = "lower", upper: str = "upper", digits: int = 3) -> list[str]:
    pairs = zip(frame[lower], frame[upper], strict=True)
    return [interval(low, high, digits) for low, high in pairs]


def _position_reading(result: Result, report: ReportData) -> str:
    """How often each judge chooses the first position, and what pairs asked in both orders follow."""
    every = result.frame[result.frame["facet"] == "all"]
    summaries = [
        positions(report.names.of("judge", judge), rows) for judge, rows in every.groupby("judge", sort=False)
    ]
    return " ".join(positions_in_words(summary) for summary in summaries if summary is not None)


@exhibit(
    "order_effects",
    method=(
        "Shares have Wilson intervals at the effective number of decisions, clustered by pair or respondent. "
        "Effects averaged over positions are the mean of those of profiles in each position."
    ),
    headline=lambda result, record, report: _position_reading(result, report),
)
def order_effects(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Preferences for a position, and effects that they do not change."""
    caption = captioned(record, "Points: shares of decisions; dashed: no preference for a position")
    lead = (
        "{figure shows} how often the first position was chosen, and what judges chose in pairs that "
        "were asked in both orders; {table has|have} the numbers. A judge who follows the profiles chooses "
        "the same profile twice."
    )
    style = _style(report)
    further = []
    if "effects" in result.extra:
        judges = result.extra["effects"]["judge"].unique()
        text = (
            f"Effects by the order of profiles, {plain(report.names.of('judge', judges[0]))}, with "
            f"{level(record)} intervals. In the average of both positions a preference for a position "
            "cancels."
        )
        some = " of the first judge" if len(judges) > 1 else ""
        further = [
            Exhibit(f"{{figure shows}} effects{some} by order.", [Drawn(result, text, "effects", "effects")])
        ]
    return Exhibit(
        lead,
        [Drawn(result, caption)],
        [Laid([_order_table(result, style)])],
        _position_reading(result, report),
        further,
    )


def _order_table(result: Result, style: FigureStyle) -> GT:
    frame = result.frame[result.frame["quantity"].isin(FOLLOWED)]
    rows = [
        FOLLOWED[row["quantity"]]
        if row["facet"] == "all"
        else level_in_words(style, row["facet"], row["level"])
        for row in frame.to_dict("records")
    ]
    return styled_table(
        pd.DataFrame(
            {
                "judge": style.names.all("judge", frame["judge"]),
                "Decisions": rows,
                "Share": [number(value) for value in frame["estimate"]],
                "Interval": _cells(frame),
                "n": [whole(value) for value in frame["n"]],
                "Clusters": [whole(value) for value in frame["n_clusters"]],
            }
        ),
        groups="judge",
    )


@exhibit(
    "variance_components",
    method=(
        "Variances of balanced designs are those of the analysis of variance, with generalised confidence "
        "intervals [@weerahandi1993]; others are restricted maximum likelihood estimates. Φ is the "
        "share of the variance of a mean that is due to the objects [@brennan2001]."
    ),
)
def variance_components(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How much answers vary by object, facet and interaction."""
    style, frame = _style(report), result.frame
    lead = (
        "Answers differ between objects, which is the variation of interest, and between conditions of the "
        "request, which is measurement error. {figure shows} the share of each source, and {table} the "
        "variances."
    )
    rows = pd.DataFrame(
        {
            "judge": style.names.all("judge", frame["judge"]),
            "Component": [component_in_words(style, name) for name in frame["component"]],
            "Variance": [number(value, 4) for value in frame["estimate"]],
            "Interval": _cells(frame, digits=4),
            "Share": [_percent(value) for value in frame["share"]],
        }
    )
    coefficients = result.extra["coefficients"]
    texts = []
    for judge, group in coefficients[coefficients["coefficient"] == "phi"].groupby("judge", sort=False):
        at = {str(row["design"]): row for row in group.to_dict("records")}
        texts.append(
            f"Φ of {plain(report.names.of('judge', judge))} is "
            f"{number(at['one answer']['estimate'], 2)} "
            f"for a single answer and {number(at['as observed']['estimate'], 2)} "
            f"{interval(at['as observed']['lower'], at['as observed']['upper'], 2)} for the mean over all "
            "conditions asked."
        )
    caption = captioned(record, "Points: shares of the variance of single answers")
    return Exhibit(
        lead, [Drawn(result, caption)], [Laid([styled_table(rows, groups="judge")])], " ".join(texts)
    )


@exhibit("decision_study", method="Error variances follow from the variance components [@brennan2001].")
def decision_study(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """How dependable means over other numbers of conditions would be."""
    style = _style(report)
    facets = [name for name in result.settings["facets"] if name in result.frame]
    frame = result.frame.sort_values(["judge", "requests"], kind="stable")
    frame = frame[frame["repeats"].isin([1, 4]) | frame["cheapest"].astype(bool)].head(MOST_PLANS)
    keys = [*facets, "repeats"]
    rows = pd.DataFrame(
        {
            "judge": style.names.all("judge", frame["judge"]),
            "Conditions": [
                plan_in_words(style, dict(zip(keys, plan, strict=True))) for plan in frame[keys].to_numpy()
            ],
            "Requests": [whole(value) for value in frame["requests"]],
            "\N{GREEK CAPITAL LETTER PHI}": [number(value, 2) for value in frame["phi"]],
            "Interval": _cells(frame, digits=2),
            "Equivalent repeats": [number(value, 1) for value in frame["worth_repeats"]],
        }
    )
    lead = (
        "{figure shows} the dependability of means over different numbers of conditions, and {table} the "
        "number of repeats of a single condition with the same error variance; it is empty where no number "
        "of repeats has one as small."
    )
    caption = captioned(record, "Points: predicted Φ")
    return Exhibit(lead, [Drawn(result, caption)], [Laid([styled_table(rows, groups="judge")])])


@exhibit(
    "flips",
    method=(
        "Two decisions about the same object are compared between levels of a facet, all other facets the "
        "same. Net shares subtract the mean disagreement of repeats within the two levels."
    ),
)
def flips(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Decisions that change with the level of a facet."""
    frame, style = result.frame, _style(report)
    any_level = frame[frame["first"] == "any"]
    facets = any_level["facet"].map(lambda name: facet_in_words(style, name))
    flip = find_largest_flip(
        any_level, facets, any_level["judge"].map(lambda name: report.names.of("judge", name))
    )
    reading = "" if flip is None else flipping_in_words(flip)
    rows = pd.DataFrame(
        {
            "judge": style.names.all("judge", frame["judge"]),
            "Facet": [facet_in_words(style, name) for name in frame["facet"]],
            "Levels": [
                "any"
                if first == "any"
                else " or ".join(_level(style, facet, name) for name in (first, second))
                for facet, first, second in zip(frame["facet"], frame["first"], frame["second"], strict=True)
            ],
            "Quantity": [FLIPPED[name] for name in frame["quantity"]],
            "Share": [number(value) for value in frame["estimate"]],
            "Interval": _cells(frame),
            "n": [whole(value) for value in frame["n"]],
        }
    )
    lead = "{figure shows} how many decisions differ between levels of each facet, and {table} the numbers."
    caption = captioned(record, "Points: shares of decisions")
    return Exhibit(
        lead, [Drawn(result, caption)], [Laid([styled_table(rows, groups="judge", n_left=3)])], reading
    )


def _level(style: FigureStyle, facet: str, name: str) -> str:
    return level_in_words(style, facet, name).partition(": ")[2]


@exhibit(
    "specifications",
    method=(
        "The covariance between specifications comes from the scores of clusters that they share; "
        "simultaneous bands have the largest absolute t ratio as their critical value [@hothorn2008], and "
        "joint tests refer to Hotelling's distribution."
    ),
)
def specifications(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Effects under every combination of facets."""
    style, summary = _style(report), result.extra["summary"]
    rows = pd.DataFrame(
        {
            "judge": style.names.all("judge", summary["judge"]),
            "Effect": [
                style.words.both(*row) for row in summary[["feature", "level"]].itertuples(index=False)
            ],
            "Mean": [number(value) for value in summary["mean"]],
            "Interval": _cells(summary),
            "Range": _cells(summary, "least", "largest"),
            "Sign changes": [_percent(value) for value in summary["sign_turns"]],
            "Conclusion changes": [_percent(value) for value in summary["conclusion_turns"]],
            "p, all zero": [p_value(value) for value in summary["p_zero"]],
            "p, all equal": [p_value(value) for value in summary["p_equal"]],
        }
    )
    reading = changing_in_words(count_changes(summary))
    first = str(summary["judge"].iloc[0])
    figure_result = Result(
        result.frame[result.frame["judge"] == first],
        result.kind,
        settings=result.settings,
        extra={"summary": summary[summary["judge"] == first]},
    )
    caption = captioned(
        record,
        f"Effect with the largest mean of {plain(report.names.of('judge', first))} in all specifications",
        remark=f"{level(record)} intervals, and thin lines for simultaneous ones",
    )
    lead = (
        "A specification is one combination of the facets of a request. {figure shows} one effect in "
        "all of them, "
        "and {table} the range of every effect, how often its sign or conclusion differs from that of the "
        "reference specification, and joint tests."
    )
    return Exhibit(
        lead, [Drawn(figure_result, caption)], [Laid([styled_table(rows, groups="judge")])], reading
    )


@exhibit(
    "drift",
    method="Anchors are objects decided on both occasions; intervals are clustered by object.",
)
def drift(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Change between occasions, of the judge and of the items."""
    frame, names = result.frame, report.names
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Occasion": names.all("occasion", frame["occasion"]),
            "Label": names.all("label", frame["label"]),
            "Change": [CHANGES[name] for name in frame["quantity"]],
            **_tested(frame),
        }
    )
    if not np.any(frame["label"] != ""):
        rows = rows.drop(columns="Label")
    lead = (
        "{figure splits} the change since the first occasion into that of the judge, on objects "
        "asked again, and "
        "that of the objects; {table has|have} the numbers."
    )
    caption = captioned(record, f"Points: changes, with {level(record)} intervals")
    return Exhibit(lead, [Drawn(result, caption)], [Laid([styled_table(rows, groups="judge", n_left=3)])])


@exhibit(
    "beyond_quality",
    method="Slopes of linear regressions on the attribute, clustered by pair or item.",
)
def beyond_quality(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """An attribute that is no quality, and what it does to judges beyond people."""
    frame, names = result.frame, report.names
    rows = pd.DataFrame(
        {
            "judge": names.all("judge", frame["judge"]),
            "Comparison": [COMPARISONS[name] for name in frame["comparison"]],
            **_tested(frame),
        }
    )
    lead = (
        "{figure compares} the effect on judges with that on people for the same rows; {table has|have} "
        "the numbers."
    )
    caption = captioned(record, f"Points: slopes, with {level(record)} intervals")
    return Exhibit(lead, [Drawn(result, caption)], [Laid([styled_table(rows, groups="judge")])])
