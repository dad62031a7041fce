"""How well estimates of simulated data find the values that these were simulated from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError
from conjury.inference.tables.columns import UNPERTURBED, as_text

from ..figures.labels import TRUTHS, ColumnNames, words
from ..frames.vocabulary import HUMAN, OVERALL
from ..results import Result

EFFECT_GROUP = ["analysis", "judge", "prompt"]
EFFECT_KEYS = [*EFFECT_GROUP, "statistic", "feature", "level", "by"]
RATING_COLUMNS = [
    "analysis", "quantity", "judge", "dimension", "response_type", "truth", "estimate", "lower", "upper",
    "inside",
]  # fmt: skip
RATING_KEYS = ["quantity", "judge", "dimension", "other", "response_type"]
LASTING, SINGLE = "latent_correlation", "latent_correlation_rating"
MODALITY = "modality"
KNOWN = ("quantity", "judge", "prompt", "task", "condition", "gold", "k")
BOUNDS = ("estimate", "lower", "upper")
RECALL = "recall_"
PASSES = ("pass_at_k", "pass_all_k")
AGREEMENT = {"percent": "percent_agreement", "fleiss": "fleiss_kappa"}


def compare_with_truth(estimates: pd.DataFrame, truth: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Join estimates with true values."""
    # Returns: The estimates that have a true value, with keys as text, `truth`, and `inside`: whether the
    # interval contains the true value, missing without an interval.
    comparison = keys_as_text(estimates, keys).merge(
        keys_as_text(truth, keys)[[*keys, "truth"]], on=list(keys)
    )
    comparison = comparison[comparison["estimate"].notna()].reset_index(drop=True)
    inside = (comparison["lower"] <= comparison["truth"]) & (comparison["truth"] <= comparison["upper"])
    bounded = comparison["lower"].notna() & comparison["upper"].notna()
    return comparison.assign(inside=inside.astype("boolean").where(bounded))


