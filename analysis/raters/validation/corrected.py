"""Base rates and means among people over all judged items, where people labelled some of them only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...correction.misclassification import rates
from ...numerics.intervals.bounded import BoundedEstimate, n_clusters, share
from ...numerics.types import Floats
from .coding import CodedRows
from .error_rates import tested_classes
from .rating_agreement import corrected_mean, people_mean
from .validation_rows import CORRECTED, TestRows
from .weighted.answer_strata import FEW_LABELS, Strata
from .weighted.weighted_estimates import drawn_rate
from .weighted.weighted_mean import stratified_mean

Row: TypeAlias = "pd.Series[Any]"
POOLED = "other answers"  # of the judge, of which few rows have a label


def add_corrected(rows: TestRows, coded: CodedRows, strata: Strata, seed: int, notes: list[str]) -> None:
    """Add rates of classes, or the mean, among people over all judged rows, where some have no label."""
    judged = np.asarray(np.isfinite(coded.judged[0]))
    rated = np.asarray(np.isfinite(coded.rated).any(axis=0))
    if not (judged & ~rated).any() or (judged & rated).sum() < 2:
        return
    try:
        if coded.scale != "nominal":
            _add_mean(rows, coded, strata, seed, notes)
        else:
            _add_rates(rows, coded.rows(judged), strata, seed, notes)
    except InputError as error:
        notes.append(f"No corrected rates: {error}")


def _add_mean(rows: TestRows, coded: CodedRows, strata: Strata, seed: int, notes: list[str]) -> None:
    mean = corrected_mean(coded, rows.alpha, seed)
    if strata.selected and coded.represented is None:
        mean.pop("corrected")
        if strata.sparse:
            notes.append(strata.lacking("Means"))
        else:
            mean["corrected"] = stratified_mean(coded, people_mean(coded), strata, rows.alpha)
    for name, estimate in mean.items():
        rows.add(CORRECTED, f"{name}_mean", estimate, p=np.nan)


def _add_rates(rows: TestRows, coded: CodedRows, strata: Strata, seed: int, notes: list[str]) -> None:
    """Rates of the labels that people give: all of a row count equally, and rows of an item are a cluster."""
    answer = np.asarray(coded.judges[0])
    table = _table(coded, _pooled(answer, coded, strata))
    clustered = n_clusters(coded.cluster) < coded.n
    people = [name for name in map(str, table) if name.startswith("label")]
    result = rates(table, gold=people, cluster="cluster" if clustered else None, alpha=rows.alpha)
    by_method = dict(iter(result.frame.groupby("method")))
    labelled = table[people].notna().any(axis=1).to_numpy()
    n = {"all": (coded.n, n_clusters(coded.cluster))}
    n["people"] = int(labelled.sum()), n_clusters(coded.cluster[labelled])
    label_counts = table["judged"][labelled].value_counts().reindex(table["judged"].unique(), fill_value=0)
    sparse = coded.represented is None and bool(
        (
            label_counts < np.minimum(FEW_LABELS, table["judged"].value_counts().reindex(label_counts.index))
        ).any()
    )
    sparse |= strata.selected and bool(strata.sparse)
    if sparse:
        notes.append(strata.lacking("Rates"))
    present = {str(name) for name in result.frame["class"]}
    for place in tested_classes(coded):
        name = coded.classes[place]
        judge_share = share((answer == place).astype(float), coded.cluster, rows.alpha)
        rows.add(CORRECTED, "judge_only_rate", judge_share, label=name)
        if name not in present:
            continue
        human, rogan_gladen, mle = (
            by_method[method][by_method[method]["class"] == name].iloc[0]
            for method in ("human", "rogan_gladen", "mle")
        )
        rows.add(CORRECTED, "people_only_rate", _bounded(human, n["people"]), label=name)
        if not sparse:
            is_drawn = coded.represented is not None
            rate = drawn_rate(coded, place, rows.alpha, seed) if is_drawn else _bounded(mle, n["all"])
            rows.add(CORRECTED, "corrected_rate", rate, label=name)
        if not sparse and not strata.selected:
            rate = _all_rows(human, rogan_gladen, float(labelled.mean()), n["all"])
            if rate.lower > 0 or rate.upper < 1:  # of a judge who hardly distinguishes they say nothing
                rows.add(CORRECTED, "rogan_gladen_rate", rate, label=name)
    notes += [note for note in result.notes if note not in notes and not strata.selected]


def _table(coded: CodedRows, judged: np.ndarray) -> pd.DataFrame:
    """A row per judged row, with the labels of every person."""
    classes = np.array([*coded.classes, None], dtype=object)
    labels = {f"label {at}": classes[codes] for at, codes in enumerate(coded.people)}
    return pd.DataFrame({**labels, "judged": judged, "cluster": coded.cluster})


def _pooled(answer: np.ndarray, coded: CodedRows, strata: Strata) -> np.ndarray:
    """Answers in words; of three or more those with few labels as one, where labels are a random sample."""
    words: np.ndarray = np.array(coded.classes, dtype=object)[answer]
    if strata.selected or len(strata.names) < 3:
        return words
    quoted = np.array([f"'{name}'" for name in words], dtype=object)
    return np.asarray(np.where(np.isin(quoted, strata.sparse), POOLED, words))


def _bounded(row: Row, n: tuple[int, int]) -> BoundedEstimate:
    estimate, error, lower, upper = (float(row[name]) for name in ("estimate", "std_error", "lower", "upper"))
    return BoundedEstimate(estimate, error, lower, upper, *n)


def _all_rows(human: Row, rogan_gladen: Row, labelled: float, n: tuple[int, int]) -> BoundedEstimate:
    """The Rogan-Gladen rate of all rows: people's among labelled rows, the corrected one of the others."""
    # This is the rate that solves the equation for all rows. Given the labels of people, the two are
    # uncorrelated; their limits are combined after Zou, Huang & Zhang (2009, doi:10.1016/j.csda.2008.09.033).
    parts = (human, labelled), (rogan_gladen, 1 - labelled)

    def combined(name: str) -> Floats:
        return np.array([share * (float(row[name]) - float(row["estimate"])) for row, share in parts])

    estimate = sum(share * float(row["estimate"]) for row, share in parts)
    errors = np.array([share * float(row["std_error"]) for row, share in parts])
    down, up = (float(np.sqrt((combined(name) ** 2).sum())) for name in ("lower", "upper"))
    error = float(np.sqrt((errors**2).sum()))
    return BoundedEstimate(estimate, error, max(estimate - down, 0.0), min(estimate + up, 1.0), *n)
