"""Base rates and means among people over all judged items, where people labelled some of them only."""

from __future__ import annotations

import numpy as np
import pandas as pd

from conjury.inference.errors import InputError

from ...correction.misclassification import rates
from ...numerics.intervals.bounded import Bounded, n_clusters
from ...numerics.types import Codes
from .coding import Coded, every_label
from .errors import tested_classes
from .ratings import corrected_mean
from .rows import CORRECTED, Rows

METHODS = {
    "naive": "judge_only",
    "human": "people_only",
    "rogan_gladen": "rogan_gladen",
    "efficient": "prediction_powered",
}


def add_corrected(rows: Rows, coded: Coded, seed: int, notes: list[str]) -> None:
    """Add corrected rates of classes, or the corrected mean, where some rows have no label by people."""
    judged = np.asarray(np.isfinite(coded.judged[0]))
    rated = np.asarray(np.isfinite(coded.rated).any(axis=0))
    if not (judged & ~rated).any() or (judged & rated).sum() < 2:
        return
    try:
        if coded.scale != "nominal":
            for name, found in corrected_mean(coded, rows.alpha, seed).items():
                rows.add(CORRECTED, f"{name}_mean", found, p=np.nan)
        else:
            _add_rates(rows, coded.rows(judged), np.flatnonzero(~rated[judged]), notes)
    except InputError as error:
        notes.append(f"No corrected rates: {error}")


def _add_rates(rows: Rows, coded: Coded, without: Codes, notes: list[str]) -> None:
    """Rates of the labels that people give: every label counts, those of one row are a cluster."""
    gold = every_label(coded)
    row = np.concatenate([gold.row, without])
    label = np.concatenate([gold.label, np.full(len(without), -1)])
    classes = np.array([*coded.classes, None], dtype=object)
    table = pd.DataFrame(
        {"label": classes[label], "judged": classes[coded.judges[0][row]], "cluster": coded.cluster[row]}
    )
    clustered = n_clusters(table["cluster"].to_numpy()) < len(table)
    found = rates(table, cluster="cluster" if clustered else None, alpha=rows.alpha)
    frame = found.frame.set_index(["method", "class"])
    present = {str(name) for name in found.frame["class"]}
    for place in tested_classes(coded):
        name = coded.classes[place]
        for method, measure in METHODS.items() if name in present else ():
            estimate, error, lower, upper = (
                float(frame[column][(method, name)]) for column in ("estimate", "std_error", "lower", "upper")
            )
            if lower > 0 or upper < 1:  # Rogan-Gladen rates of a judge who hardly distinguishes say nothing
                used = {"human": gold.row, "naive": without}.get(method, row)
                of = len(used), n_clusters(coded.cluster[used])
                rows.add(
                    CORRECTED, f"{measure}_rate", Bounded(estimate, error, lower, upper, *of), label=name
                )
    notes += [note for note in found.notes if note not in notes]