def keys_as_text(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The frame with its keys as text, empty where they are missing."""
    texts = {name: as_text(frame[name]).fillna("") if name in frame else "" for name in keys}
    return frame.assign(**texts).astype(dict.fromkeys(keys, "string"))


def effect_recovery(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare estimates of simulated choices with true effects: coverage of intervals and absolute errors."""
    # Returns: `analysis, judge, prompt, n_levels, in_normal, in_bootstrap` (shares of true values inside the
    # intervals), `mean_abs_error, max_abs_error`.
    if not any("boot_lower" in table for table in tables.values()):
        return pd.DataFrame()
    comparison = effects_with_truth(truth, tables)
    true = comparison["true"]
    in_bootstrap = comparison["boot_lower"].le(true) & comparison["boot_upper"].ge(true)
    judged = comparison.assign(
        in_normal=comparison["inside"].astype("Float64"),
        in_bootstrap=in_bootstrap.astype("Float64").mask(comparison["boot_lower"].isna()),
        error=(comparison["estimate"] - true).abs(),
    )
    return (
        judged.groupby(EFFECT_GROUP, sort=False)
        .agg(
            n_levels=("error", "size"),
            in_normal=("in_normal", "mean"),
            in_bootstrap=("in_bootstrap", "mean"),
            mean_abs_error=("error", "mean"),
            max_abs_error=("error", "max"),
        )
        .astype({"in_normal": "float64", "in_bootstrap": "float64"})
        .reset_index()
    )


def effects_with_truth(truth: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Stack estimates that have a standard error and a true value, with that value in column ``true``."""
    absent = next((name for name in [*EFFECT_KEYS, "estimate"] if name not in truth), None)
    if absent is not None:
        raise InputError(
            f"The true values have no column {absent!r}; simulate the choices again or remove their table."
        )
    parts = [
        table[table["variant"] == ""].assign(analysis=name)
        for name, table in tables.items()
        if "boot_lower" in table
    ]
    estimates = pd.concat(parts, ignore_index=True).dropna(subset=["std_error"])
    true_values = truth.rename(columns={"estimate": "truth"})
    return compare_with_truth(estimates, true_values, EFFECT_KEYS).rename(columns={"truth": "true"})


def label_recovery(results: Mapping[str, Result], truth: pd.DataFrame) -> pd.DataFrame:
    """Set estimates beside the true values of simulated labels, where both are the same quantity."""
    # Truth is about what items are; where gold labels are votes, they err now and then, and so do estimates
    # against them.
    strata = [name for name in truth.columns if name not in (*KNOWN, "value")]
    keys = [*KNOWN[:4], *strata, *KNOWN[4:]]
    true_values = keys_as_text(truth, keys).assign(truth=truth["value"].astype(float))
    parts = []
    for name, result in results.items():
        for each in _label_estimates(result, true_values):
            if _comparable(each, strata, result):
                split = set(strata) <= _strata_of(result) or result.kind == "annotators"
                estimates = each if split else each.drop(columns=strata, errors="ignore")
                estimates = estimates.astype(dict.fromkeys(BOUNDS, float))
                parts.append(compare_with_truth(estimates, true_values, keys).assign(analysis=name))
    names = ["analysis", *keys, "truth", *BOUNDS, "inside"]
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _strata_of(result: Result) -> set[str]:
    return {str(name) for name in result.settings.get("by") or ()}


def _comparable(frame: pd.DataFrame, strata: Sequence[str], result: Result) -> bool:
    """Whether rows are of all items or of cells of all strata: the truth has no others, save of people."""
    # Rows by strata of which each prompt has one level only are of all items of that prompt.
    by = [name for name in strata if name in _strata_of(result)]
    if result.kind == "annotators" or not by or len(by) == len(strata):
        return True
    levels = frame.groupby("prompt", observed=True)[by].nunique()
    return len(levels) > 1 and bool((levels <= 1).all(axis=None))


def _label_estimates(result: Result, true_values: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Estimates of a result that have true values, named as the truth names them."""
    frame = result.frame
    if result.kind == "scores":
        scores = frame.assign(condition=UNPERTURBED)
        metric, missing = as_text(scores["metric"]), as_text(scores["missing"])
        wrong = missing == "wrong"
        yield scores[wrong & (metric == "accuracy")].assign(quantity="accuracy")
        yield scores[(missing == "missing") & (metric == "accuracy")].assign(quantity="accuracy_answered")
        yield scores[wrong & (metric == "missing_rate")].assign(quantity="missing")
        recalls = scores[wrong & metric.str.startswith(RECALL)]
        yield recalls.assign(quantity="accuracy", gold=as_text(recalls["metric"]).str.removeprefix(RECALL))
    elif result.kind == "passes":
        rows = frame[as_text(frame["metric"]).isin(PASSES)]
        rows = rows[as_text(rows["missing"]) == "wrong"] if "missing" in rows else rows
        yield rows.assign(quantity=rows["metric"], condition=UNPERTURBED)
    elif result.kind == "robustness":
        yield frame[as_text(frame["metric"]) == "accuracy"].assign(quantity="difference")
    elif result.kind == "annotators" and "dimension" in frame:
        rows = frame[as_text(frame["coefficient"]).isin(list(AGREEMENT))]
        quantity = as_text(rows["coefficient"]).map(AGREEMENT)
        for task in true_values.loc[true_values["judge"] == HUMAN, "task"].unique():
            yield rows.assign(quantity=quantity, judge=HUMAN, gold=rows["dimension"], task=task)


def rating_recovery(
    results: Mapping[str, Result], truth: pd.DataFrame, *, types: str = "response_type"
) -> pd.DataFrame:
    """Set estimates beside the true values of a simulation, where both are the same quantity."""
    # Latent correlations of a group that nearly always gives one extreme rating are not identified and
    # excluded, and so is what is defined otherwise, such as rank correlations between dimensions.
    true_values = truth.rename(columns={"value": "truth"})
    parts = [
        compare_with_truth(estimates, true_values, RATING_KEYS).assign(analysis=name)
        for name, result in results.items()
        for estimates in _rating_estimates(result, types)
    ]
    if not parts:
        return pd.DataFrame(columns=RATING_COLUMNS)
    table = pd.concat(parts, ignore_index=True)
    table.loc[table["other"] != "", "dimension"] += " and " + table["other"]
    return table[RATING_COLUMNS]


def recovery_summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Condense a table of `rating_recovery`: one row per quantity and judge."""
    error = compared["estimate"].astype(float) - compared["truth"].astype(float)
    errors = compared.assign(error=error, size=error.abs(), held=compared["inside"].astype("Float64"))
    table = (
        errors.groupby(["quantity", "judge"], sort=False)
        .agg(
            n_estimates=("error", "size"),
            n_intervals=("held", "count"),
            n_inside=("held", "sum"),
            mean_error=("error", "mean"),
            mean_abs_error=("size", "mean"),
            max_abs_error=("size", "max"),
        )
        .reset_index()
    )
    bounded = table["n_intervals"].to_numpy(dtype=float)
    inside = table["n_inside"].to_numpy(dtype=float)
    share = np.divide(inside, bounded, out=np.full(len(table), np.nan), where=bounded > 0)
    table.insert(5, "share_inside", share)
    return table


def coverage_groups(
    frame: pd.DataFrame, titles: Mapping[str, str], names: ColumnNames
) -> list[tuple[str, int, int]]:
    """Analyses or quantities, and judges: how many intervals of each contain the true value, of how many."""
    if "in_normal" in frame:
        rows = frame.dropna(subset="in_normal")
        inside = (rows["in_normal"] * rows["n_levels"]).round()
        counts = rows.assign(n_inside=inside, n_intervals=rows["n_levels"], quantity=rows["analysis"])
    else:
        counts = recovery_summary(frame)
    named = counts.assign(
        quantity=[
            f"“{titles.get(name) or TRUTHS.get(name) or words(name)}”"
            for name in counts["quantity"].astype(str)
        ],
        judge=[f"all estimates of {names.of('judge', name)}" for name in counts["judge"].astype(str)],
    )
    sums = [
        named.groupby(key, sort=False)[["n_inside", "n_intervals"]].sum() for key in ("quantity", "judge")
    ]
    return [(str(row[0]), int(row[1]), int(row[2])) for part in sums for row in part.itertuples()]


def _rating_estimates(result: Result, types: str) -> Iterator[pd.DataFrame]:
    """Estimates of a result that have true values: the keys of the truth, estimate, lower, upper."""
    frame, strata = result.frame, list(result.settings.get("by") or ())
    by_type = strata in ([], [types])
    if result.kind == "means" and by_type:
        yield _keyed(frame, "expected_rating", frame["group"], types if strata else None)
    elif result.kind == "biases" and by_type:
        rows = frame[(frame["bias"] == "positivity") & (frame["quantity"] == "difference")]
        yield _keyed(rows, "positivity", rows["judge"], types if strata else None)
    elif result.kind == "correlations" and by_type:
        rows = frame[frame["coefficient"] == "pearson"]
        yield _keyed(rows, "raw_correlation", rows["judge"], types if strata else None)
    elif result.kind == "dimension_model" and not result.settings.get("covariates"):
        rows = frame[(frame["level"] == "between") & (frame["quantity"] == "correlation")]
        keyed = _keyed(rows, "dimension_correlation", rows["group"], None)
        yield keyed.assign(other=as_text(rows["other_dimension"]).to_numpy(dtype=object))
    elif result.kind == "rater_model":
        yield from _latent_estimates(result, types)


def _latent_estimates(result: Result, types: str) -> Iterator[pd.DataFrame]:
    """Latent correlations of a rater model; within strata they are lasting where repeats separate noise."""
    ends = result.settings.get("at_the_end") or ()
    frame = result.frame[~result.frame["group"].isin(ends)]
    frame = frame.assign(dimension=str(result.settings.get("dimension") or ""))
    lasting = (frame["quantity"] == LASTING) & (frame["group"] != HUMAN)
    has_lasting = frame["group"].isin(frame.loc[frame["quantity"] == LASTING, "group"])
    chosen = {LASTING: lasting, SINGLE: frame["quantity"] == SINGLE}
    if set(result.settings.get("covariates") or ()) == {types, MODALITY}:
        within = frame["quantity"] == f"{LASTING}_within"
        chosen |= {f"{LASTING}_within": within & has_lasting & (frame["group"] != HUMAN)}
        chosen |= {f"{SINGLE}_within": within & ~has_lasting}
    for quantity, rows in chosen.items():
        yield _keyed(frame[rows], quantity, frame.loc[rows, "group"], None)


def _keyed(frame: pd.DataFrame, quantity: str, judge: pd.Series[str], types: str | None) -> pd.DataFrame:
    """Name a quantity by the keys of the truth; all items together have the empty type."""
    kind = "" if types is None else as_text(frame[types]).replace(OVERALL, "").to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "quantity": quantity,
            "judge": as_text(judge).to_numpy(dtype=object),
            "dimension": as_text(frame["dimension"]).to_numpy(dtype=object),
            "other": "",
            "response_type": kind,
            **{name: frame[name].to_numpy(dtype=float) for name in ("estimate", "lower", "upper")},
        }
    )
