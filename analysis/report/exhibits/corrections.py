"""The exhibit of estimates among people that models make more precise: gains, a figure, two tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...conjoint.prediction_powered.covariate import BY_LEVEL, COVARIATE
from ...figures.conjoint.corrections import CORRECTED, GAIN, PEOPLE, sources
from ...figures.conjoint.effects import SERIES, series_in_words, stacked
from ...figures.labels import Labels, Names
from ...results import Result
from ..data import CORRECTIONS, ReportData
from ..methods import bounds_name, describe_analysis, plain
from ..tables import (
    MOST_SERIES_WITH_INTERVALS,
    Bounds,
    batches,
    estimates_table,
    number,
    styled_table,
    whole,
)
from .conjoint import by_of
from .registry import Drawn, Exhibit, Laid, exhibit, level

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import Recorded

TUNING = {
    "coefficient": "Each coefficient has the weight with which its variance is least [@angelopoulos2023]",
    "scalar": "All coefficients have one weight [@angelopoulos2023]",
    "matrix": "The weights are a matrix over all coefficients, with which variances are least",
    "none": "The weight is 1",
}
FEW_ROWS = 3  # rows that are named where models do not help


def method(record: Recorded, report: ReportData) -> str:
    """How estimates were corrected; in full for the first of them."""
    first, settings = report.of_kind(CORRECTIONS)[0], record.settings
    described = describe_analysis(settings)
    if record.name != first.name:
        return f"{described} Estimates are corrected as those of *{plain(first.title)}*."
    if settings.get("correct") == COVARIATE:
        slopes = "a slope for each level" if settings.get("slopes") == BY_LEVEL else "one slope"
        return (
            f"{described} Estimates are adjusted by covariates: what the models' answers predict from the "
            f"other profile of a pair, centred, with {slopes} [@lin2013]. The other profile is drawn apart, "
            "so that estimates are about people, whatever the models answer; models affect their precision "
            "only. The gain is the variance without models divided by that with models."
        )
    return " ".join(
        [
            described,
            "Estimates are corrected by predict-then-debias [@kluger2025]: a corrected estimate is that from "
            "people's answers, plus a weight times the difference between two estimates from the models' "
            "answers, that on other tasks minus that on people's tasks.",
            _tuning(settings),
            "The corrected estimate is about people, whatever the models answer; models affect its precision "
            "only. The gain is the variance without models divided by that with models. It may be below 1 "
            "where the correlation is low, since choosing the weight costs precision [@mani2025]. Models "
            "that judge no better than the people they are compared with save at most half of them "
            "[@dorner2025].",
        ]
    )


def _tuning(settings: Mapping[str, Any]) -> str:
    """How the weight of the models was chosen."""
    tuning, folds = str(settings.get("tuning")), int(settings.get("folds") or 1)
    text = TUNING.get(tuning, "")
    if tuning == "none":
        return f"{text}."
    if folds == 1:
        return f"{text}, from all people; intervals are too short where people are few."
    return (
        f"{text}; for each of {folds} parts of the people it is chosen from the others (seed "
        f"{settings.get('seed')}), and it is shrunk towards 0 where the correlation may be chance."
    )


def _headline(result: Result, record: Recorded, report: ReportData) -> str:
    return plain(summary(result, report.names))


def summary(result: Result, names: Names) -> str:
    """What the models add, in one sentence: the median gain and the lengths of intervals."""
    gains = result.extra["gains"]
    known = gains["gain"].dropna()
    who = " and ".join(names.of("judge", name) for name in result.settings.get("model") or ())
    if known.empty:
        return f"With {who} no estimate among people could be made more precise."
    before, after = (_length(table) for table in (result.extra["human"], result.frame))
    clusters, effective = (whole(count) for count in _people(gains))
    middle, low, high = (number(gain, 2) for gain in (known.median(), known.min(), known.max()))
    return (
        f"With the answers of {who}, {clusters} people are as precise as {effective}: the median gain of "
        f"{len(known)} estimates is {middle} (from {low} to {high}), and the median length of an interval "
        f"becomes {number(after)} instead of {number(before)}."
    )


def _length(frame: pd.DataFrame) -> float:
    return float((frame["upper"] - frame["lower"]).median())


def _people(gains: pd.DataFrame) -> tuple[float, float]:
    """Clusters of people, and as many as the models make of them (median)."""
    effective = gains["n_effective"].dropna()
    return round((effective / gains["gain"]).median()), round(effective.median())


@exhibit(CORRECTIONS, method=method, headline=_headline)
def prediction_powered(result: Result, record: Recorded, report: ReportData) -> Exhibit:
    """People alone, corrected and models alone; tables of the first result, or of all in their own report."""
    title, names, groups = plain(record.title), report.names, by_of(record)
    labels, gains, records = Labels(report.labels), result.extra["gains"], report.of_kind(CORRECTIONS)
    is_first, tables = record.name == records[0].name, []
    if is_first or report.about == "corrected":
        bounds = Bounds(bounds_name(record.settings) or "interval")
        estimates = _in_words(stacked(sources(result, names), SERIES), record, groups, labels)
        tables = [
            Laid(_estimates(estimates, bounds), f"{title}."),
            Laid([_gains(_in_words(gains, record, groups, labels), names)], f"{title}: gains.", "gains"),
        ]
    parts = [plain(summary(result, names)), _useless(gains, groups, labels), _profiles(record)]
    shown = "{figure} compares people alone, the corrected estimates and models alone"
    if tables:
        shown += "; the numbers are in {table}"
    if is_first:
        shown += (
            ". Where a model alone differs from the corrected estimates, it judges otherwise than people do, "
            "and the correction removes the difference"
        )
    points = f"Points are estimates, lines their {level(record)} intervals; at the right is the gain: {GAIN}."
    return Exhibit(
        f"{' '.join(filter(None, parts))}\n\n{shown}.",
        [Drawn(result, f"{title}. {points}")],
        tables,
        heading=f"### {title}" if len(records) > 1 else "",
    )


def _in_words(frame: pd.DataFrame, record: Recorded, groups: Sequence[str], labels: Labels) -> pd.DataFrame:
    """Label rows for a table; of differences those of the first feature, levels above groups."""
    if not groups:
        pairs = list(zip(frame["feature"], frame["level"], strict=True))
        levels = [labels.level(*pair) for pair in pairs]
        return frame.assign(feature=[labels.feature(feature) for feature, _ in pairs], level=levels)
    feature = str(record.settings["feature"])
    own = frame[frame["feature"].astype("string") == feature]
    levels = [labels.level(feature, one) for one in own["level"]]
    return own.assign(feature=levels, level=series_in_words(own, groups, labels))


def _useless(gains: pd.DataFrame, groups: Sequence[str], labels: Labels) -> str:
    """Name the estimates that models do not make more precise."""
    known = gains.dropna(subset="gain")
    none = known[known["gain"] <= 1].sort_values("gain")
    if none.empty:
        return ""
    few = none.head(FEW_ROWS)
    levels = [labels.both(row["feature"], row["level"]) for row in few.to_dict("records")]
    among = series_in_words(few, groups, labels) if groups else [""] * len(few)
    named = [f"*{plain(', '.join(filter(None, pair)))}*" for pair in zip(levels, among, strict=True)]
    return (
        f"For {len(none)} of {len(known)} estimates they do not help (gain of 1 or less): {'; '.join(named)}"
        f"{' and so on' if len(none) > FEW_ROWS else ''}."
    )


def _profiles(record: Recorded) -> str:
    """How many profiles people and models judged."""
    asked, other = (record.settings.get(name) for name in ("n_labelled", "n_other"))
    if asked is None or other is None:
        return ""
    return f"People judged {whole(asked)} profiles; models judged these and {whole(other)} others."


def _estimates(frame: pd.DataFrame, bounds: Bounds) -> list[GT]:
    """Estimates by source, with intervals: all in one table, or models in tables of their own."""
    frame = frame.assign(judge=frame[SERIES])
    if frame[SERIES].nunique() <= MOST_SERIES_WITH_INTERVALS:
        parts = [frame]
    else:
        among_people = frame[SERIES].isin([PEOPLE, CORRECTED])
        parts = [frame[among_people], *batches(frame[~among_people], MOST_SERIES_WITH_INTERVALS)]
    return [estimates_table(part, Labels(), bounds=bounds, verbatim=True) for part in parts]


def _gains(frame: pd.DataFrame, names: Names) -> GT:
    """Correlation, weights, gain and effective people of each estimate."""
    known = frame.dropna(subset="gain")
    weights = {
        name: f"Weight of {names.of('judge', name.removeprefix('weight_'))}" if "_" in name else "Weight"
        for name in map(str, known.columns)
        if name == "weight" or name.startswith("weight_")
    }
    rows = {
        "Attribute": known["feature"],
        "Level": known["level"],
        "Correlation": known["rho"].map(lambda value: number(value, 2)),
        **{label: known[name].map(lambda value: number(value, 2)) for name, label in weights.items()},
        "Gain": known["gain"].map(lambda value: number(value, 2)),
        "Effective people": known["n_effective"].map(lambda value: whole(round(value))),
    }
    note = (
        "Correlation: of people's and the models' influence on the estimate. Effective people: how many "
        "would be as precise without models."
    )
    return styled_table(pd.DataFrame(rows), groups="Attribute", note=note)
