"""Exhibits of estimates among people that models make more precise: gains, a figure, two tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from conjury.inference.tables.columns import names_of

from ...conjoint.prediction_powered.covariate import BY_LEVEL
from ...correction.correction_methods import COVARIATE
from ...figures.conjoint.conjoint_correction_figures import sources
from ...figures.conjoint.effect_figures import series_in_words, stack_tables
from ...figures.gain_labels import CORRECTED, PEOPLE, SOURCE, gain_definition, models_in_words
from ...figures.labels import ColumnNames, LevelLabels, overall_rows
from ...figures.raters.item_correction_figures import PANEL, ROW, dimension_in_words, label_estimates
from ...figures.rates_figure import method_in_words
from ...frames.sentences import headed
from ...frames.vocabulary import CORRECTED_BY_MODELS, PEOPLE_ONLY
from ...results import Result
from ..method_sentences import bounds_name, code, describe_analysis, plain
from ..report_data import CORRECTIONS, OF_CONJOINTS, OF_ITEMS, ReportData
from ..sentences.correction_sentences import (
    find_largest_shift,
    find_useless_gains,
    gain_text,
    gains_in_words,
    gains_of,
    moved_in_words,
    useless_in_words,
)
from ..table_format import (
    IN_PERCENT,
    MOST_SERIES_WITH_INTERVALS,
    LimitNames,
    batches,
    estimates_table,
    number,
    spread,
    styled_table,
    whole,
)
from .conjoint.conjoint_basis import group_columns
from .exhibit_registry import Drawn, Exhibit, Laid, ended, exhibit, level
from .template import tables_of

if TYPE_CHECKING:
    from great_tables import GT

    from ...pipeline.manifest import RecordedResult

TUNING = {
    "coefficient": "Each coefficient has the weight that minimises its variance [@angelopoulos2023]",
    "scalar": "All coefficients have one weight [@angelopoulos2023]",
    "matrix": "The weights are a matrix over all coefficients that minimises variances",
    "none": "The weight is 1",
}
CALIBRATED = (
    "Each model counts twice, with a weight each: by its answers, and by a monotone map of them to people's "
    "answers (isotonic regression) that is fitted to the other parts [@barlow1972]."
)
STATISTICS = {
    "mean": "Mean ratings",
    "share": "Shares of labels",
    "proportion": "Shares of high ratings",
    "quantile": "Quantiles of ratings",
}
SCORES = "Scores of judges against people's labels"
FEW_MODELS = 3  # models that are named


@dataclass(frozen=True)
class CorrectionCounts:
    """What sentences on a kind of correction count: of what there are few, and what everybody answered."""

    unit: str
    asked: str
    row: str  # heading of the rows of tables


COUNTED = {
    OF_CONJOINTS: CorrectionCounts("people", "tasks", "Level"),
    OF_ITEMS: CorrectionCounts("labelled items", "items", "Estimate of"),
}


@dataclass(frozen=True)
class CorrectionRows:
    """Estimates of people alone and corrected, row by row, with what the models add to each."""

    human: pd.DataFrame
    corrected: pd.DataFrame
    gains: pd.DataFrame  # ``gain, n_effective``
    task: str = ""  # of several, the one that these are about


def method(record: RecordedResult, report: ReportData) -> str:
    """How estimates were corrected; in full for the first of them."""
    first, settings = report.of_kind(*CORRECTIONS)[0], record.settings
    described = describe_analysis(settings) if record.kind == OF_CONJOINTS else _describe_estimates(settings)
    if record.name != first.name:
        return f"{described} Estimates are corrected as those of *{plain(first.title)}*."
    if settings.get("correct") == COVARIATE:
        slopes = "a slope for each level" if settings.get("slopes") == BY_LEVEL else "one slope"
        return (
            f"{described} Estimates are adjusted by a covariate: the models' prediction from the other "
            f"profile of a pair, centred, with {slopes} [@lin2013]. The other profile is drawn "
            "independently, so estimates are about people, whatever the models answer; models affect only "
            "their precision. The gain is the variance without models divided by that with models."
        )
    noun, unit = COUNTED[record.kind].asked, COUNTED[record.kind].unit
    return " ".join(
        [
            described,
            "Estimates are corrected by predict-then-debias [@kluger2025]: a corrected estimate is that from "
            "people's answers, plus a weight times the difference between two estimates from the models' "
            f"answers, that on other {noun} minus that on people's {noun}.",
            _tuning(settings, unit),
            *([CALIBRATED] if settings.get("calibration") else []),
            "The corrected estimate is about people, whatever the models answer; models affect its precision "
            "only. The gain is the variance without models divided by that with models. It may be below 1 "
            "where the correlation is low, since choosing the weight costs precision [@mani2025]. Models "
            "that judge no better than the people they are compared with save at most half of them "
            "[@dorner2025].",
        ]
    )


def _describe_estimates(settings: Mapping[str, Any]) -> str:
    """What was estimated of ratings or labels, with which standard errors."""
    what = STATISTICS.get(str(settings.get("statistic")), SCORES)
    by, clusters = (names_of(value) for value in (settings.get("by"), settings.get("cluster")))
    parts = [f"{what} over all items{', by ' + ', '.join(map(code, by)) if by else ''}."]
    if clusters:
        parts.append(f"Standard errors are clustered by {' and '.join(map(code, clusters))}.")
    if settings.get("weighted"):
        parts.append("Labelled items have the weight 1 / their sampling probability.")
    if settings.get("alpha") is not None:
        parts.append(f"Intervals are t intervals and cover {100 * (1 - settings['alpha']):g}%.")
    return " ".join(parts)


def _tuning(settings: Mapping[str, Any], unit: str) -> str:
    """How the weight of the models was chosen."""
    tuning, folds = str(settings.get("tuning")), int(settings.get("folds") or 1)
    text = TUNING.get(tuning, "")
    if tuning == "none":
        return f"{text}."
    if folds == 1:
        return f"{text}, from all {unit}; intervals are too short where {unit} are few."
    return (
        f"{text}; for each of {folds} parts of the {unit} it is chosen from the others (seed "
        f"{settings.get('seed')}), and it is shrunk towards 0 where the correlation may be chance."
    )


def _headline(result: Result, record: RecordedResult, report: ReportData) -> str:
    return plain(summary(result, report.names))


def summary(result: Result, names: ColumnNames) -> str:
    """What the models add, in one sentence: the median gain and how much shorter intervals are."""
    compared = _compared(result)
    who = _models_named(result.settings.get("model") or (), names)
    task = dimension_in_words(compared.task, names) if compared.task else ""
    lengths = _length(compared.corrected) / _length(compared.human)
    return gains_in_words(gains_of(compared.gains, lengths, who, COUNTED[result.kind].unit, task))


def _models_named(models: Sequence[str], names: ColumnNames) -> str:
    if len(models) > FEW_MODELS:
        return f"{len(models)} models"
    *most, last = models_in_words(list(models), names).values() or ["models"]
    return f"{', '.join(most)} and {last}" if most else last


def _compared(result: Result) -> CorrectionRows:
    """What a summary compares: of ratings by strata the rows of all items, of several tasks the first."""
    if result.kind == OF_CONJOINTS:
        return CorrectionRows(result.extra["human"], result.frame, result.extra["gains"])
    frame, by = result.frame, [name for name in result.settings.get("by") or () if name in result.frame]
    overall = overall_rows(frame, by)
    frame = frame if overall.empty else overall
    column = "task" if "task" in frame else "dimension" if (frame["statistic"] == "share").all() else ""
    tasks = list(dict.fromkeys(frame[column].astype(str))) if column else []
    task = tasks[0] if len(tasks) > 1 else ""
    frame = frame[frame[column].astype(str) == task] if task else frame
    corrected = frame[frame["source"] == CORRECTED_BY_MODELS]
    return CorrectionRows(frame[frame["source"] == PEOPLE_ONLY], corrected, corrected, task)


def _length(frame: pd.DataFrame) -> np.ndarray:
    """Lengths of intervals, NaN for those of length 0, shape (m,)."""
    length = (frame["upper"] - frame["lower"]).to_numpy(dtype=float)
    return np.where(length > 0, length, np.nan)


@exhibit(OF_CONJOINTS, method=method, headline=_headline)
def of_conjoints(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """People alone, corrected and models alone; tables of the first result, or of all in their own report."""
    names, groups, labels = report.names, group_columns(record), LevelLabels(report.labels)
    gains = result.extra["gains"]
    levels = [labels.both(*pair) for pair in zip(gains["feature"], gains["level"], strict=True)]
    among = series_in_words(gains, groups, labels) if groups else [""] * len(gains)
    rows = [", ".join(filter(None, pair)) for pair in zip(levels, among, strict=True)]
    is_first = record.name == report.of_kind(*CORRECTIONS)[0].name
    tables: list[Laid] = []
    if is_first or report.about == "corrected":
        bounds = LimitNames(bounds_name(record.settings) or "interval")
        estimates = _by_level(stack_tables(sources(result, names), SOURCE), record, groups, labels)
        tables = _tables(result, record, names, estimates, _by_level(gains, record, groups, labels), bounds)
    text = [useless_in_words(find_useless_gains(gains, rows)), _count_profiles(record)]
    return _correction_exhibit(result, record, report, text, tables)


@exhibit(OF_ITEMS, method=method, headline=_headline)
def of_items(result: Result, record: RecordedResult, report: ReportData) -> Exhibit:
    """Ratings, labels or scores: people alone, corrected and models alone."""
    frame = label_estimates(result, report.names)
    frame = frame.assign(feature=frame[PANEL], level=frame[ROW])
    gains = frame[frame["source"] == CORRECTED_BY_MODELS]
    rows = [f"{panel}: {row}" for panel, row in zip(gains[PANEL], gains[ROW], strict=True)]
    bounds = LimitNames(f"{level(record)} t interval")
    estimates = frame[["feature", "level", SOURCE, "estimate", "lower", "upper"]]
    tables = _tables(result, record, report.names, estimates, gains, bounds)
    text = [useless_in_words(find_useless_gains(gains, rows)), _count_items(gains, record)]
    return _correction_exhibit(result, record, report, text, tables)


def _correction_exhibit(
    result: Result, record: RecordedResult, report: ReportData, text: Sequence[str], tables: Sequence[Laid]
) -> Exhibit:
    """The summary and further text, the figure, and the tables if there are any."""
    title, records = plain(record.title), report.of_kind(*CORRECTIONS)
    sentence = "{figure compares} people alone, the corrected estimates and models alone"
    if tables:
        sentence += "; the numbers are in {table}"
    if record.name == records[0].name:
        sentence += (
            ". Where a model alone differs from the corrected estimates, it judges differently from people, "
            "and the correction removes the difference"
        )
    gain = gain_definition(COUNTED[result.kind].unit)
    points = f"Points are estimates, lines their {level(record)} intervals; at the right is the gain: {gain}."
    lead = " ".join(filter(None, [plain(summary(result, report.names)), *text]))
    return Exhibit(
        f"{lead}\n\n{sentence}.",
        [Drawn(result, f"{title}. {points}")],
        tables,
        heading=f"### {title}" if len(records) > 1 else "",
    )


def _tables(
    result: Result,
    record: RecordedResult,
    names: ColumnNames,
    estimates: pd.DataFrame,
    gains: pd.DataFrame,
    bounds: LimitNames,
) -> list[Laid]:
    """Estimates by source, and what the models add to each."""
    title, counted = plain(record.title), COUNTED[result.kind]
    tables = [Laid(_estimate_tables(estimates, bounds, counted), ended(title))]
    if gains["gain"].notna().any():
        tables.append(Laid([_gains_table(gains, names, counted)], headed(title, "gains."), "gains"))
    return tables


def _by_level(
    frame: pd.DataFrame, record: RecordedResult, groups: Sequence[str], labels: LevelLabels
) -> pd.DataFrame:
    """Label rows for a table; of differences those of the first feature, levels above groups."""
    if not groups:
        pairs = list(zip(frame["feature"], frame["level"], strict=True))
        levels = [labels.level(*pair) for pair in pairs]
        return frame.assign(feature=[labels.feature(feature) for feature, _ in pairs], level=levels)
    feature = str(record.settings["feature"])
    rows = frame[frame["feature"].astype("string") == feature]
    levels = [labels.level(feature, name) for name in rows["level"]]
    return rows.assign(feature=levels, level=series_in_words(rows, groups, labels))


def _count_profiles(record: RecordedResult) -> str:
    """How many profiles people and models judged."""
    n_labelled, n_other = (record.settings.get(name) for name in ("n_labelled", "n_other"))
    if n_labelled is None or n_other is None:
        return ""
    return f"People judged {whole(n_labelled)} profiles; models judged these and {whole(n_other)} others."


def _count_items(gains: pd.DataFrame, record: RecordedResult) -> str:
    """How many items people and models judged; of sampled ones, models judged the others and these."""
    n_labelled, n_other = int(gains["n_labelled"].max()), int(gains["n_other"].max())
    if record.settings.get("weighted"):
        return f"People judged {whole(n_labelled)} items; models judged {whole(n_other)}, these among them."
    return f"People judged {whole(n_labelled)} items; models judged these and {whole(n_other)} others."


def _estimate_tables(frame: pd.DataFrame, bounds: LimitNames, counted: CorrectionCounts) -> list[GT]:
    """Estimates by source, with intervals: all in one table, or models in tables of their own."""
    frame = frame.assign(judge=frame[SOURCE])
    if frame[SOURCE].nunique() <= MOST_SERIES_WITH_INTERVALS:
        parts = [frame]
    else:
        among_people = frame[SOURCE].isin([PEOPLE, CORRECTED])
        parts = [frame[among_people], *batches(frame[~among_people], MOST_SERIES_WITH_INTERVALS)]
    return [
        estimates_table(part, LevelLabels(), bounds=bounds, verbatim=True, row=counted.row) for part in parts
    ]


def _gains_table(frame: pd.DataFrame, names: ColumnNames, counted: CorrectionCounts) -> GT:
    """Correlation, weights, gain and effective people or items of each estimate."""
    gains = frame.dropna(subset="gain")
    columns = [str(name) for name in gains.columns if str(name).startswith("weight_")]
    labels = models_in_words([name.removeprefix("weight_") for name in columns], names)
    weights = {name: f"Weight of {labels[name.removeprefix('weight_')]}" for name in columns}
    weights |= {"weight": "Weight"} if "weight" in gains else {}
    effective = f"Effective {counted.unit}"
    rows = {
        "Attribute": gains["feature"],
        counted.row: gains["level"],
        "Correlation": gains["rho"].map(lambda value: number(value, 2)),
        **{label: gains[name].map(lambda value: number(value, 2)) for name, label in weights.items()},
        "Gain": gains["gain"].map(gain_text),
        effective: gains["n_effective"].map(lambda value: whole(round(value))),
    }
    note = (
        f"Correlation: of people's and the models' influence on the estimate. {effective}: how many "
        "would be as precise without models."
    )
    return styled_table(pd.DataFrame(rows), groups="Attribute", note=note)


def _largest_shift_text(result: Result, names: ColumnNames) -> str:
    """How far the correction moves the rate that the judge reports, where it moves most."""
    keys = [*(result.settings.get("by") or []), "class"]
    wide = result.frame.pivot_table(index=keys, columns="method", sort=False, observed=True)
    if not {"naive", "rogan_gladen"} <= set(wide["estimate"]):
        return ""
    texts = [
        ", ".join(
            [names.of("label", key[-1]), *(names.of(k, v) for k, v in zip(keys[:-1], key, strict=False))]
        )
        for key in (np.atleast_1d(index) for index in wide.index)
    ]
    rates = pd.DataFrame(
        {
            "reported": wide["estimate", "naive"],
            "corrected": wide["estimate", "rogan_gladen"],
            "lower": wide["lower", "rogan_gladen"],
            "upper": wide["upper", "rogan_gladen"],
        }
    )
    shift = find_largest_shift(rates, [plain(text) for text in texts])
    return "" if shift is None else moved_in_words(shift)


@tables_of("rates", reading=_largest_shift_text, headline=_largest_shift_text)
def rates(result: Result, names: ColumnNames) -> list[GT]:
    """Rates by method, classes as columns."""
    frame, by = result.frame, list(result.settings.get("by") or [])
    rows = {names.column(column): frame[column].map(partial(names.of, column)) for column in by}
    rows["Method"] = frame["method"].map(method_in_words)
    classes = frame["class"].map(partial(names.of, "label"))
    table = spread(frame, rows, classes, IN_PERCENT.cell)
    counts = frame[[*by, "n_labelled", "n_unlabelled"]].drop_duplicates()
    n_labelled, n_unlabelled = (int(counts[name].sum()) for name in ("n_labelled", "n_unlabelled"))
    note = f"{whole(n_labelled)} units were labelled by people, {whole(n_unlabelled)} by the judge alone."
    note = f"{IN_PERCENT.note} {note}"
    return [styled_table(table, groups=next(iter(rows)) if by else None, note=note)]
