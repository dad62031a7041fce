"""Tables of results on ratings, laid out for reading in the one table style."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from .display import NO_BREAK, STAR_RULE, interval, number, p_value, stars, styled_table, whole
from .figures.labels import LabelKey, Labels, words
from .raters.descriptive.strata import OVERALL
from .raters.models.ordinal_summary import QUANTITIES

if TYPE_CHECKING:
    from great_tables import GT

    from .raters.result import RaterResult

Row = Mapping[Any, Any]
Cell = Callable[[Row], str]

PEOPLE = {"human": "People", "one person": "One person"}
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall's tau-b"}


class Words:
    """Names in words: dimensions, strata, judges and groups.

    Parameters
    ----------
    labels : mapping
        As from :func:`conjury.analysis.report_ratings.labels_of`.
    """

    def __init__(self, labels: Mapping[LabelKey, str]) -> None:
        self._given = dict(labels)
        self._labels = Labels(labels)

    def dimension(self, name: object) -> str:
        """A dimension."""
        return self._labels.level("dimension", name) if str(name) else "Rating"

    def judge(self, name: object) -> str:
        """A judge or a group of judges."""
        text = str(name)
        if text in PEOPLE:
            return PEOPLE[text]
        return self._given.get(("judges", text), text)

    def level(self, column: str, name: object) -> str:
        """A level of a stratum; all of them together are "Overall"."""
        return "Overall" if str(name) == OVERALL else self._labels.level(column, name)

    def column(self, name: str) -> str:
        """A column."""
        return self._labels.feature(name)


def spread(
    frame: pd.DataFrame, rows: Mapping[str, pd.Series[Any]], columns: pd.Series[Any], cell: Cell
) -> pd.DataFrame:
    """Lay long numbers out as text: ``rows`` become rows, and each value of ``columns`` a column.

    All orders are those of appearance.
    """
    keys = {name: values.astype(str).to_numpy() for name, values in rows.items()}
    long = pd.DataFrame(keys)
    long["_column"] = columns.astype(str).to_numpy()
    long["_text"] = [cell(row) for row in frame.to_dict("records")]
    order = list(dict.fromkeys(long["_column"]))
    wide = long.pivot_table(index=list(keys), columns="_column", values="_text", aggfunc="first", sort=False)
    return wide[order].reset_index().rename_axis(columns=None)


def estimate_cell(row: Row, digits: int = 2) -> str:
    """An estimate with its interval."""
    return NO_BREAK.join(
        filter(None, (number(row["estimate"], digits), interval(row.get("lower"), row.get("upper"), digits)))
    )


def coverage_tables(result: RaterResult, told: Words) -> list[GT]:
    """Who rated what."""
    frame = result.frame
    shown = pd.DataFrame(
        {
            "dimension": frame["dimension"].map(told.dimension),
            "Judges": frame["group"].map(told.judge),
            "Number of judges": frame["n_judges"].map(whole),
            "Items": frame["n_items"].map(whole),
            "Ratings": frame["n_ratings"].map(whole),
            "Ratings an item": frame["per_item"].map(lambda value: number(value, 2)),
            "At least": frame["least"].map(whole),
        }
    )
    same = shown.drop(columns="dimension")
    if not shown.groupby("dimension", sort=False).ngroups > 1:
        return [styled_table(same, name="coverage")]
    first = same[shown["dimension"] == shown["dimension"].iloc[0]].reset_index(drop=True)
    alike = all(
        same[shown["dimension"] == name].reset_index(drop=True).equals(first)
        for name in shown["dimension"].unique()
    )
    if alike:
        return [styled_table(first, name="coverage", note="The same for every dimension.")]
    return [styled_table(shown, name="coverage", groups="dimension")]


def means_tables(result: RaterResult, told: Words) -> list[GT]:
    """Means with standard deviations: a table for each group of raters, strata as rows."""
    made = []
    by = list(result.settings.get("by") or [])
    for position, (group, part) in enumerate(result.frame.groupby("group", sort=False), start=1):
        rows = {told.column(column): part[column].map(_levels(told, column)) for column in by}
        if not rows:
            rows = {"Raters": part["group"].map(told.judge)}
        shown = spread(
            part,
            rows,
            part["dimension"].map(told.dimension),
            lambda row: f"{number(row['estimate'])} ({number(row['sd'])})",
        )
        heading = next(iter(rows)) if len(rows) > 1 else None
        name = f"means-{position}"
        note = f"{told.judge(group)}: mean (standard deviation over items)."
        made.append(styled_table(shown, name=name, groups=heading, note=note))
    return made


def correlation_tables(result: RaterResult, told: Words) -> list[GT]:
    """Correlations of models with people: a table for each coefficient."""
    by = list(result.settings.get("by") or [])
    made = []
    for name, part in result.frame.groupby("coefficient", sort=False, observed=True):
        judge = part["judge"].map(told.judge)
        level = [" / ".join(texts) or "Overall" for texts in zip(*_strata(part, by, told), strict=True)]
        shown = spread(
            part,
            {"judge": judge, "Stratum": pd.Series(level if by else ["Overall"] * len(part))},
            part["dimension"].map(told.dimension),
            lambda row: number(row["estimate"]) + stars(row.get("p_holm")),
        )
        called = COEFFICIENTS.get(str(name), words(name))
        note = f"{called}. Stars: p of the cluster bootstrap, {_HOLM} {STAR_RULE}"
        made.append(styled_table(shown, name=f"correlations-{name}", groups="judge", note=note))
    return made


_HOLM = "adjusted by Holm's procedure over the table."


def main_correlate_tables(result: RaterResult, told: Words) -> list[GT]:
    """How strongly each dimension goes with the main one, by group."""
    frame = result.extra["main"]
    by = list(result.settings.get("by") or [])
    overall = frame[[all(str(v) == OVERALL for v in row) for row in frame[by].to_numpy()]] if by else frame
    shown = spread(
        overall,
        {"Dimension": overall["other"].map(told.dimension)},
        overall["group"].map(told.judge),
        lambda row: f"{estimate_cell(row)}, P{NO_BREAK}{number(row['probability'], 2)}",
    )
    main = told.dimension(result.settings.get("main", ""))
    note = f"Correlation with {main}; P: share of bootstrap draws in which it is the strongest."
    return [styled_table(shown, name="dimension-correlations", note=note)]


def tier_tables(result: RaterResult, told: Words) -> list[GT]:
    """How often the order of tiers is recovered."""
    frame = result.frame
    titles = {"complete_order": "Complete order", "ordered_pairs": "Pairs in order"}
    shown = pd.DataFrame(
        {
            "quantity": frame["quantity"].astype(str).map(titles),
            "Judge": frame["judge"].map(told.judge),
            "Ties count as": frame["ties"].astype(str),
            "Share": [estimate_cell(row) for row in frame.to_dict("records")],
            "Chance": frame["chance"].map(lambda value: number(value, 2)),
            "Above chance": [
                f"{number(row['excess'], 2)}{NO_BREAK}{interval(row['excess_lower'], row['excess_upper'], 2)}"
                for row in frame.to_dict("records")
            ],
            "Tied pairs": frame["tied"].map(lambda value: f"{number(100 * value, 0)}%"),
        }
    )  # fmt: skip
    return [styled_table(shown, name="tier-accuracy", groups="quantity", left=2)]


BIASES = {
    ("positivity", "difference"): "Positivity: model minus people",
    ("range", "sd_ratio"): "Range: SD over items, model to mean of people",
    ("range", "sd_ratio_one_person"): "Range: SD over items, model to one person",
    ("range", "scale_used"): "Range: share of the scale in use",
    ("self_preference", "own"): "Own responses, at equal human quality",
    ("self_preference", "other_models"): "Other models' responses, at equal human quality",
    ("self_preference", "own_minus_other"): "Own minus other models'",
    ("context", "unrelated"): "Unrelated responses: model minus people",
    ("context", "unrelated_net"): "Unrelated responses, net of positivity",
    ("context", "drop_ratio"): "Mark-down of unrelated responses, to that by people",
}


def bias_tables(result: RaterResult, told: Words) -> list[GT]:
    """How models differ from people, one row a quantity and judge, dimensions as columns."""
    by = list(result.settings.get("by") or [])
    frame = result.frame
    frame = frame[[all(str(v) == OVERALL for v in row) for row in frame[by].to_numpy()]] if by else frame
    named = [
        BIASES.get(key, words(" ".join(key)))
        for key in zip(frame["bias"].astype(str), frame["quantity"].astype(str), strict=True)
    ]
    shown = spread(
        frame,
        {"bias": pd.Series(named), "Judge": frame["judge"].map(told.judge)},
        frame["dimension"].map(told.dimension),
        lambda row: estimate_cell(row),
    )
    return [
        styled_table(
            shown, name="biases", groups="bias", note="In brackets: 95% intervals, topics resampled."
        )
    ]


def alt_test_tables(result: RaterResult, told: Words) -> list[GT]:
    """Winning rates and advantage probabilities of every model."""
    frame = result.frame
    several = frame["scoring"].nunique() > 1
    shown = pd.DataFrame(
        {
            "dimension": frame["dimension"].map(told.dimension)
            + (", " + frame["scoring"].map(words) if several else ""),
            "Model": frame["model"].map(told.judge),
            "Winning rate": frame["winning_rate"].map(lambda value: number(value, 2)),
            "Advantage probability": [
                NO_BREAK.join(
                    filter(
                        None,
                        (
                            number(row["advantage_probability"]),
                            interval(
                                row.get("advantage_probability_lower"), row.get("advantage_probability_upper")
                            ),
                        ),
                    )
                )
                for row in frame.to_dict("records")
            ],
            "Passes": frame["passes"].map({True: "yes", False: "no"}),
            "Smallest epsilon": [number(value, 2) or "above 1" for value in frame["smallest_epsilon"]],
            "People compared": frame["n_annotators"].map(whole),
        }
    )
    note = f"Epsilon is {result.settings.get('epsilon', 0.1):g}; a model passes with a winning rate of 0.5."
    return [styled_table(shown, name="alt-test", groups="dimension", note=note)]


def any_table(frame: pd.DataFrame, told: Words, name: str, note: str = "") -> list[GT]:
    """Any table of keys and numbers, as it is, with names in words."""
    shown = pd.DataFrame(index=frame.index)
    keys = 0
    for column in frame.columns:
        values = frame[column]
        if pd.api.types.is_bool_dtype(values.dtype):
            shown[words(column)] = values.map({True: "yes", False: "no"})
        elif pd.api.types.is_integer_dtype(values.dtype):
            shown[words(column)] = values.map(whole)
        elif pd.api.types.is_numeric_dtype(values.dtype):
            shown[words(column)] = values.map(p_value if column.startswith("p_") or column == "p" else number)
        else:
            shown[words(column)] = values.map(_named(told, str(column)))
            keys += 1
    filled = [column for column in shown if not (shown[column].astype(str) == "").all()]
    return [styled_table(shown[filled].astype(str), name=name, left=max(keys, 1), note=note)]


def _named(told: Words, column: str) -> Callable[[object], str]:
    def text(value: object) -> str:
        if value is None or pd.isna(value):  # type: ignore[call-overload]
            return ""
        if column in ("judge", "model", "group", "rater"):
            return told.judge(value)
        if column in ("dimension", "other", "main"):
            return told.dimension(value)
        return told.level(column, value)

    return text


def _levels(told: Words, column: str) -> Callable[[object], str]:
    return lambda value: told.level(column, value)


def _strata(part: pd.DataFrame, by: Sequence[str], told: Words) -> list[list[str]]:
    if not by:
        return [["Overall"] * len(part)]
    return [[told.level(column, value) for value in part[column]] for column in by]


SHOWN_COEFFICIENTS = (
    ("percent", "nominal"),
    ("cohen", "quadratic"),
    ("fleiss", "nominal"),
    ("krippendorff", "nominal"),
    ("krippendorff", "ordinal"),
    ("krippendorff", "quadratic"),
    ("gwet", "nominal"),
    ("gwet", "quadratic"),
    ("icc2", ""),
    ("g_absolute", ""),
    ("kendall_w", ""),
)
NAMED_COEFFICIENTS = {
    "percent": "Percent agreement",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "krippendorff": "Krippendorff's alpha",
    "gwet": "Gwet's AC",
    "icc2": "ICC(2), one rating",
    "g_absolute": "Generalisability of the mean",
    "kendall_w": "Kendall's W",
}
WEIGHTED = {"nominal": "nominal", "ordinal": "ordinal", "quadratic": "interval"}


def agreement_tables(result: RaterResult, told: Words) -> list[GT]:
    """The coefficients that are reported most, those compared as columns; all others are in the folder."""
    frame = result.frame.copy()
    weights = frame["weights"].astype("string").fillna("")
    frame["_key"] = list(zip(frame["coefficient"].astype(str), weights, strict=True))
    frame = frame[frame["_key"].isin(SHOWN_COEFFICIENTS) & frame["estimate"].notna()]
    against = frame["against"].astype("string").fillna("")
    compared = [
        f"{told.judge(one)} and {told.judge(other)}" if other else _within(told, one)
        for one, other in zip(frame["among"].astype(str), against, strict=True)
    ]
    named = [
        NAMED_COEFFICIENTS[name] + (f", {WEIGHTED[weight]}" if weight else "")
        for name, weight in frame["_key"]
    ]
    shown = spread(
        frame,
        {
            "dimension": frame["dimension"].map(told.dimension),
            "Coefficient": pd.Series(named, index=frame.index),
        },
        pd.Series(compared, index=frame.index),
        _agreement_cell,
    )
    note = "In brackets: bootstrap intervals, else analytical ones. The folder holds all coefficients."
    return [styled_table(shown, name="agreement", groups="dimension", note=note)]


def _within(told: Words, name: str) -> str:
    return "Models" if name == "model" else told.judge(name)


def _agreement_cell(row: Row) -> str:
    booted = not pd.isna(row.get("boot_lower", float("nan")))
    prefix = "boot_" if booted else ""
    bounds = interval(row.get(f"{prefix}lower"), row.get(f"{prefix}upper"), 2)
    return NO_BREAK.join(filter(None, (number(row["estimate"], 2), bounds)))


def rater_model_tables(result: RaterResult, told: Words) -> list[GT]:
    """What the model says of each group, and the bias of each model towards levels of covariates."""
    frame = result.frame
    shown = spread(
        frame,
        {"Quantity": frame["quantity"].astype(str).map(lambda name: QUANTITIES.get(name, words(name)))},
        frame["group"].map(told.judge),
        estimate_cell,
    )
    note = "Posterior means with equal-tailed intervals; SD: standard deviation."
    made = [styled_table(shown, name="rater-model", note=note)]
    if "bias" in result.extra:
        bias = result.extra["bias"]
        points = bias[bias["quantity"] == "bias_points"]
        level = [told.level(c, v) for c, v in zip(points["covariate"], points["level"], strict=True)]
        rows = {"Level": pd.Series(level, index=points.index)}
        table = spread(points, rows, points["group"].map(told.judge), estimate_cell)
        note = "Bias towards a level, net of the quality that people see: points of the scale."
        made.append(styled_table(table, name="rater-model-bias", note=note))
    return made


def dimension_model_tables(result: RaterResult, told: Words) -> list[GT]:
    """Latent correlations with the main dimension, and how probably each is the strongest."""
    strongest = result.extra["strongest"]
    total = strongest[(strongest["level"] == "total") & strongest["probability"].notna()]
    made = []
    for main, part in total.groupby("main", sort=False):
        shown = spread(
            part,
            {"Dimension": part["dimension"].map(told.dimension)},
            part["group"].map(told.judge),
            lambda row: f"{estimate_cell(row)}, P{NO_BREAK}{number(row['probability'], 2)}",
        )
        note = (
            f"Latent correlation with {told.dimension(main)} in single ratings; P: posterior probability of "
            "being the strongest."
        )
        made.append(styled_table(shown, name=f"dimension-model-{main}", note=note))
    return made


def label_model_tables(result: RaterResult, told: Words) -> list[GT]:
    """Prevalence, accuracy and agreement; each model beside a fresh person."""
    frame = result.frame
    people = frame[
        ~((frame["quantity"] == "accuracy") & frame["judge"].notna() & (frame["group"] == "human"))
    ]
    made = any_table(people.drop(columns=[*CHAIN_COLUMNS], errors="ignore"), told, "label-model")
    if "replacement" in result.extra:
        made += any_table(
            result.extra["replacement"].drop(columns=[*CHAIN_COLUMNS], errors="ignore"),
            told,
            "label-model-replacement",
        )
    return made


CHAIN_COLUMNS = ("rhat", "ess_bulk", "ess_tail")

LAYOUTS: dict[str, Callable[[RaterResult, Words], list[GT]]] = {
    "coverage": coverage_tables,
    "means": means_tables,
    "correlations": correlation_tables,
    "dimension_correlations": main_correlate_tables,
    "tier_accuracy": tier_tables,
    "biases": bias_tables,
    "agreement": agreement_tables,
    "alt_test": alt_test_tables,
    "rater_model": rater_model_tables,
    "dimension_model": dimension_model_tables,
    "label_model": label_model_tables,
}


def lay_out(result: RaterResult, name: str, labels: Mapping[LabelKey, str]) -> list[GT]:
    """Tables of a result in the style of reports; none for results that only have a figure."""
    told = Words(labels)
    if result.kind in LAYOUTS:
        return LAYOUTS[result.kind](result, told)
    return any_table(result.frame, told, name)
